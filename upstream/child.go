package upstream

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"mcphub/config"
)

// endGrace is how long a child gets at each step of its end: after stdin is closed, after SIGTERM.
const endGrace = 2 * time.Second

// baseEnv names the variables of the hub that every child gets.
var baseEnv = []string{
	"PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "TERM",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
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
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	log    *ring
	gone   chan struct{} // closed when the process has ended and its group with it
	err    error         // why it ended; read after gone
}

// startChild starts the program of cfg in a process group of its own. Its stderr is drained into log always.
func startChild(cfg *config.Server, log *ring, reaper *Reaper) (*child, error) {
	cmd, err := childCommand(cfg)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd, log: log, gone: make(chan struct{})}
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
	c.stdin, c.stdout = ours[0], ours[1]
	if err := start(cmd); err != nil {
		closeAll(ours[:])
		return nil, fault(Unavailable, err, "starting %s", cfg.Command)
	}
	if err := reaper.watch(cmd.Process.Pid); err != nil {
		log.add([]byte("mcphub: the reaper does not run: " + err.Error()))
	}
	go c.drain(ours[2])
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
			return nil, fault(Unavailable, nil, "cwd %s is not a directory: create it or change cwd", cfg.Cwd)
		}
	}
	env := environment(cfg)
	path, err := lookPath(cfg.Command, cfg.Cwd, cfg.Env["PATH"])
	if err != nil {
		return nil, fault(Unavailable, nil, "command %q not found: install it, or give its full path in command", cfg.Command)
	}
	cmd := exec.Command(path, cfg.Args...)
	cmd.Args[0] = cfg.Command
	cmd.Dir, cmd.Env = cfg.Cwd, env
	ownGroup(cmd, true)
	return cmd, nil
}

// drain keeps the last lines of stderr and never stops reading it: a child blocks for good on a full pipe.
func (c *child) drain(stderr *os.File) {
	defer stderr.Close()
	r := bufio.NewReaderSize(stderr, 4<<10)
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

// wait sees the process end, ends what is left of its group and lets the reader of stdout finish:
// a grandchild that holds the pipe open must not hold the connection.
func (c *child) wait(reaper *Reaper) {
	c.err = waitGroup(c.cmd)
	reaper.forget(c.cmd.Process.Pid)
	_ = c.stdout.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_ = c.stdin.Close()
	close(c.gone)
}

// end closes stdin, then asks the group to end, then kills it; it returns when the child is gone.
func (c *child) end() {
	_ = c.stdin.Close()
	if c.goneWithin(endGrace) {
		return
	}
	signalGroup(c.cmd.Process.Pid, sigTerm)
	if c.goneWithin(endGrace) {
		return
	}
	signalGroup(c.cmd.Process.Pid, sigKill)
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

// reason says how the child ended, with the last lines it wrote to stderr.
func (c *child) reason() *Error {
	how := "the program ended"
	var exit *exec.ExitError
	if errors.As(c.err, &exit) {
		how = "the program ended with " + exit.ProcessState.String()
	} else if c.err == nil {
		how = "the program ended with exit status 0"
	}
	if lines := c.log.last(3); len(lines) > 0 {
		how += fmt.Sprintf("; it last wrote: %s", strings.Join(lines, " | "))
	}
	return &Error{Kind: Lost, Text: how, Err: c.err}
}

// lineWriter writes messages to a child that may have stopped reading.
type lineWriter struct {
	f    *os.File
	slot chan struct{} // holds one token; who has it may write
	fail func(error)   // called once the stream is broken
}

// writeStall is how long a child may take to read the rest of a message that it has read in part.
const writeStall = 10 * time.Second

// write sends one line, its end included, and returns by the deadline of ctx. A message that got through in
// part is finished in the background, since half a line would spoil the next one.
func (w *lineWriter) write(ctx context.Context, line []byte, deadline time.Time) error {
	select {
	case w.slot <- struct{}{}:
	case <-ctx.Done():
		e := stopped(ctx)
		e.NotSent = true
		e.Text += ": the server does not read its input"
		return e
	}
	_ = w.f.SetWriteDeadline(deadline)
	n, err := w.f.Write(line)
	if err == nil {
		<-w.slot
		return nil
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		<-w.slot
		e := &Error{Kind: Lost, Text: "the server closed its input", NotSent: n == 0, Err: err}
		w.fail(e)
		return e
	}
	if n == 0 {
		<-w.slot
		return &Error{Kind: Timeout, Text: "no answer in time: the server does not read its input", NotSent: true, Err: err}
	}
	go w.finish(line[n:])
	return &Error{Kind: Timeout, Text: "no answer in time: the server does not read its input", Err: err}
}

// finish writes the rest of a line, and breaks the connection where that stalls.
func (w *lineWriter) finish(rest []byte) {
	defer func() { <-w.slot }()
	_ = w.f.SetWriteDeadline(time.Now().Add(writeStall))
	if _, err := w.f.Write(rest); err != nil {
		w.fail(fault(Lost, err, "the server stopped reading its input"))
	}
}
