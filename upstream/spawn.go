package upstream

import (
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
)

// spawner starts children from one thread that lives as long as the hub. The kernel sends a child its
// parent-death signal when the thread that forked it ends, and Go ends threads as it likes.
var spawner = sync.OnceValue(func() chan<- func() {
	work := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range work {
			f()
		}
	}()
	return work
})

// start runs cmd.Start on the spawner's thread.
func start(cmd *exec.Cmd) error {
	done := make(chan error, 1)
	spawner() <- func() { done <- cmd.Start() }
	return <-done
}

// Reaper ends the process groups of children that outlive the hub. It is a process of its own that
// holds a pipe to the hub: a parent-death signal reaches only direct children, while the pipe closes
// however the hub ends, and a group holds the grandchildren too.
type Reaper struct {
	mu      sync.Mutex // guards pipe
	pipe    io.WriteCloser
	command []string
}

// NewReaper makes a reaper that is started with the first child. command is the program that runs
// [Reap] on its standard input; an empty one means no reaper.
func NewReaper(command ...string) *Reaper { return &Reaper{command: command} }

// watch tells the reaper of a new group, starting the reaper where needed.
func (r *Reaper) watch(pgid int) error {
	if r == nil || len(r.command) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe == nil {
		cmd := exec.Command(r.command[0], r.command[1:]...)
		ownGroup(cmd, false)
		pipe, err := cmd.StdinPipe()
		if err != nil {
			return err
		}
		if err := start(cmd); err != nil {
			return err
		}
		r.pipe = pipe
		go func() { _ = cmd.Wait() }() // ends when the pipe closes
	}
	_, err := io.WriteString(r.pipe, "+"+strconv.Itoa(pgid)+"\n")
	return err
}

// forget tells the reaper that a group is gone.
func (r *Reaper) forget(pgid int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe != nil {
		_, _ = io.WriteString(r.pipe, "-"+strconv.Itoa(pgid)+"\n")
	}
}

// Close lets the reaper end.
func (r *Reaper) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe == nil {
		return nil
	}
	pipe := r.pipe
	r.pipe = nil
	return pipe.Close()
}

// lookPath finds command as a shell would, with the PATH that the child gets.
func lookPath(command, dir, path string) (string, error) {
	if old, ok := os.LookupEnv("PATH"); ok && old == path || path == "" {
		return exec.LookPath(command)
	}
	return lookIn(command, dir, path)
}
