package upstream_test

import (
	"strings"
	"testing"
	"time"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
)

var rudePrograms = []rude{
	{name: "mute", change: impatient, kind: upstream.Unavailable, text: "did not finish the MCP handshake within 700ms: raise connectTimeoutMs"},
	{name: "mute:tools/call", change: soon, kind: upstream.Timeout, text: "no answer in time", then: once},
	{name: "mute-initialize", change: impatient, kind: upstream.Unavailable, text: "did not finish the MCP handshake"},
	{name: "exits-at-start", kind: upstream.Unavailable, text: "the program ended with exit status 3; it last wrote: reading the configuration | no API key is set | giving up"},
	{name: "exits-on-discover", kind: works},
	{name: "mute-discover", kind: works},
	{name: "dead-after-discover", change: func(cfg *config.Server) { cfg.ConnectTimeout = 12 * time.Second }, kind: works},
	{name: "exits-mid-call", kind: upstream.Lost, text: "the program ended with exit status 1", then: once},
	{name: "exits-grandchild-holds-stdout", kind: upstream.Lost, text: "the program ended with exit status 1", then: once},
	{name: "closes-stdout", kind: upstream.Lost, text: "the program closed its output", then: once},
	{name: "floods-stderr", kind: works, then: func(t *testing.T, m met) {
		has(t, strings.Join(m.server.Logs(10), "\n"), "validation failed")
	}},
	{name: "floods-stdout", kind: works},
	{name: "noise", kind: works, then: func(t *testing.T, m met) {
		has(t, strings.Join(m.server.Logs(100), "\n"), "stdout: Server v1 ready", `stdout: {"level":"info","msg":"a request"}`)
	}},
	{name: "line-2mb", kind: works, then: listsOne},
	{name: "line-17mb", kind: works, then: listsOne},
	{name: "line-2mb", max: 1 << 20, kind: works, then: func(t *testing.T, m met) {
		settled(t, m.server)
		has(t, m.server.Status().Reason, "its tools cannot be listed", "over limits.maxMessageBytes")
		mustCall(t, m.server, "echo", "")
	}},
	{name: "well", max: 1 << 20, tool: "big", args: `{"bytes":1100000}`, kind: upstream.TooLarge, text: "over limits.maxMessageBytes (1048576): raise it", then: func(t *testing.T, m met) {
		mustCall(t, m.server, "echo", "")
		once := len(m.log.Of(testmcp.EventStart))
		if once != 1 {
			t.Errorf("%d processes were started, want one", once)
		}
	}},
	{name: "stops-reading", change: soon, kind: upstream.Timeout, text: "no answer in time", then: laterCallsReturn},
	{name: "ignores-sigterm", kind: works},
	{name: "ignores-eof", kind: works},
	{name: "grandchildren", kind: works, then: func(t *testing.T, m met) {
		if n := len(m.log.Of(testmcp.EventGrandchild)); n != 2 {
			t.Errorf("%d grandchildren, want two", n)
		}
	}},
	{name: "string-ids", kind: works},
	{name: "duplicate-answers", kind: works},
	{name: "unknown-answer-ids", kind: works},
	{name: "wrong-ids", change: soon, kind: upstream.Timeout, text: "no answer in time"},
	{name: "batch-answers", kind: works},
	{name: "foreign-requests", kind: works, then: func(t *testing.T, m met) {
		m.log.WaitMessages(t, "response", 1)
		has(t, m.log.Messages("response")[0].Body, `"id":"foreign-1"`, "-32601", "vendor/ask is not supported")
	}},
	{name: "invalid-json", change: soon, kind: upstream.Timeout, text: "no answer in time", then: func(t *testing.T, m met) {
		has(t, strings.Join(m.server.Logs(10), "\n"), `stdout: {"jsonrpc"`)
	}},
	{name: "bad-utf8", kind: works, text: "\xff\xfe"},
	{name: "null-result", kind: works, text: "null"},
	{name: "no-result", change: soon, kind: upstream.Timeout, text: "no answer in time"},
	{name: "error-data", kind: answered, text: testmcp.ErrorData},
	{name: "errors", kind: answered, text: "-32603"},
	{name: "crlf", kind: works},
	{name: "trailing-space", kind: works},
	{name: "repeats-cursor", kind: works, then: repeatedCursor},
	{name: "endless-pages", kind: works, then: endlessPages},
	{name: "list-changed-storm", kind: works, then: storm},
}

func listsOne(t *testing.T, m met) {
	settled(t, m.server)
	if n := tools(m.server); n != 1 {
		t.Errorf("%d tools, want the one of the long line; %+v", n, m.server.Status())
	}
}

// laterCallsReturn sends more than fits into the pipe of a program that does not read it.
func laterCallsReturn(t *testing.T, m met) {
	long := `{"text":"` + strings.Repeat("x", 50_000) + `"}`
	for range 4 {
		began := time.Now()
		_, err := callTool(m.server, "echo", long)
		if e := asError(t, err); e.Kind != upstream.Timeout {
			t.Errorf("got %v, want a timeout", e)
		}
		if took := time.Since(began); took > patience {
			t.Errorf("a call with 300 ms took %v", took)
		}
	}
}

func repeatedCursor(t *testing.T, m met) {
	settled(t, m.server)
	if n := m.log.Count("tools/list"); n != 2 {
		t.Errorf("the list was asked for %d times, want twice", n)
	}
	if n := tools(m.server); n != 2 {
		t.Errorf("%d tools, want what the two pages have", n)
	}
	has(t, strings.Join(m.server.Offer().Notes, "\n"), `repeats the cursor "8"`)
}

func endlessPages(t *testing.T, m met) {
	settled(t, m.server)
	if n := m.log.Count("tools/list"); n != 300 {
		t.Errorf("the list was asked for %d times, want 300", n)
	}
	if n := tools(m.server); n != 300 {
		t.Errorf("%d tools, want 300", n)
	}
	has(t, strings.Join(m.server.Offer().Notes, "\n"), "has no end")
}

// storm sees that a list which is said to change all the time is read now and then.
func storm(t *testing.T, m met) {
	settled(t, m.server)
	began := time.Now()
	eventually(t, "the list to be read anew", func() bool { return m.log.Count("tools/list") >= 3 })
	if took := time.Since(began); took < 700*time.Millisecond {
		t.Errorf("the list was read twice within %v of a storm", took)
	}
}
