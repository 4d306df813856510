package front

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcphub/hub"
	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// events reads the messages of an event stream as they come.
type events struct {
	t    testing.TB
	body io.ReadCloser
	read *wire.EventReader
	id   string // of the last event
}

func streamOf(t testing.TB, resp *http.Response) *events {
	t.Helper()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("no event stream: HTTP %d %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), text)
	}
	e := &events{t: t, body: resp.Body, read: wire.NewEventReader(resp.Body, 1<<20)}
	t.Cleanup(func() { resp.Body.Close() })
	return e
}

// next returns the next message; ok is false at the end of the stream.
func (e *events) next() (m wire.Message, ok bool) {
	e.t.Helper()
	for {
		ev, err := e.read.Next()
		if err != nil {
			return m, false
		}
		e.id = ev.ID
		if len(ev.Data) == 0 {
			return wire.Message{}, true // priming
		}
		if m, err = wire.Scan(ev.Data); err == nil {
			return m, true
		}
		e.t.Fatalf("an event is no message: %s", ev.Data)
	}
}

// until reads up to a message with this method.
func (e *events) until(method string) wire.Message {
	e.t.Helper()
	for {
		m, ok := e.next()
		if !ok {
			e.t.Fatalf("the stream ended before %s", method)
		}
		if m.Method == method {
			return m
		}
	}
}

const progressCall = `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"mcp_up_progress","arguments":{"n":20,"ms":1},"_meta":{"progressToken":9007199254740993}}}`

// TestProgressKeepsItsOrderAndToken also holds that none comes behind the answer.
func TestProgressKeepsItsOrderAndToken(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well"), "web": {"url": testmcp.HTTP(t, "well").URL}}, Options{})
	session := r.initialize("/mcp", wire.V20250618)
	for _, server := range []string{"up", "web"} {
		s := streamOf(t, r.open(http.MethodPost, "/mcp", strings.ReplaceAll(progressCall, "mcp_up", "mcp_"+server), session...))
		for i := int64(1); i <= 20; i++ {
			m, _ := s.next()
			n, _ := wire.Int(wire.Get(m.Params, "progress"))
			if m.Method != wire.Progress || n != i || string(wire.Get(m.Params, "progressToken")) != "9007199254740993" {
				t.Fatalf("%s: message %d is %s", server, i, m.Raw)
			}
		}
		if m, _ := s.next(); string(m.ID) != `"p"` || m.Result == nil {
			t.Errorf("%s: the answer is %s", server, m.Raw)
		}
		if m, ok := s.next(); ok {
			t.Errorf("%s: behind the answer came %s", server, m.Raw)
		}
	}
}

// TestB086 cancels a call by notification, then by closing the connection.
func TestB086(t *testing.T) {
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	web := testmcp.HTTP(t, "well")
	r := newRig(t, map[string]entry{"up": {"command": command, "args": args, "env": env}, "web": {"url": web.URL}}, Options{})
	for server, log := range map[string]*testmcp.Log{"up": log, "web": web.Log} {
		slow := call(`"s"`, "mcp_"+server+"_slow", `{"ms":20000}`)
		session := r.initialize("/mcp", wire.V20251125)
		done := make(chan response, 1)
		go func() { done <- r.post("/mcp", slow, session...) }()
		log.WaitMessages(t, wire.ToolsCall, 1)
		r.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"s","reason":"enough"}}`, session...)
		if got := <-done; strings.Contains(got.body, "slept") {
			t.Errorf("%s: a cancelled call was answered: %s", server, got.body)
		}
		log.WaitMessages(t, wire.Cancelled, 1)

		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/mcp", strings.NewReader(slow))
			req.Header.Set("Content-Type", "application/json")
			for i := 0; i < len(session); i += 2 {
				req.Header.Set(session[i], session[i+1])
			}
			if resp, err := http.DefaultClient.Do(req); err == nil {
				resp.Body.Close()
			}
		}()
		log.WaitMessages(t, wire.ToolsCall, 2)
		leave()
		<-gone
		log.WaitMessages(t, wire.Cancelled, 2)
		for _, m := range log.Messages(wire.Cancelled) {
			if strings.Contains(m.Body, `"s"`) {
				t.Errorf("%s: the cancellation carries the client's id: %s", server, m.Body)
			}
		}
	}
}

// TestListChanged has a server grow a tool while a session's stream and a stateless subscription are open.
func TestListChanged(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	session := r.initialize("/mcp", wire.V20251125)
	get := streamOf(t, r.open(http.MethodGet, "/mcp", "", session...))
	listen := streamOf(t, r.open(http.MethodPost, "/mcp",
		`{"jsonrpc":"2.0","id":"sub","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":true},`+modernMeta+`}}`,
		"Mcp-Protocol-Version", wire.V20260728, "Mcp-Method", wire.Listen))
	ack, _ := listen.next()
	if ack.Method != wire.Acknowledged || string(wire.Get(ack.Params, "notifications")) != `{"toolsListChanged":true,"promptsListChanged":true}` {
		t.Fatalf("acknowledged with %s", ack.Raw)
	}
	r.post("/mcp", call("1", "mcp_up_grow", `{"name":"fresh"}`))
	changed := listen.until(wire.ToolsChanged)
	if id := wire.Path(changed.Params, "_meta", wire.MetaSubscriptionID); string(id) != `"sub"` {
		t.Errorf("the notification is for subscription %s", id)
	}
	if m := get.until(wire.ToolsChanged); m.Params != nil {
		t.Errorf("list_changed carries params %s", m.Params)
	}
	if got := r.post("/mcp", call("1", "mcp_up_fresh", `{}`)); !strings.Contains(got.body, "fresh") {
		t.Errorf("the new tool: %s", got.body)
	}
}

// TestNewGETTakesOver is B076: a client whose stream died opens another one.
func TestNewGETTakesOver(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{Heartbeat: 20 * time.Millisecond})
	session := r.initialize("/mcp", wire.V20251125)
	first := r.open(http.MethodGet, "/mcp", "", session...)
	beats := make([]byte, len(": ok\n\n: beat\n\n: beat\n\n"))
	if _, err := io.ReadFull(first.Body, beats); err != nil || bytes.Count(beats, []byte(": beat\n\n")) != 2 {
		t.Fatalf("heartbeats: %q, %v", beats, err)
	}
	second := streamOf(t, r.open(http.MethodGet, "/mcp", "", session...))
	if _, err := io.Copy(io.Discard, first.Body); err != nil {
		t.Errorf("the first stream ended with %v", err)
	}
	first.Body.Close()
	r.post("/mcp", call("1", "mcp_up_grow", `{"name":"later"}`))
	second.until(wire.ToolsChanged)
}

// TestResume leaves a primed stream and takes it up again.
func TestResume(t *testing.T) {
	r := newRig(t, map[string]entry{"up": {"url": testmcp.HTTP(t, "well").URL}}, Options{})
	session := r.initialize("/servers/up/mcp", wire.V20251125)
	s := r.front.sessions.get(session[1], hub.Door{Server: "up"})
	st := s.newStream([]byte("1"))
	st.add([]byte(`{"jsonrpc":"2.0","method":"notifications/one"}`))
	st.add([]byte(`{"jsonrpc":"2.0","method":"notifications/two"}`))
	again := streamOf(t, r.open(http.MethodGet, "/servers/up/mcp", "", append([]string{"Last-Event-Id", st.eventID(1)}, session...)...))
	if m, _ := again.next(); m.Raw != nil || again.id != st.eventID(1) {
		t.Fatalf("the stream begins with %s as %s", m.Raw, again.id)
	}
	if m, _ := again.next(); m.Method != "notifications/two" {
		t.Fatalf("first came %s", m.Raw)
	}
	st.add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	st.finish()
	if m, _ := again.next(); m.Result == nil || again.id != st.eventID(3) {
		t.Errorf("then came %s as %s", m.Raw, again.id)
	}
	if m, ok := again.next(); ok {
		t.Errorf("behind the answer came %s", m.Raw)
	}
}

// TestLostStreams comes back to the hub's next process for what the one before it was sending, as clients do for a call
// beside the stream that they hold open. No answer makes a client open that one a second time.
func TestLostStreams(t *testing.T) {
	servers, opt := map[string]entry{"up": {"url": testmcp.HTTP(t, "well").URL}}, Options{SessionDir: t.TempDir()}
	before := newRig(t, servers, opt)
	session := before.initialize("/mcp", wire.V20251125)
	lost := before.front.sessions.get(session[1], hub.Door{}).newStream([]byte(`"q"`))
	r := newRig(t, servers, opt)
	from := func(id string) []string { return append([]string{"Last-Event-Id", id}, session...) }

	foreign := streamOf(t, r.open(http.MethodGet, "/mcp", "", from("1.0")...)) // while nobody holds one
	r.post("/mcp", call("1", "mcp_up_grow", `{"name":"first"}`))
	foreign.until(wire.ToolsChanged)
	held := streamOf(t, r.open(http.MethodGet, "/mcp", "", session...))
	answer := streamOf(t, r.open(http.MethodGet, "/mcp", "", from(lost.eventID(3))...))
	if m, _ := answer.next(); string(m.ID) != `"q"` || !strings.Contains(string(m.Error), "restart") {
		t.Errorf("a lost stream began with %s", m.Raw)
	}
	if m, ok := answer.next(); ok {
		t.Errorf("then came %s", m.Raw)
	}
	ended := r.front.sessions.get(session[1], hub.Door{}).newStream([]byte("1"))
	ended.finish()
	for _, id := range []string{answer.id, ended.eventID(0), "1.0", "x"} {
		if got := r.do(http.MethodGet, "/mcp", "", from(id)...); got.status != http.StatusMethodNotAllowed {
			t.Errorf("Last-Event-ID %s: HTTP %d %s", id, got.status, got.body)
		}
	}
	if got := r.do(http.MethodGet, "/mcp", "", from(position{"x", 1, []byte("}\n")}.String())...); got.status != http.StatusBadRequest {
		t.Errorf("an event id of no hub: HTTP %d %s", got.status, got.body)
	}
	r.post("/mcp", call("1", "mcp_up_grow", `{"name":"later"}`))
	held.until(wire.ToolsChanged)
}

// TestStuckReaderDelaysNobody opens a stream, stops reading it and fills it.
func TestStuckReaderDelaysNobody(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{WriteWait: 200 * time.Millisecond})
	session := r.initialize("/mcp", wire.V20251125)
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	if _, err := io.WriteString(conn, "GET /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nMcp-Session-Id: "+session[1]+"\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	s := r.front.sessions.get(session[1], hub.Door{})
	big := []byte(`{"jsonrpc":"2.0","method":"notifications/x","params":{"n":0,"text":"` + strings.Repeat("x", 1<<20) + `"}}`)
	for i := range 16 {
		s.client.Push(append(bytes.Clone(big), strings.Repeat(" ", i)...)) // each differs, so none is taken for a repetition
	}
	start := time.Now()
	for range 20 {
		if got := r.post("/mcp", call("1", "mcp_up_echo", `{"text":"x"}`), session...); got.status != http.StatusOK {
			t.Fatalf("HTTP %d %s", got.status, got.body)
		}
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("20 calls beside a stuck reader took %v", d)
	}
	deadline := time.Now().Add(10 * time.Second)
	for s.open.Load() > 0 { // the stuck stream is given up
		if time.Now().After(deadline) {
			t.Fatal("the stuck stream is still held")
		}
		r.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, session...)
	}
}

// TestRelayAsksItsOwnClient has a server ask two sessions at once; each gets its own question.
func TestRelayAsksItsOwnClient(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well"), "web": {"url": testmcp.HTTP(t, "well").URL}}, Options{})
	for _, server := range []string{"up", "web"} {
		path := "/servers/" + server + "/mcp"
		for _, who := range []string{"alice", "bob"} {
			session := r.initialize(path, wire.V20251125)
			s := streamOf(t, r.open(http.MethodPost, path, call("1", "ask", `{"message":"`+who+`?"}`), session...))
			ask := s.until(wire.ElicitationCreate)
			if !strings.Contains(string(ask.Params), who+"?") {
				t.Fatalf("%s was asked %s", who, ask.Raw)
			}
			answer := wire.AppendResult(nil, ask.ID, []byte(`{"action":"accept","content":{"name":"`+who+`","n":9007199254740993}}`))
			if got := r.post(path, string(answer), session...); got.status != http.StatusAccepted {
				t.Fatalf("the answer got HTTP %d %s", got.status, got.body)
			}
			m, _ := s.next()
			if !strings.Contains(string(m.Result), who) || !strings.Contains(string(m.Result), "9007199254740993") {
				t.Errorf("%s: %s", server, m.Raw)
			}
		}
	}
}

// TestNobodyHearsTheQuestion has servers ask in requests without a stream of their own. The question goes to the
// session's stream, and is declined where none is open.
func TestNobodyHearsTheQuestion(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well"), "web": {"url": testmcp.HTTP(t, "well").URL}}, Options{})
	for path, tool := range map[string]string{"/mcp": "mcp_web_ask", "/servers/web/mcp": "ask", "/servers/up/mcp": "ask"} {
		p := r.peerAt(path, wire.V20250326, allCapabilities, friendly)
		ask := call("1", tool, `{}`)
		plain := append([]string{"Accept", "application/json"}, p.session...)
		for name, got := range map[string]response{"JSON": r.post(path, ask, plain...), "batch": r.post(path, "["+ask+"]", p.session...)} {
			if !strings.Contains(got.body, `"decline"`) {
				t.Errorf("%s, %s: HTTP %d %s", path, name, got.status, got.body)
			}
		}
		own := p.get()
		answered := make(chan response, 1)
		go func() { answered <- r.post(path, "["+ask+"]", p.session...) }()
		p.reply(own.until(wire.ElicitationCreate), friendly(wire.ElicitationCreate, nil))
		if got := <-answered; !strings.Contains(got.body, "Ada") {
			t.Errorf("%s, with a stream: HTTP %d %s", path, got.status, got.body)
		}
	}
}

// TestMergedViewDeclines has a server ask over the connection that many clients share.
func TestMergedViewDeclines(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	start := time.Now()
	got := r.post("/mcp", call("1", "mcp_up_ask", `{"message":"?"}`))
	if !strings.Contains(got.body, "result") && !strings.Contains(got.body, "error") || time.Since(start) > 5*time.Second {
		t.Errorf("after %v: %s", time.Since(start), got.body)
	}
}
