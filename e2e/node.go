package e2e

import (
	"context"
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
	command := exec.Command(line[0], append([]string{"--import", l.Program("loopback.mjs")}, line[1:]...)...)
	command.Env = append(command.Environ(), "PORT=0")
	_, addr := start(t, command, nodeListening)
	return "http://" + addr[1]
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

// Script is the path of a script that Node runs.
func (l *Lab) Script(name string) string {
	if strings.ContainsRune(name, '/') {
		return filepath.Join(l.clients, name)
	}
	return l.Program(name)
}

// Run runs a client to its end and returns what it printed. Its home is an empty folder.
func (l *Lab) Run(t testing.TB, line ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*Patience)
	defer cancel()
	var stdout, stderr strings.Builder
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Stdout, command.Stderr = &stdout, &stderr
	command.Env = append(command.Environ(), "NODE_PATH="+l.clients, "HOME="+t.TempDir())
	command.WaitDelay = time.Second
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\nstandard output: %s\nstandard error: %s", command, err, stdout.String(), stderr.String())
	}
	return stdout.String()
}
