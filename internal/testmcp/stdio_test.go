package testmcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"mcphub/internal/testmcp"
)

// stdioProofs show, by a raw client, that a misbehaviour does what its Doc says.
var stdioProofs = map[string]func(t *testing.T){
	"well": func(t *testing.T) {
		c := start(t, "well")
		c.send(initialize)
		has(t, c.answer("1"), `"protocolVersion":"2025-11-25"`, testmcp.Instructions)
		c.send(`{"jsonrpc":"2.0","id":2,"method":"server/discover"}`)
		has(t, c.answer("2"), `-32601`)
		c.in.Close()
		if code := c.exited(); code != 0 {
			t.Errorf("exit code %d at the end of stdin, want 0", code)
		}
		if got := c.log.Methods(); got != "initialize server/discover" {
			t.Errorf("logged %q", got)
		}
	},
	"modern": func(t *testing.T) {
		c := start(t, "modern")
		c.send(modern(`{"jsonrpc":"2.0","id":2,"method":"server/discover"}`))
		has(t, c.answer("2"), `"supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]`, `"resultType":"complete"`, `"ttlMs":0`, `"cacheScope":"private"`)
		c.send(modern(call("echo", `{"a":1}`)))
		has(t, c.answer("7"), `"structuredContent":{"a":1}`, `"resultType":"complete"`)
		c.handshake()
	},
	"modern-only": func(t *testing.T) {
		c := start(t, "modern-only")
		c.send(initialize)
		has(t, c.answer("1"), `"error"`, "2026-07-28")
	},
	"speaks": func(t *testing.T) {
		c := start(t, "speaks:2025-03-26")
		c.send(initialize)
		has(t, c.answer("1"), `"protocolVersion":"2025-03-26"`)
	},
	"only-tools": func(t *testing.T) {
		c := start(t, "only-tools")
		c.send(initialize)
		if got := c.answer("1"); strings.Contains(got, "prompts") {
			t.Errorf("capabilities hold more than tools: %s", got)
		}
		c.send(`{"jsonrpc":"2.0","id":2,"method":"prompts/list"}`)
		has(t, c.answer("2"), "-32601")
	},
	"mute": func(t *testing.T) {
		c := start(t, "mute")
		c.send(initialize)
		c.quiet()
		c.log.WaitMessages(t, "initialize", 1)
	},
	"mute-initialize": func(t *testing.T) {
		c := start(t, "mute-initialize")
		c.send(initialize)
		c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		if got := c.next(); !strings.Contains(got, `"id":2`) {
			t.Errorf("the first line is %q, want the answer to ping", got)
		}
		c.quiet()
	},
	"slow-initialize": func(t *testing.T) {
		c := start(t, "slow-initialize:300")
		c.send(initialize)
		c.quiet()
		c.answer("1")
	},
	"refuses": func(t *testing.T) {
		c := start(t, "refuses:logging/setLevel")
		c.send(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"info"}}`)
		has(t, c.answer("2"), "-32601")
		c.handshake()
	},
	"errors":            callProof("errors", `"code":-32603`),
	"error-data":        callProof("error-data", `"code":-32042`, `"data":`+testmcp.ErrorData),
	"null-result":       callProof("null-result", `"result":null`),
	"no-result":         callProof("no-result", `{"jsonrpc":"2.0","id":7}`),
	"string-ids":        lineProof("string-ids", `"id":"7"`),
	"wrong-ids":         lineProof("wrong-ids", `"id":987654321`),
	"batch-answers":     lineProof("batch-answers", `[{"jsonrpc":"2.0","id":7`),
	"bad-utf8":          lineProof("bad-utf8", "\xff\xfe"),
	"crlf":              lineProof("crlf", "}\r\n"),
	"trailing-space":    lineProof("trailing-space", " \t{", "}  \n"),
	"duplicate-answers": linesProof("duplicate-answers", `"id":7`, `"id":7`),
	"unknown-answer-ids": linesProof("unknown-answer-ids",
		`"id":987654321`, `"id":7`),
	"foreign-requests": linesProof("foreign-requests", `"method":"vendor/ask"`, `"method":"notifications/vendor"`, `"id":7`),
	"invalid-json": func(t *testing.T) {
		c := start(t, "invalid-json")
		c.handshake()
		c.send(call("echo", `{}`))
		if got := c.next(); json.Valid([]byte(got)) {
			t.Errorf("the answer is valid JSON: %q", got)
		}
	},
	"line-2mb":       fatProof("line-2mb", 2<<20),
	"line-17mb":      fatProof("line-17mb", 17<<20),
	"line-70mb":      fatProof("line-70mb", 70<<20),
	"repeats-cursor": pagesProof("repeats-cursor", 3, 1, true),
	"endless-pages":  pagesProof("endless-pages", 20, 20, true),
	"pages":          pagesProof("pages", 5, 250, false),
	"list-changed-storm": func(t *testing.T) {
		c := start(t, "list-changed-storm")
		c.handshake()
		for range 510 {
			has(t, c.next(), "notifications/tools/list_changed")
		}
	},
	"script": func(t *testing.T) {
		raw := []byte(`{"content":[],"z":9007199254740993,"a":1.10}`)
		script := testmcp.Script{Tools: [][]byte{[]byte(`{"name":"odd", "inputSchema":null}`)}, Results: map[string][]byte{"odd": raw}}
		c := start(t, script.Name(t))
		c.handshake()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		has(t, c.answer("2"), `"result":{"tools":[{"name":"odd", "inputSchema":null}]}`)
		c.send(call("odd", `{}`))
		has(t, c.answer("7"), `"result":`+string(raw)+`}`)
	},
	"replies": func(t *testing.T) {
		c := start(t, testmcp.Replies{"resources/list": `{"resources":[ ]}`, "resources/read test://a": `{"contents":[]}`}.Name(t))
		c.handshake()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`)
		has(t, c.answer("2"), `"result":{"resources":[ ]}`)
		c.send(`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"test://a"}}`)
		has(t, c.answer("3"), `"result":{"contents":[]}`)
		c.send(`{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"test://hello.txt"}}`)
		has(t, c.answer("4"), `"text":"hello"`)
	},
}

// childProofs are those of what only a child process can do.
var childProofs = map[string]func(t *testing.T){
	"mute-discover": func(t *testing.T) {
		c := start(t, "mute-discover")
		c.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`)
		c.complained(10 << 10)
		c.quiet()
		c.handshake()
	},
	"dead-after-discover": func(t *testing.T) {
		c := start(t, "dead-after-discover")
		c.send(`{"jsonrpc":"2.0","id":5,"method":"server/discover"}`)
		c.quiet()
		c.send(initialize)
		c.quiet()
		start(t, "dead-after-discover").handshake()
	},
	"exits-on-discover": func(t *testing.T) {
		c := start(t, "exits-on-discover")
		c.handshake()
		c.send(`{"jsonrpc":"2.0","id":5,"method":"server/discover"}`)
		if code := c.exited(); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
	},
	"exits-at-start": func(t *testing.T) {
		c := start(t, "exits-at-start")
		if code := c.exited(); code != 3 {
			t.Errorf("exit code %d, want 3", code)
		}
		if got := strings.Count(c.complaint(), "\n"); got != 3 {
			t.Errorf("%d lines on stderr, want 3", got)
		}
	},
	"exits-mid-call": func(t *testing.T) {
		file := t.TempDir() + "/calls"
		c := start(t, "exits-mid-call")
		c.handshake()
		c.send(call("append", fmt.Sprintf(`{"file":%q}`, file)))
		if code := c.exited(); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		oneCall(t, file)
	},
	"floods-stderr": func(t *testing.T) {
		c := start(t, "floods-stderr")
		c.handshake()
		c.complained(256 << 10)
	},
	"floods-stdout": func(t *testing.T) {
		c := start(t, "floods-stdout")
		c.handshake()
		for range 100 {
			has(t, c.next(), "DEBUG")
		}
	},
	"noise": func(t *testing.T) {
		c := start(t, "noise")
		has(t, c.next(), "Server v1 ready")
		c.send(initialize)
		var before []string
		for line := c.next(); !strings.Contains(line, `"id":1`); line = c.next() {
			before = append(before, line)
		}
		has(t, strings.Join(before, ""), `{"level":"info"`, "\ufeff\n", "\n\n", "[1,2]\n")
	},
	"stops-reading": func(t *testing.T) {
		c := start(t, "stops-reading")
		c.handshake()
		c.send(call("echo", `{}`))
		c.log.WaitMessages(t, "tools/call", 1)
		c.send(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
		c.in.Close()
		c.alive()
		if n := c.log.Count("ping"); n != 0 {
			t.Errorf("%d lines were read after the call, want none", n)
		}
		c.cmd.Process.Signal(syscall.SIGTERM)
		c.exited()
	},
	"ignores-sigterm": func(t *testing.T) {
		c := start(t, "ignores-sigterm")
		c.handshake()
		c.in.Close()
		c.log.WaitKind(t, testmcp.EventEnd, 1)
		c.cmd.Process.Signal(syscall.SIGTERM)
		c.alive()
	},
	"ignores-eof": func(t *testing.T) {
		c := start(t, "ignores-eof")
		c.handshake()
		c.in.Close()
		c.log.WaitKind(t, testmcp.EventEnd, 1)
		c.alive()
		c.cmd.Process.Signal(syscall.SIGTERM)
		c.exited()
	},
	"grandchildren": func(t *testing.T) {
		c := start(t, "grandchildren")
		c.handshake()
		c.in.Close()
		c.exited()
		holdsStdout(t, c)
	},
	"exits-grandchild-holds-stdout": func(t *testing.T) {
		c := start(t, "exits-grandchild-holds-stdout")
		c.handshake()
		c.send(call("echo", `{}`))
		c.exited()
		holdsStdout(t, c)
	},
	"closes-stdout": func(t *testing.T) {
		c := start(t, "closes-stdout")
		c.handshake()
		c.send(call("echo", `{}`))
		if line, open := <-c.lines; open {
			t.Errorf("got %q, want the end of stdout", line)
		}
		c.alive()
	},
}

// holdsStdout checks that a dead child's stdout is open, by its grandchildren.
func holdsStdout(t *testing.T, c *child) {
	t.Helper()
	if n := len(c.log.Of(testmcp.EventGrandchild)); n != 2 {
		t.Fatalf("%d grandchildren are logged, want 2", n)
	}
	for _, e := range c.log.Of(testmcp.EventGrandchild) {
		if err := syscall.Kill(e.PID, 0); err != nil {
			t.Errorf("grandchild %d: %v, want it alive", e.PID, err)
		}
	}
	select {
	case line, open := <-c.lines:
		t.Errorf("stdout: %q, open %v; want it open and silent", line, open)
	default:
	}
}

// callProof shows what the answer to a call holds.
func callProof(name string, wants ...string) func(*testing.T) {
	return func(t *testing.T) {
		c := start(t, name)
		c.handshake()
		c.send(call("echo", `{}`))
		has(t, c.answer("7"), wants...)
	}
}

// lineProof shows what the line after a call holds.
func lineProof(name string, wants ...string) func(*testing.T) {
	return func(t *testing.T) {
		c := start(t, name)
		c.send(call("echo", `{}`))
		has(t, c.next(), wants...)
	}
}

// linesProof shows what each of the lines after a call holds.
func linesProof(name string, wants ...string) func(*testing.T) {
	return func(t *testing.T) {
		c := start(t, name)
		c.handshake()
		c.send(call("echo", `{}`))
		for _, want := range wants {
			has(t, c.next(), want)
		}
		c.quiet()
	}
}

func fatProof(name string, size int) func(*testing.T) {
	return func(t *testing.T) {
		c := start(t, name)
		c.handshake()
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
		if n := len(c.next()); n < size {
			t.Errorf("the line has %d bytes, want %d", n, size)
		}
	}
}

// pagesProof reads pages of tools/list and counts the different tools in them.
func pagesProof(name string, pages, tools int, more bool) func(*testing.T) {
	return func(t *testing.T) {
		c := start(t, name)
		c.handshake()
		seen := map[string]bool{}
		cursor := ""
		for range pages {
			params := "{}"
			if cursor != "" {
				params = fmt.Sprintf(`{"cursor":%q}`, cursor)
			}
			c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":` + params + `}`)
			var page struct {
				Result struct {
					Tools      []struct{ Name string }
					NextCursor string
				}
			}
			if err := json.Unmarshal([]byte(c.answer("2")), &page); err != nil {
				t.Fatal(err)
			}
			for _, tool := range page.Result.Tools {
				seen[tool.Name] = true
			}
			cursor = page.Result.NextCursor
		}
		if len(seen) != tools || (cursor != "") != more {
			t.Errorf("%d pages hold %d tools and end with the cursor %q, want %d tools", pages, len(seen), cursor, tools)
		}
	}
}
