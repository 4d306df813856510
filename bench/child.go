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
	"strings"
	"syscall"
	"time"
)

// child is a process that this one started and ends.
type child struct {
	cmd  *exec.Cmd
	addr string // where it listens
	in   io.Closer
}

// endLimit is how long a child has to end after SIGTERM.
const endLimit = 10 * time.Second

func (c *child) pid() int { return c.cmd.Process.Pid }

// end stops the process and waits for it. What it exits with is of no interest.
func (c *child) end() {
	c.in.Close()                                                      //nolint:errcheck // it may be gone
	c.cmd.Process.Signal(syscall.SIGTERM)                             //nolint:errcheck // as above
	kill := time.AfterFunc(endLimit, func() { c.cmd.Process.Kill() }) //nolint:errcheck // as above
	c.cmd.Wait()                                                      //nolint:errcheck // as above
	kill.Stop()
}

// start starts a process and waits until one line of its output or error output,
// read by find, says where it listens.
func start(ctx context.Context, cmd *exec.Cmd, find func(line string) string) (*child, error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, said, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = said, said
	err = cmd.Start()
	said.Close() //nolint:errcheck // the child has its own
	if err != nil {
		out.Close() //nolint:errcheck // nothing was read
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	c := &child{cmd: cmd, in: in}
	found := make(chan error, 1)
	go func() {
		defer out.Close() //nolint:errcheck // only read
		found <- c.hear(out, find)
		drain(out)
	}()
	select {
	case err = <-found:
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(callLimit):
		err = errors.New("it says nothing about where it listens")
	}
	if err != nil {
		c.end()
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return c, nil
}

func (c *child) hear(out io.Reader, find func(string) string) error {
	lines := bufio.NewScanner(out)
	heard := ""
	for lines.Scan() {
		if c.addr = find(lines.Text()); c.addr != "" {
			return nil
		}
		heard += lines.Text() + "\n"
	}
	return fmt.Errorf("it ended and said:\n%s", heard)
}

// startSelf starts a part of this program that serves HTTP.
func startSelf(ctx context.Context, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return start(ctx, exec.Command(self, args...), func(line string) string {
		addr, found := strings.CutPrefix(line, "listening ")
		if !found {
			return ""
		}
		return addr
	})
}

// server is an entry of the hub's configuration.
type server struct {
	URL      string   `json:"url,omitempty"`
	Command  string   `json:"command,omitempty"`
	Args     []string `json:"args,omitempty"`
	Exposure string   `json:"exposure,omitempty"`
}

// startHub starts the built hub on these servers. Its configuration and state are
// kept in dir.
func startHub(ctx context.Context, hub, dir string, servers map[string]server) (*child, error) {
	file := filepath.Join(dir, "config.json")
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(file, config, 0o600); err != nil {
		return nil, err
	}
	cmd := exec.Command(hub, "serve", "--config", file, "--listen", "127.0.0.1:0", "--data-dir", filepath.Join(dir, "data"), "--log-format", "json")
	return start(ctx, cmd, func(line string) string {
		var event struct{ Message, Addr string }
		if json.Unmarshal([]byte(line), &event) != nil || event.Message != "listening" {
			return ""
		}
		return event.Addr
	})
}

// selfServer is an entry that runs this program's upstream over stdio.
func selfServer(tools int) (server, error) {
	self, err := os.Executable()
	return server{Command: self, Args: []string{"upstream", "-tools", fmt.Sprint(tools)}, Exposure: "direct"}, err
}
