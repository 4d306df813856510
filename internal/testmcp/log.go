package testmcp

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Kinds of events.
const (
	EventStart      = "start"      // a child process began
	EventMessage    = "message"    // a JSON-RPC message or another HTTP request came in
	EventOpen       = "open"       // a session began
	EventDelete     = "delete"     // a client ended its session
	EventStream     = "stream"     // a GET or listen stream opened
	EventStreamEnd  = "stream-end" // and closed
	EventDisconnect = "disconnect" // a client left before its answer
	EventStopped    = "stopped"    // a call was cancelled while it ran
	EventGrandchild = "grandchild" // a child process started one of its own; PID is the grandchild's
	EventAway       = "away"       // a request followed a redirect to the other origin
	EventEnd        = "end"        // a child process saw its stdin close
)

// waitLimit is how long Wait waits before it fails the test.
const waitLimit = 20 * time.Second

// Event is one thing a server noticed.
type Event struct {
	Kind string `json:"kind"`
	// PID is the process that noticed it.
	PID     int    `json:"pid"`
	Session string `json:"session,omitempty"`
	// Method is the JSON-RPC method; for HTTP requests without a body, and for
	// answers to the server's own requests, it is the HTTP method or "response".
	Method string `json:"method,omitempty"`
	// Header holds the HTTP request's headers, nil over stdio.
	Header http.Header `json:"header,omitempty"`
	// Body is what came in, byte for byte.
	Body string `json:"body,omitempty"`
}

// Log holds events in the order they happened. It is safe for concurrent use.
type Log struct {
	path string // of a file that child processes append to; "" keeps events in memory

	mu     sync.Mutex
	events []Event
}

// FileLog returns a log that child processes write to: give its variables, see
// [Log.Env], to each of them.
func FileLog(t testing.TB) *Log {
	t.Helper()
	return &Log{path: filepath.Join(t.TempDir(), "testmcp.log")}
}

// Env is the environment that makes a child process write to this log.
func (l *Log) Env() map[string]string { return map[string]string{envLog: l.path} }

func (l *Log) add(e Event) {
	if e.PID == 0 {
		e.PID = os.Getpid()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" {
		l.events = append(l.events, e)
		return
	}
	line, err := json.Marshal(e)
	if err != nil {
		panic("testmcp: encoding an event: " + err.Error())
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic("testmcp: opening the log: " + err.Error())
	}
	defer f.Close() //nolint:errcheck // the write below is what counts
	if _, err := f.Write(append(line, '\n')); err != nil {
		panic("testmcp: writing the log: " + err.Error())
	}
}

// Events returns everything noticed so far. A line that is still being written
// is left out.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.path == "" {
		return append([]Event(nil), l.events...)
	}
	f, err := os.Open(l.path)
	if err != nil {
		return nil // no child has started yet
	}
	defer f.Close() //nolint:errcheck // only read
	var events []Event
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 256<<20)
	for lines.Scan() {
		var e Event
		if json.Unmarshal(lines.Bytes(), &e) == nil {
			events = append(events, e)
		}
	}
	return events
}

// Of returns the events of one kind.
func (l *Log) Of(kind string) []Event {
	var found []Event
	for _, e := range l.Events() {
		if e.Kind == kind {
			found = append(found, e)
		}
	}
	return found
}

// Messages returns the messages with this method.
func (l *Log) Messages(method string) []Event {
	var found []Event
	for _, e := range l.Of(EventMessage) {
		if e.Method == method {
			found = append(found, e)
		}
	}
	return found
}

// Count is the number of messages with this method.
func (l *Log) Count(method string) int { return len(l.Messages(method)) }

// Methods lists the methods of all messages in order, separated by spaces.
func (l *Log) Methods() string {
	var methods []string
	for _, e := range l.Of(EventMessage) {
		methods = append(methods, e.Method)
	}
	return strings.Join(methods, " ")
}

// Wait returns once ok holds for what was noticed; it fails the test after 20 s.
func (l *Log) Wait(t testing.TB, what string, ok func([]Event) bool) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	limit := time.After(waitLimit)
	for !ok(l.Events()) {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("waiting for %s: not seen within %v; the server noticed: %s", what, waitLimit, l.Methods())
		}
	}
}

// WaitMessages returns once n messages with this method came in.
func (l *Log) WaitMessages(t testing.TB, method string, n int) {
	t.Helper()
	l.Wait(t, method, func(events []Event) bool {
		seen := 0
		for _, e := range events {
			if e.Kind == EventMessage && e.Method == method {
				seen++
			}
		}
		return seen >= n
	})
}

// WaitKind returns once n events of this kind happened.
func (l *Log) WaitKind(t testing.TB, kind string, n int) {
	t.Helper()
	l.Wait(t, kind, func(events []Event) bool {
		seen := 0
		for _, e := range events {
			if e.Kind == kind {
				seen++
			}
		}
		return seen >= n
	})
}
