package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Grace is how long the hub may take to end after SIGTERM.
const Grace = 10 * time.Second

// Hub is a running mcphub.
type Hub struct {
	*Daemon
	lab    *Lab   // with whose program it runs
	URL    string // http://127.0.0.1:PORT
	Config string // path of its configuration file
}

// Servers is the mcpServers member of a configuration.
type Servers map[string]map[string]any

var listening = regexp.MustCompile(`"addr":"([^"]+)".*"message":"listening"|"message":"listening".*"addr":"([^"]+)"`)

// StartHub runs the hub with these servers. When the test ends it is told to end, and has to do so cleanly: exit code 0
// within Grace, which a data race or a panic would spoil.
func (l *Lab) StartHub(t testing.TB, servers Servers) *Hub {
	t.Helper()
	dir := t.TempDir()
	return l.serve(t, WriteConfig(t, dir, servers), "127.0.0.1:0")
}

// Restart kills the hub without a warning and starts it again: same configuration, data directory and port.
func (l *Lab) Restart(t testing.TB, hub *Hub) *Hub {
	t.Helper()
	if err := hub.Process.Kill(); err != nil {
		t.Fatalf("killing the hub: %v", err)
	}
	hub.Exit(t, Grace)
	return l.serve(t, hub.Config, strings.TrimPrefix(hub.URL, "http://"))
}

func (l *Lab) serve(t testing.TB, config, listen string) *Hub {
	t.Helper()
	command := exec.Command(l.Program(l.hub), "serve", "--config", config, "--data-dir", dataDir(config), "--listen", listen, "--log-format", "json")
	daemon, addr := start(t, command, listening)
	hub := &Hub{Daemon: daemon, lab: l, URL: "http://" + addr[1] + addr[2], Config: config}
	t.Cleanup(func() { hub.Stop(t) })
	return hub
}

// dataDir is where the hub with this configuration keeps its state.
func dataDir(config string) string { return filepath.Join(filepath.Dir(config), "data") }

// Again starts a hub that has ended: same configuration and data directory.
func (h *Hub) Again(t testing.TB) *Hub {
	t.Helper()
	return h.lab.serve(t, h.Config, "127.0.0.1:0")
}

// Operate runs a verb of the command line against the hub, and returns what it printed. Its exit code does not matter: it says
// that a server is in trouble, too.
func (h *Hub) Operate(t testing.TB, verb ...string) string {
	t.Helper()
	command, cancel := h.lab.command(t, append([]string{h.lab.Program(h.lab.hub), "--data-dir", dataDir(h.Config)}, verb...))
	defer cancel()
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	if len(out) == 0 {
		t.Fatalf("mcphub %s printed nothing: %v\n%s", strings.Join(verb, " "), err, stderr.String())
	}
	return string(out)
}

// StdioHub is the command line of the hub on standard input and output.
func (l *Lab) StdioHub(t testing.TB, config string) []string {
	return []string{l.Program("mcphub"), "stdio", "--config", config, "--data-dir", t.TempDir()}
}

// Stop ends the hub as an operator would.
func (h *Hub) Stop(t testing.TB) {
	t.Helper()
	if h.Process.Signal(syscall.SIGTERM) != nil {
		return // it ended before, which is that test's own business
	}
	if code := h.Exit(t, Grace); code != 0 {
		t.Errorf("the hub ended with exit code %d after SIGTERM, want 0", code)
	}
}

// WriteConfig writes a configuration file into dir and returns its path.
func WriteConfig(t testing.TB, dir string, servers Servers) string {
	t.Helper()
	text, err := json.MarshalIndent(map[string]any{"mcpServers": servers}, "", "  ")
	if err != nil {
		t.Fatalf("encoding the configuration: %v", err)
	}
	path := filepath.Join(dir, "config.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatalf("writing the configuration: %v", err)
	}
	return path
}
