package e2e

import (
	"bufio"
	"bytes"
	"io"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"
)

// Patience bounds every wait of these tests: far above what any of them takes on a busy machine.
const Patience = 30 * time.Second

// Daemon is a program that runs until the test ends.
type Daemon struct {
	*exec.Cmd
	exited chan struct{} // closed once the process is reaped
	log    log
}

// start runs the command and returns it with the first line of its output that matches ready.
func start(t testing.TB, command *exec.Cmd, ready *regexp.Regexp) (*Daemon, []string) {
	t.Helper()
	d := &Daemon{Cmd: command, exited: make(chan struct{})}
	output, err := command.StderrPipe()
	if err != nil {
		t.Fatalf("taking the output of %s: %v", command, err)
	}
	command.Stdout = command.Stderr
	if err := command.Start(); err != nil {
		t.Fatalf("starting %s: %v", command, err)
	}
	matched := make(chan []string, 1)
	go func() {
		d.log.read(output, ready, matched)
		command.Wait()
		close(d.exited)
	}()
	t.Cleanup(func() {
		d.Process.Kill()
		<-d.exited
		if t.Failed() {
			t.Logf("output of %s:\n%s", filepath.Base(command.Path), d.log.String())
		}
	})
	select {
	case match := <-matched:
		return d, match
	case <-d.exited:
		t.Fatalf("%s was not ready, it ended: %v", command, command.ProcessState)
	case <-time.After(Patience):
		t.Fatalf("%s was not ready within %v", command, Patience)
	}
	return nil, nil
}

// Exit waits for the process to end and returns its exit code: −1 when a signal ended it.
func (d *Daemon) Exit(t testing.TB, within time.Duration) int {
	t.Helper()
	select {
	case <-d.exited:
	case <-time.After(within):
		t.Fatalf("process %d still runs after %v", d.Process.Pid, within)
	}
	return d.ProcessState.ExitCode()
}

// log keeps what a process writes.
type log struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// read keeps all lines and sends the first one that matches.
func (l *log) read(from io.Reader, ready *regexp.Regexp, matched chan<- []string) {
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		l.mu.Lock()
		l.text.WriteString(line)
		l.mu.Unlock()
		if match := ready.FindStringSubmatch(line); match != nil {
			select {
			case matched <- match:
			default:
			}
		}
		if err != nil {
			return
		}
	}
}

// String is everything written so far.
func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Eventually asks until the answer is true, for what another process does on its own.
func Eventually(t testing.TB, what string, ask func() bool) {
	t.Helper()
	deadline := time.After(Patience)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !ask() {
		select {
		case <-again.C:
		case <-deadline:
			t.Fatalf("%s: not so within %v", what, Patience)
		}
	}
}
