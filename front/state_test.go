package front

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// logged is a server of that name over HTTP, with its log.
func logged(t *testing.T, name string) (entry, *testmcp.Log) {
	up := testmcp.HTTP(t, name)
	return entry{"url": up.URL}, up.Log
}

// statefulUpstreams are a server whose calls are parked and one whose own state is sealed.
func statefulUpstreams(t *testing.T) (map[string]entry, map[string]*testmcp.Log) {
	old, oldLog := logged(t, "well")
	now, nowLog := logged(t, "modern-only")
	return map[string]entry{"old": old, "new": now}, map[string]*testmcp.Log{"old": oldLog, "new": nowLog}
}

// with replaces members of what a client sends back.
func with(edits []wire.Edit, key, value string) []wire.Edit {
	out := append([]wire.Edit(nil), edits...)
	for i := range out {
		if out[i].Key == key {
			out[i].Value = []byte(value)
			if value == "" {
				out[i].Value = nil
			}
		}
	}
	return out
}

// TestWrongRequestState sends back states that the hub did not make, or not for this. Nothing of it reaches a server.
func TestWrongRequestState(t *testing.T) {
	servers, logs := statefulUpstreams(t)
	r := newRig(t, servers, Options{})
	for server, log := range logs {
		p := r.peer(wire.V20260728, allCapabilities, friendly)
		tool := "mcp_" + server + "_ask"
		params := `{"name":"` + tool + `","arguments":{"times":2}}`
		asked := p.once(wire.ToolsCall, params)
		state := wire.String(wire.Get(asked.Result, "requestState"))
		back := p.respond(asked.Result)
		raw, err := base64.RawURLEncoding.DecodeString(state)
		if err != nil || len(raw) < 30 {
			t.Fatalf("%s: asked with %s", server, asked.Raw)
		}
		raw[len(raw)-1] ^= 1
		tampered := base64.RawURLEncoding.EncodeToString(raw)
		before := log.Count(wire.ToolsCall) + log.Count("response")
		for name, m := range map[string]wire.Message{
			"tampered":        p.once(wire.ToolsCall, params, with(back, "requestState", `"`+tampered+`"`)...),
			"cut":             p.once(wire.ToolsCall, params, with(back, "requestState", `"`+state[:20]+`"`)...),
			"made up":         p.once(wire.ToolsCall, params, with(back, "requestState", `"[]"`)...),
			"no string":       p.once(wire.ToolsCall, params, with(back, "requestState", `{"a":1}`)...),
			"other arguments": p.once(wire.ToolsCall, strings.Replace(params, `"times":2`, `"times":3`, 1), back...),
			"other tool":      p.once(wire.ToolsCall, strings.Replace(params, tool, "mcp_"+server+"_echo", 1), back...),
			"other method":    p.once(wire.PromptsGet, `{"name":"mcp_`+server+`_plain"}`, back...),
		} {
			if code, _ := wire.ErrorOf(m.Error); code != wire.CodeInvalidParams {
				t.Errorf("%s, %s: %s", server, name, m.Raw)
			}
		}
		if after := log.Count(wire.ToolsCall) + log.Count("response"); after != before || log.Count(wire.PromptsGet) != 0 {
			t.Errorf("%s: wrong states made %d requests: %s", server, after-before, log.Methods())
		}
		next := p.once(wire.ToolsCall, params, back...) // the right one is still good, once
		if wire.Get(next.Result, "requestState") == nil {
			t.Fatalf("%s: the second round is %s", server, next.Raw)
		}
		before = log.Count(wire.ToolsCall) + log.Count("response")
		if code, _ := wire.ErrorOf(p.once(wire.ToolsCall, params, back...).Error); code != wire.CodeInvalidParams {
			t.Errorf("%s: a state was used twice", server)
		}
		if after := log.Count(wire.ToolsCall) + log.Count("response"); after != before {
			t.Errorf("%s: a replayed state reached the server", server)
		}
		if m := p.once(wire.ToolsCall, params, p.respond(next.Result)...); strings.Count(got(m), "Ada") != 2 {
			t.Errorf("%s: in the end came %s", server, m.Raw)
		}
	}
}

// TestMissingResponsesAreAskedForAgain comes back without the answers, then with them.
func TestMissingResponsesAreAskedForAgain(t *testing.T) {
	servers, logs := statefulUpstreams(t)
	r := newRig(t, servers, Options{})
	for server := range logs {
		p := r.peer(wire.V20260728, allCapabilities, friendly)
		params := `{"name":"mcp_` + server + `_ask","arguments":{}}`
		m := p.once(wire.ToolsCall, params)
		for _, responses := range []string{``, `{}`, `{"unknown":{"action":"accept"}}`} {
			m = p.once(wire.ToolsCall, params, with(p.respond(m.Result), "inputResponses", responses)...)
			if wire.Get(m.Result, "inputRequests") == nil || wire.Get(m.Result, "requestState") == nil {
				t.Fatalf("%s, responses %q: %s", server, responses, m.Raw)
			}
		}
		if m = p.once(wire.ToolsCall, params, p.respond(m.Result)...); !strings.Contains(got(m), "Ada") {
			t.Errorf("%s: %s", server, m.Raw)
		}
	}
}

// TestTwoQuestionsAtOnce has a server ask two things in one call, of clients that answer each of them its own way.
func TestTwoQuestionsAtOnce(t *testing.T) {
	r := newRig(t, bothUpstreams(t), Options{})
	for _, client := range eras {
		for _, server := range []string{"session", "session-stdio", "stateless", "stateless-stdio"} {
			p := r.peer(client.version, allCapabilities, func(_ string, params []byte) answer {
				return answer{result: `{"action":"accept","content":{"to":` + string(wire.Get(params, "message")) + `}}`}
			})
			m := p.call("mcp_"+server+"_both", `{}`)
			if want := `[{"action":"accept","content":{"to":"first?"}},{"action":"accept","content":{"to":"last?"}}]`; got(m) != want {
				t.Errorf("%s client, %s server: %s", client.name, server, m.Raw)
			}
		}
	}
}

// TestQuestionTakenBack has a server cancel its own question: the client hears of it under the id that it knows.
func TestQuestionTakenBack(t *testing.T) {
	r := newRig(t, map[string]entry{"web": {"url": testmcp.HTTP(t, "well").URL}, "up": stdio("well")}, Options{})
	for _, server := range []string{"web", "up"} {
		p := r.peer(wire.V20251125, allCapabilities, friendly)
		s := streamOf(t, r.open(http.MethodPost, "/mcp", call("1", "mcp_"+server+"_withdraw", `{}`), p.session...))
		question := s.until(wire.ElicitationCreate)
		cancelled := s.until(wire.Cancelled)
		if id := wire.Get(cancelled.Params, "requestId"); string(id) != string(question.ID) || !strings.Contains(string(cancelled.Params), "never mind") {
			t.Errorf("%s: question %s was taken back with %s", server, question.ID, cancelled.Raw)
		}
		if m := s.answer(); !strings.Contains(string(m.Result), "withdrawn") {
			t.Errorf("%s: %s", server, m.Raw)
		}
		late := wire.AppendResult(nil, question.ID, []byte(`{"action":"accept"}`))
		if resp := r.post("/mcp", string(late), p.session...); resp.status != http.StatusAccepted {
			t.Errorf("%s: a late answer got HTTP %d", server, resp.status)
		}
		stateless := r.peer(wire.V20260728, allCapabilities, friendly)
		if m := stateless.call("mcp_"+server+"_withdraw", `{}`); !strings.Contains(string(m.Result), "withdrawn") {
			t.Errorf("%s, stateless client: %s", server, m.Raw)
		}
	}
}

// TestClientGoneMidQuestion leaves while a server waits for an answer: the server is told, and nothing is kept.
func TestClientGoneMidQuestion(t *testing.T) {
	for _, over := range []string{"stdio", "http"} {
		for _, version := range []string{wire.V20250618, wire.V20251125, wire.V20260728} {
			for _, way := range []string{"disconnects", "ends its session"} {
				t.Run(over+" "+version+" "+way, func(t *testing.T) { goneMidQuestion(t, over, version, way) })
			}
		}
	}
}

func goneMidQuestion(t *testing.T, over, version, way string) {
	up, log := logged(t, "well")
	if over == "stdio" {
		command, args, env, childLog := testmcp.LoggedCommand(t, "well")
		up, log = entry{"command": command, "args": args, "env": env}, childLog
	}
	r := newRig(t, map[string]entry{"up": up}, Options{})
	p := r.peer(version, allCapabilities, friendly)
	switch {
	case wire.Modern(version): // a call that is parked would outlive its request
		resp := p.open(wire.ToolsCall, `{"name":"mcp_up_progress","arguments":{"n":100000},"_meta":{"progressToken":"t"}}`)
		streamOf(t, resp).until(wire.Progress)
		resp.Body.Close()
	default:
		resp := r.open(http.MethodPost, "/mcp", call("1", "mcp_up_ask", `{}`), p.session...)
		streamOf(t, resp).until(wire.ElicitationCreate)
		if way == "disconnects" {
			resp.Body.Close()
		} else {
			r.do(http.MethodDelete, "/mcp", "", p.session...)
		}
	}
	log.WaitMessages(t, wire.Cancelled, 1)
}
