package front

import (
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// tell has the only server send a notification while it works for nobody.
func (p *peer) tell(method, params string) {
	p.r.t.Helper()
	p.r.post(p.path, string(wire.AppendNotification(nil, testmcp.NotificationTell,
		[]byte(`{"method":"`+method+`","params":`+params+`}`))), p.session...)
}

// TestNoticesOutsideOfCalls has servers of both transports send what belongs to no call: log messages reach the sessions
// that want them, and what the hub does not know reaches the one session there is.
func TestNoticesOutsideOfCalls(t *testing.T) {
	for name, up := range map[string]entry{"stdio": stdio("well"), "http": {"url": testmcp.HTTP(t, "well").URL}} {
		r := newRig(t, map[string]entry{"up": up}, Options{})
		alice := r.peer(wire.V20251125, `{}`, friendly)
		hers := alice.get()
		alice.tell("notifications/vendor/news", `{"n":1e3}`)
		if m := hers.until("notifications/vendor/news"); string(m.Params) != `{"n":1e3}` {
			t.Errorf("%s: alice heard %s", name, m.Raw)
		}
		bob := r.peer(wire.V20251125, `{}`, friendly)
		his := bob.get()
		alice.request(wire.SetLevel, `{"level":"warning"}`)
		alice.tell("notifications/vendor/news", `{}`)
		alice.tell(wire.LogMessage, `{"level":"info","data":"too little"}`)
		alice.tell(wire.LogMessage, `{"level":"error","data":"trouble"}`)
		if m := hers.until(wire.LogMessage); !strings.Contains(string(m.Params), "trouble") {
			t.Errorf("%s: alice heard %s", name, m.Raw)
		}
		alice.call("mcp_up_grow", `{}`)
		if seen := his.before(wire.ToolsChanged); len(seen) != 0 {
			t.Errorf("%s: bob, who asked for nothing, heard %v", name, seen)
		}
	}
}

// TestProgressOfQuestions has a client say how far it is with a question.
func TestProgressOfQuestions(t *testing.T) {
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	r := newRig(t, map[string]entry{"up": {"command": command, "args": args, "env": env}, "other": stdio("well")}, Options{})
	var p *peer
	const progress = `{"progressToken":"t-1","progress":0.5}`
	p = r.peer(wire.V20251125, allCapabilities, func(method string, params []byte) answer {
		r.post("/mcp", string(wire.AppendNotification(nil, wire.Progress, []byte(progress))), p.session...)
		log.WaitMessages(t, wire.Progress, 1)
		return friendly(method, params)
	})
	if m := p.call("mcp_up_ask", `{"token":"t-1"}`); !strings.Contains(got(m), "Ada") {
		t.Errorf("the call gave %s", m.Raw)
	}
	if all := messages(log, wire.Progress); len(all) != 1 || !strings.Contains(all[0], progress) {
		t.Errorf("the server heard %q", all)
	}
}

// TestChangesWaitOnce has a session without a stream.
func TestChangesWaitOnce(t *testing.T) {
	o := &outbox{wake: make(chan struct{}, 1)}
	tools, prompts := wire.AppendNotification(nil, wire.ToolsChanged, nil), wire.AppendNotification(nil, wire.PromptsChanged, nil)
	line := wire.AppendNotification(nil, wire.LogMessage, []byte(`{"level":"info","data":"again"}`))
	for range 3 {
		o.push(tools)
		o.push(prompts)
		o.push(line)
	}
	if n := len(o.take()); n != 5 {
		t.Errorf("%d messages wait, want two changes and three lines", n)
	}
}
