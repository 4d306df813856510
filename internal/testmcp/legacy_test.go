package testmcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
)

// connected is a browser with a session of its own and that session's GET stream.
func connected(t *testing.T, s *testmcp.Server) (*browser, *events) {
	t.Helper()
	b := browse(t, s)
	b.handshake()
	open := len(s.Log.Of(testmcp.EventStream))
	e := b.listen(http.MethodGet, "")
	s.Log.WaitKind(t, testmcp.EventStream, open+1)
	return b, e
}

func TestTools(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "well"))
	b.handshake()
	for _, c := range []struct{ tool, args, want string }{
		{"echo", `{"b":9007199254740993, "a":"<é>"}`, `"structuredContent":{"b":9007199254740993, "a":"<é>"}}`},
		{"slow", `{"ms":1}`, "slept"},
		{"counter", `{}`, `{"count":1}`},
		{"counter", `{}`, `{"count":2}`},
		{"env", `{}`, "PATH="},
		{"whoami", `{}`, `"version":"2025-11-25","clientInfo":{"name":"raw","version":"1"},"capabilities":{"elicitation":{},"sampling":{},"roots":{}}`},
		{"big", `{"bytes":100000}`, "the quick brown fox"},
		{"exit", `{}`, `"isError":true`},
		{"fail", `{}`, `"isError":true`},
		{"none", `{}`, `"code":-32602`},
	} {
		has(t, b.post(call(c.tool, c.args)).last(), c.want)
	}
	other := browse(t, testmcp.HTTP(t, "well"))
	other.handshake()
	has(t, other.post(call("counter", `{}`)).last(), `{"count":1}`)
}

func TestExitEndsAChild(t *testing.T) {
	c := start(t, "well")
	c.handshake()
	c.send(call("exit", `{"code":5}`))
	if code := c.exited(); code != 5 {
		t.Errorf("exit code %d, want 5", code)
	}
}

func TestProgressComesBeforeTheAnswer(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "well"))
	b.handshake()
	request := strings.Replace(call("progress", `{"n":2}`), `"params":{`, `"params":{"_meta":{"progressToken":"p-1"},`, 1)
	got := b.post(request).messages()
	if len(got) != 3 {
		t.Fatalf("messages %q, want two notifications and the answer", got)
	}
	has(t, got[0], "notifications/progress", `"progressToken":"p-1","progress":1,"total":2`)
	has(t, got[2], "reported 2 times")
}

func TestFeatures(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "well"))
	b.handshake()
	for _, c := range []struct{ method, params, want string }{
		{"ping", `{}`, `"result":{}`},
		{"resources/list", `{}`, "test://hello.txt"},
		{"resources/templates/list", `{}`, "test://words/{word}"},
		{"resources/read", `{"uri":"test://hello.txt"}`, `"text":"hello"`},
		{"resources/read", `{"uri":"test://pixel.png"}`, `"blob":"iVBOR`},
		{"resources/read", `{"uri":"test://words/blue"}`, `"text":"blue"`},
		{"resources/read", `{"uri":"test://none"}`, `"code":-32002`},
		{"prompts/list", `{}`, `"name":"greet"`},
		{"prompts/get", `{"name":"greet","arguments":{"name":"Ada"}}`, "Greet Ada."},
		{"prompts/get", `{"name":"plain"}`, "Say something."},
		{"prompts/get", `{"name":"none"}`, `"code":-32602`},
		{"completion/complete", `{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"A"}}`, `"values":["Ada","Alan"],"total":2`},
		{"vendor/none", `{}`, `"code":-32601`},
	} {
		got := b.post(fmt.Sprintf(`{"jsonrpc":"2.0","id":3,"method":%q,"params":%s}`, c.method, c.params)).last()
		has(t, got, c.want)
		if !json.Valid([]byte(got)) {
			t.Errorf("%s: not JSON: %s", c.method, got)
		}
	}
}

func TestQuestionsInTheMiddleOfACall(t *testing.T) {
	for _, c := range []struct{ tool, args, method, answer, want string }{
		{"ask", `{"message":"Name?"}`, "elicitation/create", `"result":{"action":"accept","content":{"name":"Ada","n":9007199254740993}}`, `"got":[{"action":"accept","content":{"name":"Ada","n":9007199254740993}}]`},
		{"ask", `{"mode":"url"}`, `"mode":"url"`, `"result":{"action":"cancel"}`, `"got":[{"action":"cancel"}]`},
		{"sample", `{}`, "sampling/createMessage", `"error":{"code":-1,"message":"no"}`, `"isError":true`},
		{"roots", `{}`, "roots/list", `"result":{"roots":[]}`, `"got":[{"roots":[]}]`},
	} {
		t.Run(c.tool, func(t *testing.T) {
			b := browse(t, testmcp.HTTP(t, "well"))
			b.handshake()
			e := b.listen(http.MethodPost, call(c.tool, c.args))
			has(t, e.next(), c.method)
			b.post(`{"jsonrpc":"2.0","id":1,` + c.answer + `}`)
			has(t, e.next(), c.want)
			e.ended()
		})
	}
}

func TestAClientIsNotAskedWhatItCannot(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "well"))
	b.session = b.post(strings.Replace(initialize, `"elicitation":{},`, "", 1)).header.Get("Mcp-Session-Id")
	has(t, b.post(call("ask", `{}`)).last(), "no capability elicitation")
}

func TestCancelledCallsStopWithoutAnAnswer(t *testing.T) {
	s := testmcp.HTTP(t, "well")
	b := browse(t, s)
	b.handshake()
	request := strings.Replace(call("progress", `{"n":1000000}`), `"params":{`, `"params":{"_meta":{"progressToken":1},`, 1)
	e := b.listen(http.MethodPost, request)
	e.next()
	b.post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	e.ended()
	s.Log.WaitKind(t, testmcp.EventStopped, 1)
	if n := s.Log.Count("notifications/cancelled"); n != 1 {
		t.Errorf("%d cancelled are logged, want 1", n)
	}
}

func TestALeavingClientCancelsNothingInTheSessionEra(t *testing.T) {
	s := testmcp.HTTP(t, "well")
	b := browse(t, s)
	b.handshake()
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		b.client.Do(b.request(http.MethodPost, call("slow", `{"ms":60000}`)).WithContext(ctx)) //nolint:errcheck,bodyclose // it is cut
	}()
	s.Log.WaitMessages(t, "tools/call", 1)
	leave()
	<-gone
	s.Log.WaitKind(t, testmcp.EventDisconnect, 1)
	if n := len(s.Log.Of(testmcp.EventStopped)); n != 0 {
		t.Errorf("%d calls were stopped, want none", n)
	}
}

func TestNotificationsGoToTheGetStream(t *testing.T) {
	s := testmcp.HTTP(t, "well")
	b, e := connected(t, s)
	if s.Streams() != 1 || s.Sessions() != 1 {
		t.Errorf("%d streams and %d sessions, want one each", s.Streams(), s.Sessions())
	}
	has(t, b.post(call("grow", `{"name":"fresh"}`)).last(), "fresh")
	has(t, e.next(), `"method":"notifications/tools/list_changed"}`)
	has(t, b.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).last(), `"name":"fresh"`)
	has(t, b.post(call("fresh", `{}`)).last(), "fresh")
	b.post(call("redescribe", `{"text":"another text"}`))
	e.next()
	has(t, b.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).last(), "another text")

	touch := call("touch", `{"uri":"test://hello.txt"}`)
	b.post(touch)
	b.post(`{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"test://hello.txt"}}`)
	b.post(touch)
	has(t, e.next(), "notifications/resources/updated", "test://hello.txt")
	b.post(`{"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"test://hello.txt"}}`)
	b.post(touch)
	s.Push([]byte(`{"jsonrpc":"2.0","method":"notifications/vendor"}`))
	has(t, e.next(), "notifications/vendor")

	b.do(http.MethodDelete, "")
	if a := b.post(touch); a.status != http.StatusNotFound {
		t.Errorf("after DELETE: status %d, want 404", a.status)
	}
}

func TestLogLevel(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "well"))
	b.handshake()
	if got := b.post(call("log", `{"data":{"n":1.0}}`)).messages(); len(got) != 2 {
		t.Errorf("messages %q, want a log message and the answer", got)
	} else {
		has(t, got[0], `"level":"info"`, `"data":{"n":1.0}`)
	}
	b.post(`{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`)
	if got := b.post(call("log", `{}`)).messages(); len(got) != 1 {
		t.Errorf("messages %q, want the answer only", got)
	}
}

func TestASessionIsNeeded(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "well"))
	if a := b.post(call("echo", `{}`)); a.status != http.StatusBadRequest {
		t.Errorf("without a session: status %d, want 400", a.status)
	}
	b.session = "unknown"
	if a := b.post(call("echo", `{}`)); a.status != http.StatusNotFound {
		t.Errorf("with an unknown one: status %d, want 404", a.status)
	}
	if a := b.post(`{"broken`); a.status != http.StatusBadRequest {
		t.Errorf("broken JSON: status %d, want 400", a.status)
	}
	if a := b.do(http.MethodPut, ""); a.status != http.StatusMethodNotAllowed {
		t.Errorf("PUT: status %d, want 405", a.status)
	}
}

func TestDownAndUp(t *testing.T) {
	s := testmcp.HTTP(t, "well")
	b, e := connected(t, s)
	s.Down()
	e.ended()
	if _, err := b.try(http.MethodPost, call("echo", `{}`)); err == nil {
		t.Error("a server that is down answered")
	}
	s.Up()
	has(t, b.post(call("echo", `{}`)).body, `"id":7`) // its sessions are kept
	s.ForgetSessions()
	if a := b.post(call("echo", `{}`)); a.status != http.StatusNotFound {
		t.Errorf("after ForgetSessions: status %d, want 404", a.status)
	}
}
