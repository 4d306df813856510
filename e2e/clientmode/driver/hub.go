package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// hub is a running mcphub.
type hub struct {
	command *exec.Cmd
	url     string
	dir     string
	logged  chan struct{} // closed when all of its log has been copied
}

// grace is how long the hub may take to end.
const grace = 10 * time.Second

// startHub runs the hub in front of one server, whose names it publishes as they are. What it logs goes to the
// driver's standard error, which the suite keeps. It is told to end when ctx ends.
func startHub(ctx context.Context, program, server string) (*hub, error) {
	dir, err := os.MkdirTemp("", "clientmode-")
	if err != nil {
		return nil, fmt.Errorf("making the hub's folder: %w", err)
	}
	config := filepath.Join(dir, "config.json")
	// The first list has to be the server's: there is no second one in a scenario.
	text := fmt.Sprintf(`{"mcpServers":{"scenario":{"type":"http","url":%q,"bareNames":true,"startupTimeoutMs":%d}}}`, server, limit.Milliseconds())
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("writing the hub's configuration: %w", err)
	}
	h := &hub{dir: dir, logged: make(chan struct{})}
	h.command = exec.CommandContext(ctx, program, "serve", "--config", config, "--data-dir", filepath.Join(dir, "data"),
		"--listen", "127.0.0.1:0", "--log-format", "json")
	h.command.Env = append(h.command.Environ(), "GORACE=atexit_sleep_ms=0") // a hub with the race detector in it else waits a second
	h.command.Cancel = func() error { return h.command.Process.Signal(syscall.SIGTERM) }
	h.command.WaitDelay = grace
	log, err := h.command.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("taking the hub's log: %w", err)
	}
	if err := h.command.Start(); err != nil {
		return nil, fmt.Errorf("starting the hub: %w", err)
	}
	lines := bufio.NewReader(io.TeeReader(log, os.Stderr))
	h.url, err = listening(lines)
	go func() {
		defer close(h.logged)
		io.Copy(io.Discard, lines) //nolint:errcheck // it ends with the hub
	}()
	if err != nil {
		return nil, errors.Join(err, h.stop())
	}
	return h, nil
}

// listening reads the log up to the line that says where the hub listens.
func listening(lines *bufio.Reader) (string, error) {
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return "", fmt.Errorf("waiting for the hub to listen: %w", err)
		}
		var event struct{ Message, Addr string }
		if json.Unmarshal(line, &event) == nil && event.Message == "listening" {
			return "http://" + event.Addr, nil
		}
	}
}

// stop ends the hub as an operator would. An exit code other than 0 is an error.
func (h *hub) stop() error {
	defer os.RemoveAll(h.dir) //nolint:errcheck // it is in the system's folder for such
	if err := h.command.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("ending the hub: %w", err)
	}
	kill := time.AfterFunc(grace, func() { h.command.Process.Kill() }) //nolint:errcheck // it may have ended
	defer kill.Stop()
	<-h.logged
	if err := h.command.Wait(); err != nil {
		return fmt.Errorf("ending the hub: %w", err)
	}
	return nil
}
