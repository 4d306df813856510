package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"mcphub/internal/testmcp"
)

// world is the hub and what it stands in front of.
type world struct {
	dir      string
	self     string // this program
	hub      *exec.Cmd
	url      string
	log      *os.File
	web      *exec.Cmd
	webAddr  string
	restarts int
}

// endLimit is how long the hub may take to end after SIGTERM, and its children after that.
const endLimit = 15 * time.Second

// startWorld starts all of it.
func startWorld(program string) (w *world, err error) {
	w = &world{webAddr: "127.0.0.1:0"}
	if w.self, err = os.Executable(); err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	if w.dir, err = os.MkdirTemp("", "soak-"); err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	if err := w.startWeb(); err != nil {
		return nil, err
	}
	if err := w.startHub(program); err != nil {
		w.end(w.web)
		return nil, err
	}
	return w, nil
}

func (w *world) startWeb() (err error) {
	w.web = exec.Command(w.self, upstreamVerb, web, w.webAddr)
	if _, err = w.web.StdinPipe(); err != nil { // its end, with this process, ends the server
		return fmt.Errorf("starting the HTTP server: %w", err)
	}
	w.web.Stderr = os.Stderr
	w.webAddr, err = begin(w.web, w.web.StdoutPipe, io.Discard, func(line string) string {
		addr, _ := strings.CutPrefix(line, "listening ")
		return addr
	})
	return err
}

func (w *world) startHub(program string) error {
	oldCommand, oldArgs, oldEnv := testmcp.Command("well")
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		calm: map[string]any{"command": w.self, "args": []string{upstreamVerb, calm}},
		web:  map[string]any{"url": "http://" + w.webAddr},
		old:  map[string]any{"command": oldCommand, "args": oldArgs, "env": oldEnv},
	}})
	if err != nil {
		return fmt.Errorf("writing the hub's configuration: %w", err)
	}
	path := filepath.Join(w.dir, "config.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return fmt.Errorf("writing the hub's configuration: %w", err)
	}
	if w.log, err = os.Create(filepath.Join(w.dir, "hub.log")); err != nil {
		return fmt.Errorf("making the hub's log: %w", err)
	}
	w.hub = exec.Command(program, "serve", "--config", path, "--data-dir", filepath.Join(w.dir, "data"),
		"--listen", "127.0.0.1:0", "--log-format", "json")
	addr, err := begin(w.hub, w.hub.StderrPipe, w.log, func(line string) string {
		var event struct{ Message, Addr string }
		if json.Unmarshal([]byte(line), &event) != nil || event.Message != "listening" {
			return ""
		}
		return event.Addr
	})
	w.url = "http://" + addr + "/mcp"
	return err
}

// begin starts a process, copies what it says and waits for the line in which find sees where it listens.
func begin(cmd *exec.Cmd, pipe func() (io.ReadCloser, error), to io.Writer, find func(line string) string) (string, error) {
	out, err := pipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	lines := bufio.NewReader(io.TeeReader(out, to))
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("starting %s: it ended before it listened: %w", cmd.Path, errors.Join(err, cmd.Wait()))
		}
		if addr := find(strings.TrimSpace(line)); addr != "" {
			go io.Copy(io.Discard, lines) //nolint:errcheck // it ends with the process
			return addr, nil
		}
	}
}

// end kills a process that this one started.
func (w *world) end(cmd *exec.Cmd) {
	cmd.Process.Kill() //nolint:errcheck // it may have ended
	cmd.Wait()         //nolint:errcheck // killed, as it should be
}

// disturb kills servers at random until ctx ends: the hub's children, which it starts again, and the HTTP server, which
// comes back on its port.
func (w *world) disturb(ctx context.Context) error {
	for {
		pause(ctx, 2*time.Second+rand.N(4*time.Second))
		if ctx.Err() != nil {
			return nil
		}
		w.restarts++
		if rand.N(3) == 0 {
			w.end(w.web)
			if err := w.startWeb(); err != nil {
				return err
			}
			continue
		}
		for pid, program := range childrenOf(w.hub.Process.Pid) { // in no order
			if program == w.self {
				syscall.Kill(pid, syscall.SIGKILL) //nolint:errcheck // it may have ended
				break
			}
		}
	}
}

// stop ends the hub as an operator would. It returns what went wrong about that.
func (w *world) stop(v *watch) {
	children := childrenOf(w.hub.Process.Pid)
	w.hub.Process.Signal(syscall.SIGTERM) //nolint:errcheck // Wait says whether it had ended
	kill := time.AfterFunc(endLimit, func() {
		v.violated("the hub still ran %v after SIGTERM", endLimit)
		w.hub.Process.Signal(syscall.SIGQUIT) //nolint:errcheck // it may have ended; else its goroutines are in the log
	})
	defer kill.Stop()
	if err := w.hub.Wait(); err != nil {
		v.violated("the hub ended with %v", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), endLimit)
	defer cancel()
	for pid, program := range children {
		for alive(pid) && ctx.Err() == nil {
			pause(ctx, 20*time.Millisecond)
		}
		if alive(pid) {
			v.violated("process %d (%s) is left of the hub", pid, program)
		}
	}
}

// close ends what is left and removes the folder; where something went wrong the hub's log stays.
func (w *world) close(keep bool) {
	w.end(w.web)
	w.end(w.hub)
	w.log.Close() //nolint:errcheck // all of it is written
	if keep {
		fmt.Println("the hub's log:", w.log.Name())
		return
	}
	os.RemoveAll(w.dir) //nolint:errcheck // it is in the system's folder for such
}
