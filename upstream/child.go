package upstream

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"mcphub/config"
)

// endGrace is how long a child gets at each step of its end: after stdin is closed, after SIGTERM.
const endGrace = 2 * time.Second

// baseEnv names the variables of the hub that every child gets.
var baseEnv = []string{
	"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "TERM",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"MCPHUB_WITHIN", // by which hubs are kept from starting themselves
}

// environment is what the child of cfg gets: the base set or everything, then the entry's own env.
func environment(cfg *config.Server) []string {
	var env []string
	if cfg.InheritEnv {
		env = os.Environ()
	} else {
		for _, name := range baseEnv {
			if v, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+v)
			}
		}
	}
	for name, v := range cfg.Env {
		env = append(env, name+"="+v)
	}
	slices.Sort(env[len(env)-len(cfg.Env):])
	return env
}

// child is a running stdio server: its pipes and its end.
type child struct {
	cmd     *exec.Cmd
	stdin   *os.File
	stdout  *os.File
	stderr  *os.File
	log     *ring
	from    uint64        // the place in log where its lines begin
	place   *place        // given back when it is gone
	drained chan struct{} // closed when stderr has ended
	gone    chan struct{} // closed when the process has ended, its group with it, and stderr is read
	err     error         // why it ended; read after gone

	mu    sync.Mutex // guards ended
	ended bool       // the process's id may be another's soon
}

// startChild starts the program of cfg in a process group of its own. Its stderr is drained into log always.
func startChild(cfg *config.Server, log *ring, reaper *Reaper, at *place) (*child, error) {
	cmd, err := childCommand(cfg)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, log: log, from: log.here(), place: at, drained: make(chan struct{}), gone: make(chan struct{})}
	var ours, theirs [3]*os.File
	defer closeAll(theirs[:])
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:])
			return nil, fault(Unavailable, err, "making pipes")
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	c.stdin, c.stdout, c.stderr = ours[0], ours[1], ours[2]
	if err := start(cmd); err != nil {
		closeAll(ours[:])
		return nil, fault(Unavailable, err, "starting %s", cfg.Command)
	}
	at.runs(cmd.Process.Pid)
	if err := reaper.watch(cmd.Process.Pid); err != nil {
		log.add([]byte("mcphub: the reaper does not run: " + err.Error()))
	}
	go c.drain()
	go c.wait(reaper)
	return c, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}

func childCommand(cfg *config.Server) (*exec.Cmd, error) {
	if cfg.Cwd != "" {
		if info, err := os.Stat(cfg.Cwd); err != nil || !info.IsDir() {
			return nil, notThere("cwd %s is not a directory: create it or change cwd", cfg.Cwd)
		}
	}
	env := environment(cfg)
	path, err := lookPath(cfg.Command, cfg.Cwd, cfg.Env["PATH"])
	if err != nil {
		return nil, notThere("command %q not found: install it, or give its full path in command", cfg.Command)
	}
	cmd := exec.Command(path, cfg.Args...)
	cmd.Args[0] = cfg.Command
	cmd.Dir, cmd.Env = cfg.Cwd, env
	ownGroup(cmd, true)
	return cmd, nil
}

// drain keeps the last lines of stderr and never stops reading it: a child blocks for good on a full pipe.
func (c *child) drain() {
	defer close(c.drained)
	defer c.stderr.Close()
	r := bufio.NewReaderSize(c.stderr, 4<<10)
	for {
		line, err := r.ReadSlice('\n')
		if len(line) > 0 {
			c.log.add(line)
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return
		}
	}
}

// pipeGrace is how long what a child has written last may take to be read. Only a process that has left
// the child's group can hold the pipes longer.
const pipeGrace = time.Second

// wait sees the process end, and what is left of its group and of its output.
func (c *child) wait(reaper *Reaper) {
	c.err = waitGroup(c.cmd, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
		signalGroup(c.cmd.Process.Pid, sigKill)
		reaper.forget(c.cmd.Process.Pid)
	})
	deadline := time.Now().Add(pipeGrace)
	_ = c.stdout.SetReadDeadline(deadline)
	_ = c.stderr.SetReadDeadline(deadline)
	_ = c.stdin.Close()
	<-c.drained
	c.place.free()
	close(c.gone)
}

// signal sends sig to the child's group while that is surely the child's.
func (c *child) signal(sig syscall.Signal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		signalGroup(c.cmd.Process.Pid, sig)
	}
}

// end closes stdin, then asks the group to end, then kills it; it returns when the child is gone.
func (c *child) end() {
	_ = c.stdin.Close()
	for _, sig := range []syscall.Signal{sigTerm, sigKill} {
		if c.goneWithin(endGrace) {
			return
		}
		c.signal(sig)
	}
	<-c.gone
}

func (c *child) goneWithin(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c.gone:
		return true
	case <-timer.C:
		return false
	}
}

// lastWords bounds what of a child's stderr goes into an error.
const lastWords = 600

// reason says how the child ended, with the last lines it wrote to stderr.
func (c *child) reason() *Error {
	how := "the program ended"
	var exit *exec.ExitError
	if errors.As(c.err, &exit) {
		how = "the program ended with " + exit.ProcessState.String()
	} else if c.err == nil {
		how = "the program ended with exit status 0"
	}
	if words := c.log.words(c.from, lastWords); words != "" {
		how += "; it last wrote: " + words
	}
	return &Error{Kind: Lost, Text: how, Err: c.err, exited: true}
}
