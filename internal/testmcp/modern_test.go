package testmcp_test

import (
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/internal/testmcp"
)

func TestModernRequestsNeedNoHandshake(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "modern"))
	has(t, b.postModern(`{"jsonrpc":"2.0","id":2,"method":"server/discover"}`, "server/discover", "").last(),
		`"supportedVersions":["2026-07-28",`, `"resultType":"complete","ttlMs":0,"cacheScope":"private"`, `"io.modelcontextprotocol/serverInfo":{"name":"testmcp"`)
	has(t, b.postModern(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "tools/list", "").last(), `"resultType":"complete","ttlMs":0`)
	has(t, b.postModern(call("echo", `{"n":1.0}`), "tools/call", "echo").last(), `"structuredContent":{"n":1.0}`)
	has(t, b.postModern(call("echo", `{}`), "tools/call", "=?base64?ZWNobw==?=").last(), `"id":7`)
	b.handshake() // and the session era is there too
}

func TestModernRefusals(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "modern-only"))
	for name, c := range map[string]struct {
		body, method, tool string
		status             int
		want               string
	}{
		"header mismatch": {call("echo", `{}`), "tools/call", "other", http.StatusBadRequest, "-32020"},
		"no name header":  {call("echo", `{}`), "tools/call", "", http.StatusBadRequest, "-32020"},
		"unknown method":  {`{"jsonrpc":"2.0","id":2,"method":"vendor/x"}`, "vendor/x", "", http.StatusNotFound, "-32601"},
		"legacy method":   {`{"jsonrpc":"2.0","id":2,"method":"ping"}`, "ping", "", http.StatusNotFound, "-32601"},
	} {
		a := b.postModern(c.body, c.method, c.tool)
		if a.status != c.status {
			t.Errorf("%s: status %d, want %d", name, a.status, c.status)
		}
		has(t, a.last(), c.want)
	}
	future := strings.ReplaceAll(modern(call("echo", `{}`)), "2026-07-28", "2099-01-01")
	a := b.post(future, "Mcp-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/call", "Mcp-Name", "echo")
	if a.status != http.StatusBadRequest {
		t.Errorf("unknown version: status %d, want 400", a.status)
	}
	has(t, a.last(), "-32022", `"supported":["2026-07-28"],"requested":"2099-01-01"`)
	bare := strings.Replace(modern(call("echo", `{}`)), `"io.modelcontextprotocol/clientCapabilities"`, `"x"`, 1)
	has(t, b.post(bare, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "echo").last(), "-32602")
	if a := b.do(http.MethodGet, ""); a.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d, want 405", a.status)
	}
}

func TestModernQuestionsAreRoundTrips(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "modern"))
	ask := call("ask", `{"times":2}`)
	has(t, b.postModern(ask, "tools/call", "ask").last(), `"result":{"resultType":"input_required","inputRequests":{"question":{"method":"elicitation/create"`, `"requestState":"[]"`)
	answer := func(state, value string) string {
		return strings.Replace(ask, `"params":{`, `"params":{"requestState":`+state+`,"inputResponses":{"question":`+value+`},`, 1)
	}
	has(t, b.postModern(answer(`"[]"`, `{"action":"accept"}`), "tools/call", "ask").last(), `"requestState":"[{\"action\":\"accept\"}]"`)
	has(t, b.postModern(answer(`"[{\"action\":\"accept\"}]"`, `{"action":"decline"}`), "tools/call", "ask").last(), `"got":[{"action":"accept"},{"action":"decline"}]`)
	has(t, b.postModern(answer(`"forged"`, `{}`), "tools/call", "ask").last(), "requestState is not mine")
	has(t, b.postModern(call("sample", `{}`), "tools/call", "sample").last(), "no capability sampling")
}

func TestListenHearsWhatItAskedFor(t *testing.T) {
	s := testmcp.HTTP(t, "modern")
	b := browse(t, s)
	listen := func(filter string) *events {
		open := len(s.Log.Of(testmcp.EventStream))
		e := b.listen(http.MethodPost, modern(`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":`+filter+`}}`),
			"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "subscriptions/listen")
		has(t, e.next(), "notifications/subscriptions/acknowledged", `"io.modelcontextprotocol/subscriptionId":"sub"`, filter)
		s.Log.WaitKind(t, testmcp.EventStream, open+1)
		return e
	}
	lists, files := listen(`{"toolsListChanged":true}`), listen(`{"resourceSubscriptions":["test://hello.txt"]}`)
	s.Grow("fresh")
	b.postModern(call("touch", `{"uri":"test://hello.txt"}`), "tools/call", "touch")
	has(t, lists.next(), "notifications/tools/list_changed", `"io.modelcontextprotocol/subscriptionId":"sub"`)
	has(t, files.next(), "notifications/resources/updated", "test://hello.txt", `"io.modelcontextprotocol/subscriptionId":"sub"`)
	lists.body.Close()
	s.Log.WaitKind(t, testmcp.EventStreamEnd, 1)
}

func TestALeavingModernClientCancels(t *testing.T) {
	s := testmcp.HTTP(t, "modern")
	b := browse(t, s)
	request := strings.Replace(modern(call("progress", `{"n":1000000}`)), `"_meta":{`, `"_meta":{"progressToken":1,`, 1)
	e := b.listen(http.MethodPost, request, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "progress")
	e.next()
	e.body.Close()
	s.Log.WaitKind(t, testmcp.EventStopped, 1)
}

func TestModernLogLevelIsPerRequest(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "modern"))
	if got := b.postModern(call("log", `{}`), "tools/call", "log").messages(); len(got) != 1 {
		t.Errorf("messages %q, want the answer only", got)
	}
	request := strings.Replace(modern(call("log", `{}`)), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`, 1)
	if got := b.post(request, "Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "log").messages(); len(got) != 2 {
		t.Errorf("messages %q, want a log message and the answer", got)
	}
}

// TestTheOfficialClientWorks has go-sdk's client use the well-behaved servers
// over every transport.
func TestTheOfficialClientWorks(t *testing.T) {
	child := func(name string) mcp.Transport {
		command, args, env := testmcp.Command(name)
		cmd := exec.Command(command, args...)
		for k, v := range env {
			cmd.Env = append(cmd.Env, k+"="+v)
		}
		return &mcp.CommandTransport{Command: cmd}
	}
	stream := func(name string) mcp.Transport {
		return &mcp.StreamableClientTransport{Endpoint: testmcp.HTTP(t, name).URL}
	}
	for name, c := range map[string]struct {
		transport mcp.Transport
		version   string
	}{
		"stdio":             {child("well"), "2025-11-25"},
		"stdio old":         {child("speaks:2024-11-05"), "2024-11-05"},
		"stdio modern":      {child("modern"), "2026-07-28"},
		"http":              {stream("well"), "2025-11-25"},
		"http json":         {stream("json-answers"), "2025-11-25"},
		"http stateless":    {stream("stateless"), "2025-11-25"},
		"http modern":       {stream("modern"), "2026-07-28"},
		"http modern json":  {stream("modern+json-answers"), "2026-07-28"},
		"http modern-only":  {stream("modern-only"), "2026-07-28"},
		"http sse lines cr": {stream("sse-crlf"), "2025-11-25"},
		"sse":               {&mcp.SSEClientTransport{Endpoint: testmcp.SSE(t, "well").URL}, "2024-11-05"},
	} {
		t.Run(name, func(t *testing.T) {
			client := mcp.NewClient(&mcp.Implementation{Name: "official", Version: "1"}, nil)
			session, err := client.Connect(t.Context(), c.transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer session.Close()
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "whoami"})
			if err != nil {
				t.Fatal(err)
			}
			has(t, result.Content[0].(*mcp.TextContent).Text, `"version":"`+c.version+`"`)
			list, err := session.ListTools(t.Context(), nil)
			if err != nil || len(list.Tools) == 0 {
				t.Errorf("%v tools, %v", list, err)
			}
		})
	}
}
