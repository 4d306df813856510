package front

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

const hello = "test://hello.txt"

// messages are the bodies of a method's messages that a server got.
func messages(log *testmcp.Log, method string) (bodies []string) {
	for _, m := range log.Messages(method) {
		bodies = append(bodies, m.Body)
	}
	return bodies
}

// get opens the session's own stream.
func (p *peer) get() *events {
	p.r.t.Helper()
	return streamOf(p.r.t, p.r.open(http.MethodGet, p.path, "", p.session...))
}

// listen opens a stateless client's subscription and returns what was granted.
func (p *peer) listen(filter string) (*events, string) {
	p.r.t.Helper()
	s := streamOf(p.r.t, p.open(wire.Listen, `{"notifications":`+filter+`}`))
	return s, string(wire.Get(s.until(wire.Acknowledged).Params, "notifications"))
}

// before reads up to the next message of method and counts what came before it by method.
func (e *events) before(method string) map[string]int {
	e.t.Helper()
	seen := map[string]int{}
	for {
		m, ok := e.next()
		if !ok {
			e.t.Fatalf("the stream ended before %s; it had %v", method, seen)
		}
		if m.Method == method {
			return seen
		}
		seen[m.Method]++
	}
}

// TestSubscriptions has clients of both eras subscribe to one resource of servers of both eras: each server sees one
// subscription, which ends with the last client's.
func TestSubscriptions(t *testing.T) {
	old, oldLog := logged(t, "well")
	now, nowLog := logged(t, "modern-only")
	command, args, env, stdioLog := testmcp.LoggedCommand(t, "well")
	r := newRig(t, map[string]entry{"old": old, "new": now, "stdio": {"command": command, "args": args, "env": env}}, Options{})
	for server, log := range map[string]*testmcp.Log{"old": oldLog, "stdio": stdioLog, "new": nowLog} {
		uri := "mcphub://" + server + "/test:%2F%2Fhello.txt"
		subscribe := func(p *peer) {
			if m := p.request(wire.ResourcesSubscribe, `{"uri":"`+uri+`"}`); string(m.Result) != "{}" {
				t.Fatalf("%s: subscribing gave %s", server, m.Raw)
			}
		}
		alice, bob, carol := r.peer(wire.V20251125, `{}`, friendly), r.peer(wire.V20250618, `{}`, friendly), r.peer(wire.V20251125, `{}`, friendly)
		subscribe(alice)
		subscribe(alice) // twice is once
		subscribe(bob)
		filter := `{"resourceSubscriptions":["` + uri + `","nobody://s"]}`
		stateless, granted := r.peer(wire.V20260728, `{}`, friendly).listen(filter)
		if granted != `{"resourceSubscriptions":["`+uri+`"]}` {
			t.Errorf("%s: granted %s", server, granted)
		}
		if server == "new" {
			log.Wait(t, "a subscription", func([]testmcp.Event) bool {
				return strings.Contains(strings.Join(messages(log, wire.Listen), ""), hello)
			})
		} else if n := log.Count(wire.ResourcesSubscribe); n != 1 {
			t.Errorf("%s: the server has %d subscriptions, want 1", server, n)
		}
		streams := []*events{alice.get(), bob.get(), stateless}
		quiet := carol.get()
		r.touch(server)
		for i, s := range streams {
			m := s.until(wire.ResourceUpdated)
			if meta := wire.Get(m.Params, "_meta"); wire.String(wire.Get(m.Params, "uri")) != uri || (meta != nil) != (s == stateless) {
				t.Errorf("%s, client %d: %s", server, i, m.Raw)
			}
		}
		r.post("/mcp", call("1", "mcp_"+server+"_grow", `{}`))
		if seen := quiet.before(wire.ToolsChanged); seen[wire.ResourceUpdated] != 0 {
			t.Errorf("%s: who did not subscribe got %v", server, seen)
		}
		if m := alice.request(wire.ResourceUnsubscribe, `{"uri":"`+uri+`"}`); string(m.Result) != "{}" {
			t.Errorf("%s: unsubscribing gave %s", server, m.Raw)
		}
		stateless.body.Close()
		if n := log.Count(wire.ResourceUnsubscribe); n != 0 {
			t.Errorf("%s: unsubscribed while somebody is left", server)
		}
		r.do(http.MethodDelete, "/mcp", "", bob.session...) // the last one goes without a word
		if server != "new" {
			log.WaitMessages(t, wire.ResourceUnsubscribe, 1)
			continue
		}
		log.Wait(t, "the subscription's end", func([]testmcp.Event) bool {
			all := messages(log, wire.Listen)
			return !strings.Contains(all[len(all)-1], hello)
		})
	}
}

// touch has the server's resource change.
func (r *rig) touch(server string) {
	r.t.Helper()
	r.post("/mcp", call("1", "mcp_"+server+"_touch", `{"uri":"`+hello+`"}`))
}

// TestSubscriptionOutlivesTheConnection has servers lose their connection while somebody is subscribed.
func TestSubscriptionOutlivesTheConnection(t *testing.T) {
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	r := newRig(t, map[string]entry{"up": {"command": command, "args": args, "env": env}}, Options{})
	p := r.peer(wire.V20251125, `{}`, friendly)
	p.request(wire.ResourcesSubscribe, `{"uri":"`+hello+`"}`)
	s := p.get()
	p.call("mcp_up_exit", `{}`)
	log.WaitMessages(t, wire.ResourcesSubscribe, 2) // nobody has to call the server for that
	r.touch("up")
	s.until(wire.ResourceUpdated)
}

// TestListChangedOnlyForWhatChanged tells clients of changes of their own lists, once, and of no others.
func TestListChangedOnlyForWhatChanged(t *testing.T) {
	filtered := stdio("well")
	filtered["excludeTools"] = []string{"grown_*", "echo"}
	r := newRig(t, map[string]entry{"up": stdio("well"), "some": filtered, "mark": stdio("well")}, Options{})
	s := r.peer(wire.V20251125, `{}`, friendly).get()
	listening, granted := r.peer(wire.V20260728, `{}`, friendly).listen(`{"toolsListChanged":true,"resourcesListChanged":false}`)
	if granted != `{"toolsListChanged":true}` {
		t.Errorf("granted %s", granted)
	}
	other, _ := r.peer(wire.V20260728, `{}`, friendly).listen(`{"promptsListChanged":true}`)
	list := func() string { return r.post("/mcp", `{"id":1,"method":"tools/list"}`).body }
	before := list()
	// Neither an excluded tool nor a list that stayed the same is news.
	r.post("/mcp", call("1", "mcp_some_grow", `{"name":"grown_1"}`))
	r.post("/mcp", call("1", "mcp_some_redescribe", `{"text":"other words"}`))
	r.post("/mcp", call("1", "mcp_up_tell", `{"method":"notifications/tools/list_changed"}`))
	r.post("/mcp", call("1", "mcp_up_tell", `{"method":"notifications/prompts/list_changed"}`))
	r.post("/mcp", call("1", "mcp_up_tell", `{"method":"notifications/resources/list_changed","params":{}}`))
	if after := list(); after != before {
		t.Errorf("the list changed from %s to %s", before, after)
	}
	r.post("/mcp", call("1", "mcp_up_redescribe", `{"text":"new words"}`))
	for _, e := range []*events{s, listening} {
		if seen := e.before(wire.ToolsChanged); len(seen) != 0 {
			t.Errorf("before the change came %v", seen)
		}
	}
	if now := list(); !strings.Contains(now, "new words") || strings.Contains(now, "other words") {
		t.Errorf("after the notification the list is %s", now)
	}
	for range 20 { // changes that come together are few
		r.post("/mcp", call("1", "mcp_up_grow", `{}`))
	}
	changes := 0
	for !strings.Contains(list(), "mcp_up_grown_20") {
		s.until(wire.ToolsChanged)
		changes++
	}
	if changes > 5 {
		t.Errorf("20 changes at once were told %d times", changes)
	}
	r.front.Drain()
	if m, ok := other.next(); ok && m.Method != "" {
		t.Errorf("who did not ask for it got %s", m.Raw)
	}
}

// TestLogLevels has clients choose what they hear: a session by logging/setLevel, a stateless client in each request.
func TestLogLevels(t *testing.T) {
	r := newRig(t, bothUpstreams(t), Options{})
	logs := func(server, level string) string {
		return `{"name":"mcp_` + server + `_log","arguments":{"level":"` + level + `","data":{"n":1e2}}`
	}
	heard := func(p *peer, server, level, meta string) bool {
		params := logs(server, level) + meta + "}"
		var resp *http.Response
		if p.session != nil {
			resp = r.open(http.MethodPost, "/mcp", string(wire.AppendRequest(nil, []byte("1"), wire.ToolsCall, []byte(params))), p.session...)
		} else {
			resp = p.open(wire.ToolsCall, params)
		}
		defer resp.Body.Close()
		if resp.Header.Get("Content-Type") != "text/event-stream" {
			return false
		}
		m, _ := (&events{t: t, body: resp.Body, read: wire.NewEventReader(resp.Body, 1<<20)}).next()
		_, _ = io.Copy(io.Discard, resp.Body) // a call that is given up makes the next messages nobody's
		if m.Method == wire.LogMessage && !strings.Contains(string(m.Params), `{"n":1e2}`) {
			t.Errorf("the message is %s", m.Raw)
		}
		return m.Method == wire.LogMessage
	}
	for _, server := range []string{"session", "session-stdio", "stateless", "stateless-stdio"} {
		warned := r.peer(wire.V20251125, `{}`, friendly)
		warned.request(wire.SetLevel, `{"level":"warning"}`)
		all := r.peer(wire.V20251125, `{}`, friendly)
		all.request(wire.SetLevel, `{"level":"debug"}`)
		modern := r.peer(wire.V20260728, `{}`, friendly)
		for name, c := range map[string]struct {
			p           *peer
			level, meta string
			want        bool
		}{
			"below the session's level": {warned, "info", "", false}, "at it": {warned, "warning", "", true}, "above it": {warned, "alert", "", true},
			"another session's level": {all, "debug", "", true},
			"no level asked for":      {modern, "emergency", "", false},
			"below the request's":     {modern, "info", `,"_meta":{"io.modelcontextprotocol/logLevel":"error"}`, false},
			"above the request's":     {modern, "error", `,"_meta":{"io.modelcontextprotocol/logLevel":"info"}`, true},
		} {
			if got := heard(c.p, server, c.level, c.meta); got != c.want {
				t.Errorf("server %s, %s: heard is %v", server, name, got)
			}
		}
	}
	p := r.peer(wire.V20251125, `{}`, friendly)
	if m := p.request(wire.SetLevel, `{"level":"loud"}`); !strings.Contains(string(m.Error), "-32602") {
		t.Errorf("an unknown level: %s", m.Raw)
	}
}

// TestB102 sets a level though not every server has logging, or answers.
func TestB102(t *testing.T) {
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	r := newRig(t, map[string]entry{
		"logs": {"command": command, "args": args, "env": env}, "none": stdio("only-tools"), "fails": stdio("error-data:logging/setLevel"), "mute": stdio("mute:logging/setLevel"),
	}, Options{})
	p := r.peer(wire.V20251125, `{}`, friendly)
	if m := p.request(wire.SetLevel, `{"level":"error"}`); string(m.Result) != "{}" {
		t.Errorf("setLevel: %s", m.Raw)
	}
	log.WaitMessages(t, wire.SetLevel, 1)
	p.call("mcp_logs_exit", `{}`) // one that connects later hears it too
	p.call("mcp_logs_echo", `{}`)
	log.WaitMessages(t, wire.SetLevel, 2)
	for _, m := range messages(log, wire.SetLevel) {
		if !strings.Contains(m, `"level":"error"`) {
			t.Errorf("the server was told %s", m)
		}
	}
}
