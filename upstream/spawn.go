package upstream

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
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
	command []string

	mu     sync.Mutex // guards what follows
	groups map[int]struct{}
	pipe   io.WriteCloser // nil where it does not run
	ended  chan struct{}  // closed when the process at the other end of pipe is gone
}

// NewReaper makes a reaper that is started with the first child. command is the program that runs
// [Reap] on its standard input; an empty one means no reaper.
func NewReaper(command ...string) *Reaper {
	return &Reaper{command: command, groups: map[int]struct{}{}}
}

// watch tells the reaper of a new group, starting the reaper where it does not run.
func (r *Reaper) watch(pgid int) error {
	if r == nil || len(r.command) == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.groups[pgid] = struct{}{}
	if r.pipe != nil {
		if r.tell('+', pgid) == nil {
			return nil
		}
		_ = r.pipe.Close() // somebody has ended it
		r.pipe = nil
	}
	return r.launch()
}

// launch starts the reaper and tells it of all groups.
func (r *Reaper) launch() error {
	cmd := exec.Command(r.command[0], r.command[1:]...)
	ownGroup(cmd, false)
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := start(cmd); err != nil {
		return err
	}
	ended := make(chan struct{})
	r.pipe, r.ended = pipe, ended
	go func() {
		defer close(ended)
		_ = cmd.Wait() // ends when the pipe closes
	}()
	for pgid := range r.groups {
		if err := r.tell('+', pgid); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reaper) tell(what byte, pgid int) error {
	_, err := r.pipe.Write(append(strconv.AppendInt([]byte{what}, int64(pgid), 10), '\n'))
	return err
}

// forget tells the reaper that a group is gone.
func (r *Reaper) forget(pgid int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.groups, pgid)
	if r.pipe != nil {
		_ = r.tell('-', pgid)
	}
}

// Close has the reaper end what is left, and returns when it is gone itself.
func (r *Reaper) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pipe == nil {
		return nil
	}
	err := r.pipe.Close()
	r.pipe = nil
	<-r.ended
	return err
}

// lookPath finds command as a shell would that stands in dir and has this PATH, "" being the hub's own.
func lookPath(command, dir, path string) (string, error) {
	if strings.Contains(command, "/") {
		return runnable(command, dir)
	}
	if path == "" {
		path = os.Getenv("PATH")
	}
	for _, place := range filepath.SplitList(path) {
		if place == "" {
			continue // to a shell the directory it stands in, which would run what lies around there
		}
		if found, err := runnable(filepath.Join(place, command), dir); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

// runnable returns file, which may be relative to dir, where it can be run.
func runnable(file, dir string) (string, error) {
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	return exec.LookPath(absolute)
}
