package e2e

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var nodeListening = regexp.MustCompile(`^listening on (\S+)`)

// Everything is the command line of the reference server that speaks every feature: mode stdio, streamableHttp or sse.
func (l *Lab) Everything(mode string) []string {
	return []string{l.node, filepath.Join(l.servers, "@modelcontextprotocol/server-everything/dist/index.js"), mode}
}

// Filesystem is the command line of the file server for one directory.
func (l *Lab) Filesystem(dir string) []string {
	return []string{l.node, filepath.Join(l.servers, "@modelcontextprotocol/server-filesystem/dist/index.js"), dir}
}

// Memory is the command line of the knowledge-graph server; MEMORY_FILE_PATH in its environment is where it keeps the graph.
func (l *Lab) Memory() []string {
	return []string{l.node, filepath.Join(l.servers, "@modelcontextprotocol/server-memory/dist/index.js")}
}

// StartEverything runs the reference server over HTTP on a port of its own and returns its base URL.
func (l *Lab) StartEverything(t testing.TB, mode string) string {
	t.Helper()
	line := l.Everything(mode)
	command := exec.Command(line[0], append([]string{"--import", filepath.Join(l.source, "npm", "loopback.mjs")}, line[1:]...)...)
	command.Env = append(command.Environ(), "PORT=0")
	_, addr := start(t, command, nodeListening)
	return "http://" + addr[1]
}

// StartConformance runs go-sdk's own conformance server, built as Program("conformance-server"), and returns its URL.
func (l *Lab) StartConformance(t testing.TB, flags ...string) string {
	t.Helper()
	// It cannot say which port it got, so it is given one that was free a moment ago.
	addr := freeAddr(t)
	start(t, exec.Command(l.Program("conformance-server"), append(flags, "-http", addr)...), regexp.MustCompile("listening at"))
	Eventually(t, "the conformance server accepts connections", func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
	return "http://" + addr + "/mcp"
}

func freeAddr(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("finding a free port: %v", err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// Stdio is the configuration entry of a server with this command line.
func Stdio(line []string) map[string]any {
	return map[string]any{"command": line[0], "args": line[1:]}
}

// HTTP is the configuration entry of a server at this URL.
func HTTP(url string) map[string]any {
	return map[string]any{"type": "http", "url": url}
}

// Node runs a script with the packages of the clients kit to its end and returns what it printed: one of the scripts in
// clients/ by its file name, or a program of a package by its path in node_modules.
func (l *Lab) Node(t testing.TB, script string, args ...string) string {
	t.Helper()
	return l.Run(t, append([]string{l.node, l.Script(script)}, args...)...)
}

// TryNode is Node for a program whose exit code does not matter; what it wrote to both outputs is returned.
func (l *Lab) TryNode(t testing.TB, script string, args ...string) string {
	t.Helper()
	command, cancel := l.command(t, append([]string{l.node, l.Script(script)}, args...))
	defer cancel()
	out, _ := command.CombinedOutput()
	return string(out)
}

// Script is the path of a script that Node runs.
func (l *Lab) Script(name string) string {
	if strings.ContainsRune(name, '/') {
		return filepath.Join(l.clients, name)
	}
	return filepath.Join(l.source, "clients", name)
}

// Run runs a client to its end and returns what it printed.
func (l *Lab) Run(t testing.TB, line ...string) string {
	t.Helper()
	var stderr strings.Builder
	command, cancel := l.command(t, line)
	defer cancel()
	command.Stderr = &stderr
	stdout, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v\nstandard output: %s\nstandard error: %s", command, err, stdout, stderr.String())
	}
	return string(stdout)
}

// command is a client ready to run, with an empty home, for at most twice Patience.
func (l *Lab) command(t testing.TB, line []string) (*exec.Cmd, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*Patience)
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Env = append(command.Environ(), "NODE_PATH="+l.clients, "HOME="+t.TempDir())
	command.WaitDelay = time.Second
	return command, cancel
}
