package front

import (
	"net/http"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// where is the process and session that answered a whoami.
func where(m wire.Message) string {
	who := wire.Get(m.Result, "structuredContent")
	return string(wire.Get(who, "pid")) + "/" + string(wire.Get(who, "session"))
}

// TestAmbiguousQuestions has a server ask on a connection where two clients' calls are in flight. Nobody is asked
// what another one's call wants to know; from then on the server has one connection for each client.
func TestAmbiguousQuestions(t *testing.T) {
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	r := newRig(t, map[string]entry{"up": {"command": command, "args": args, "env": env}}, Options{})
	alice, bob := r.peer(wire.V20251125, allCapabilities, friendly), r.peer(wire.V20251125, allCapabilities, friendly)
	if a, b := where(alice.call("mcp_up_whoami", `{}`)), where(bob.call("mcp_up_whoami", `{}`)); a != b {
		t.Errorf("the clients begin apart: %s, %s", a, b)
	}
	calls := log.Count(wire.ToolsCall)
	slow := r.open // alice's call is in flight for as long as the test wants
	held := make(chan *http.Response, 1)
	go func() {
		held <- slow(http.MethodPost, "/mcp", call(`"held"`, "mcp_up_slow", `{"ms":60000}`), alice.session...)
	}()
	log.WaitMessages(t, wire.ToolsCall, calls+1)
	if m := bob.call("mcp_up_ask", `{}`); got(m) != `[{"action":"decline"}]` || bob.asked != nil {
		t.Errorf("the ambiguous question: asked %q, %s", bob.asked, m.Raw)
	}
	if n := r.front.hub.Servers()[0].Unattributed.Load(); n != 1 {
		t.Errorf("%d ambiguous questions were counted", n)
	}
	for _, p := range []*peer{alice, bob} {
		p.asked = nil
		if m := p.call("mcp_up_ask", `{}`); !strings.Contains(got(m), "Ada") || len(p.asked) != 1 {
			t.Errorf("after it: asked %q, %s", p.asked, m.Raw)
		}
	}
	stateless := r.peer(wire.V20260728, allCapabilities, friendly)
	if m := stateless.call("mcp_up_ask", `{"times":2}`); strings.Count(got(m), "Ada") != 2 {
		t.Errorf("a stateless client: %s", m.Raw)
	}
	if a, b := where(alice.call("mcp_up_whoami", `{}`)), where(bob.call("mcp_up_whoami", `{}`)); a == b {
		t.Errorf("the clients still share %s", a)
	}
	r.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"held"}}`, alice.session...)
	(<-held).Body.Close()
	for _, p := range []*peer{alice, bob} { // their processes end with their sessions
		ends := len(log.Of(testmcp.EventEnd))
		r.do(http.MethodDelete, "/mcp", "", p.session...)
		log.WaitKind(t, testmcp.EventEnd, ends+1)
	}
}

// TestB129 counts calls in sessions of servers that keep state.
func TestB129(t *testing.T) {
	servers := map[string]entry{}
	for _, scope := range []string{"shared", "client", "call"} {
		stdio, web := stdio("well"), entry{"url": testmcp.HTTP(t, "well").URL}
		stdio["session"], web["session"] = scope, scope
		servers[scope], servers[scope+"-web"] = stdio, web
	}
	r := newRig(t, servers, Options{})
	alice, bob := r.peer(wire.V20251125, allCapabilities, friendly), r.peer(wire.V20250618, allCapabilities, friendly)
	stateless := r.peer(wire.V20260728, allCapabilities, friendly)
	for scope, want := range map[string]string{"shared": "1 2 3 4 5", "client": "1 2 1 1 1", "call": "1 1 1 1 1"} {
		for _, server := range []string{scope, scope + "-web"} {
			var counts []string
			for _, p := range []*peer{alice, alice, bob, stateless, stateless} {
				counts = append(counts, string(wire.Path(p.call("mcp_"+server+"_counter", `{}`).Result, "structuredContent", "count")))
			}
			if all := strings.Join(counts, " "); all != want {
				t.Errorf("session %s, server %s: counted %s, want %s", scope, server, all, want)
			}
			for _, p := range []*peer{alice, bob, stateless} {
				if m := p.call("mcp_"+server+"_ask", `{}`); !strings.Contains(got(m), "Ada") {
					t.Errorf("session %s, server %s: %s", scope, server, m.Raw)
				}
			}
		}
	}
}

// TestStatelessServersHaveNoSessions sets a scope that means nothing to such a server.
func TestStatelessServersHaveNoSessions(t *testing.T) {
	servers := map[string]entry{}
	for _, scope := range []string{"shared", "client", "call"} {
		servers[scope] = entry{"url": testmcp.HTTP(t, "modern-only").URL, "session": scope}
	}
	r := newRig(t, servers, Options{})
	for _, client := range eras {
		for scope := range servers {
			p := r.peer(client.version, allCapabilities, friendly)
			if m := p.call("mcp_"+scope+"_ask", `{}`); !strings.Contains(got(m), "Ada") {
				t.Errorf("%s client, session %s: %s", client.name, scope, m.Raw)
			}
		}
	}
}

// TestManyClientsOneServer has clients ask at the same time through one shared program: whoever gets an answer gets
// their own.
func TestManyClientsOneServer(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	done := make(chan string)
	const clients, calls = 8, 5
	for i := range clients {
		name := string(rune('a' + i))
		p := r.peer([]string{wire.V20251125, wire.V20260728}[i%2], allCapabilities, func(_ string, params []byte) answer {
			if message := wire.String(wire.Get(params, "message")); message != name {
				return answer{result: `{"action":"accept","content":{"wrong":"` + name + ` was asked ` + message + `"}}`}
			}
			return answer{result: `{"action":"accept","content":{"name":"` + name + `"}}`}
		})
		go func() {
			trouble := ""
			for range calls {
				m := p.call("mcp_up_ask", `{"message":"`+name+`"}`)
				if answer := got(m); answer != `[{"action":"decline"}]` && answer != `[{"action":"accept","content":{"name":"`+name+`"}}]` {
					trouble = name + ": " + string(m.Raw)
				}
			}
			if m := p.call("mcp_up_ask", `{"message":"`+name+`"}`); len(p.asked) == 0 || !strings.Contains(got(m), name) {
				trouble = name + " was never asked: " + string(m.Raw)
			}
			done <- trouble
		}()
	}
	for range clients {
		if trouble := <-done; trouble != "" {
			t.Error(trouble)
		}
	}
}

// TestOwnConnections has sessions with connections of their own subscribe and choose log levels, before and after the
// server dies, and has a subscription from before the connections parted.
func TestOwnConnections(t *testing.T) {
	const uri = "mcphub://up/test:%2F%2Fhello.txt"
	for _, scope := range []string{"client", "auto"} {
		command, args, env, log := testmcp.LoggedCommand(t, "well")
		r := newRig(t, map[string]entry{"up": {"command": command, "args": args, "env": env, "session": scope}, "mark": stdio("well")}, Options{})
		alice, bob := r.peer(wire.V20251125, allCapabilities, friendly), r.peer(wire.V20251125, allCapabilities, friendly)
		hers := alice.get()
		touch := func() { alice.call("mcp_up_touch", `{"uri":"`+hello+`"}`) }
		alice.request(wire.ResourcesSubscribe, `{"uri":"`+uri+`"}`)
		touch()
		hers.until(wire.ResourceUpdated)
		if scope == "auto" {
			r.part(alice, bob)
			log.WaitMessages(t, wire.ResourcesSubscribe, 2)
			log.WaitMessages(t, wire.ResourceUnsubscribe, 1)
			touch()
			hers.until(wire.ResourceUpdated)
		}
		alice.request(wire.SetLevel, `{"level":"error"}`)
		levels, subscriptions := log.Count(wire.SetLevel), log.Count(wire.ResourcesSubscribe)
		alice.call("mcp_up_exit", `{}`)
		touch()
		hers.until(wire.ResourceUpdated)
		if n, m := log.Count(wire.SetLevel), log.Count(wire.ResourcesSubscribe); n == levels || m == subscriptions {
			t.Errorf("%s: alice's next process heard of %d levels and %d subscriptions", scope, n-levels, m-subscriptions)
		}
		alice.request(wire.ResourceUnsubscribe, `{"uri":"`+uri+`"}`)
		touch()
		r.post("/mcp", call("1", "mcp_mark_grow", `{}`))
		if seen := hers.before(wire.ToolsChanged); seen[wire.ResourceUpdated] != 0 {
			t.Errorf("%s: after unsubscribing came %v", scope, seen)
		}
	}
}

// part has the server ask while two clients' calls are in flight.
func (r *rig) part(alice, bob *peer) {
	r.t.Helper()
	held := `{"jsonrpc":"2.0","id":"held","method":"tools/call","params":{"name":"mcp_up_progress","arguments":{"n":100000,"ms":1},"_meta":{"progressToken":1}}}`
	stream := streamOf(r.t, r.open(http.MethodPost, "/mcp", held, alice.session...))
	stream.until(wire.Progress)
	if m := bob.call("mcp_up_ask", `{}`); !strings.Contains(got(m), "decline") {
		r.t.Errorf("the ambiguous question: %s", m.Raw)
	}
	r.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"held"}}`, alice.session...)
	stream.body.Close()
}

// TestQuestionOfACancelledCall has a server go on with a call that its client has given up, and ask while another
// client's call is the only one in flight.
func TestQuestionOfACancelledCall(t *testing.T) {
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	r := newRig(t, map[string]entry{"up": {"command": command, "args": args, "env": env}}, Options{})
	alice, bob := r.peer(wire.V20251125, allCapabilities, friendly), r.peer(wire.V20251125, allCapabilities, friendly)
	answer := func() string {
		var body string
		log.Wait(t, "the answer to the question", func(all []testmcp.Event) bool {
			for _, e := range all {
				if strings.Contains(e.Body, `"id":"stubborn"`) {
					body = e.Body
				}
			}
			return body != ""
		})
		return body
	}
	held := make(chan *http.Response, 2)
	hold := func(p *peer, id, tool, args string) {
		n := log.Count(wire.ToolsCall)
		go func() { held <- r.open(http.MethodPost, "/mcp", call(id, tool, args), p.session...) }()
		log.WaitMessages(t, wire.ToolsCall, n+1)
	}
	hold(alice, `"hers"`, "mcp_up_stubborn", `{}`)
	hold(bob, `"his"`, "mcp_up_slow", `{"ms":60000}`)
	r.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"hers"}}`, alice.session...)
	if got := answer(); !strings.Contains(got, "decline") {
		t.Errorf("the question was answered with %s", got)
	}
	if n := r.front.hub.Servers()[0].Unattributed.Load(); n != 1 {
		t.Errorf("%d ambiguous questions were counted", n)
	}
	r.post("/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"his"}}`, bob.session...)
	for range cap(held) {
		(<-held).Body.Close()
	}
}
