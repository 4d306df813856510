package front

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// questions are the kinds of things that a server asks a client, with the tool of the test server that asks.
var questions = []struct{ kind, tool, args, method, answer string }{
	{"elicitation form", "ask", `{"message":"who?"}`, wire.ElicitationCreate, `{"action":"accept","content":{"name":"Ada","n":9007199254740993}}`},
	{"elicitation url", "ask", `{"message":"who?","mode":"url"}`, wire.ElicitationCreate, `{"action":"accept","content":{"name":"Ada","n":9007199254740993}}`},
	{"sampling", "sample", `{}`, wire.SamplingCreate, `{"role":"assistant","model":"m","content":{"type":"text","text":"Paris"}}`},
	{"roots", "roots", `{}`, wire.RootsList, `{"roots":[{"uri":"file:///work","name":"work"}]}`},
}

// eras are the protocol eras by the version that stands for each.
var eras = []struct{ name, version string }{{"session", wire.V20251125}, {"stateless", wire.V20260728}}

// bothUpstreams are servers of both eras over both transports.
func bothUpstreams(t *testing.T) map[string]entry {
	return map[string]entry{
		"session": {"url": testmcp.HTTP(t, "well").URL}, "session-stdio": stdio("well"),
		"stateless": {"url": testmcp.HTTP(t, "modern-only").URL}, "stateless-stdio": stdio("modern-only"),
	}
}

// TestEraBridge has every kind of server ask every kind of client everything that can be asked.
func TestEraBridge(t *testing.T) {
	r := newRig(t, bothUpstreams(t), Options{})
	table := []string{fmt.Sprintf("%-28s", "client → server")}
	for _, q := range questions {
		table[0] += fmt.Sprintf(" %-17s", q.kind)
	}
	for _, client := range eras {
		for _, server := range []string{"session", "session-stdio", "stateless", "stateless-stdio"} {
			row := fmt.Sprintf("%-28s", client.name+" → "+server)
			for _, q := range questions {
				p := r.peer(client.version, allCapabilities, friendly)
				m := p.call("mcp_"+server+"_"+q.tool, q.args)
				mark := "ok"
				if got(m) != "["+q.answer+"]" || strings.Join(p.asked, " ") != q.method {
					mark = "WRONG"
					t.Errorf("%s client, %s server, %s: asked %q, answered %s", client.name, server, q.kind, p.asked, m.Raw)
				}
				row += fmt.Sprintf(" %-17s", mark)
			}
			table = append(table, row)
		}
	}
	t.Log("\n" + strings.Join(table, "\n"))
}

// TestSeveralRounds has a server ask three times in one call; what it hears is in the order of its questions.
func TestSeveralRounds(t *testing.T) {
	r := newRig(t, bothUpstreams(t), Options{})
	for _, client := range eras {
		for _, server := range []string{"session", "session-stdio", "stateless", "stateless-stdio"} {
			n := 0
			p := r.peer(client.version, allCapabilities, func(string, []byte) answer {
				n++
				return answer{result: fmt.Sprintf(`{"action":"accept","content":{"name":"%d"}}`, n)}
			})
			m := p.call("mcp_"+server+"_ask", `{"times":3}`)
			if want := `[{"action":"accept","content":{"name":"1"}},{"action":"accept","content":{"name":"2"}},{"action":"accept","content":{"name":"3"}}]`; got(m) != want {
				t.Errorf("%s client, %s server: %s", client.name, server, m.Raw)
			}
		}
	}
}

// TestClientSaysNo passes on what a client says that will not: it is the server's to deal with.
func TestClientSaysNo(t *testing.T) {
	r := newRig(t, bothUpstreams(t), Options{})
	for _, client := range eras {
		for _, server := range []string{"session", "session-stdio", "stateless", "stateless-stdio"} {
			for _, action := range []string{"decline", "cancel"} {
				p := r.peer(client.version, allCapabilities, func(string, []byte) answer { return answer{result: `{"action":"` + action + `"}`} })
				if m := p.call("mcp_"+server+"_ask", `{}`); got(m) != `[{"action":"`+action+`"}]` {
					t.Errorf("%s client, %s server, %s: %s", client.name, server, action, m.Raw)
				}
			}
		}
	}
	// Only sessions have errors as answers.
	p := r.peer(wire.V20251125, allCapabilities, func(string, []byte) answer { return answer{fault: `{"code":-1,"message":"user rejected"}`} })
	for _, server := range []string{"session", "session-stdio", "stateless"} {
		if m := p.call("mcp_"+server+"_sample", `{}`); !strings.Contains(string(m.Raw), "user rejected") {
			t.Errorf("%s: %s", server, m.Raw)
		}
	}
}

// TestB126 has servers ask clients that cannot answer. The servers hear a plain no, and nothing hangs.
func TestB126(t *testing.T) {
	r := newRig(t, bothUpstreams(t), Options{})
	for _, client := range eras {
		for _, server := range []string{"session", "session-stdio"} {
			for tool, want := range map[string]string{"ask": `[{"action":"decline"}]`, "roots": `[{"roots":[]}]`, "sample": "not supported"} {
				p := r.peer(client.version, `{}`, friendly)
				if m := p.call("mcp_"+server+"_"+tool, `{}`); !strings.Contains(string(m.Result), strings.ReplaceAll(want, `"`, `\"`)) || p.asked != nil {
					t.Errorf("%s client, %s server, %s: asked %q, %s", client.name, server, tool, p.asked, m.Raw)
				}
			}
		}
		// A form is all that this client can show.
		p := r.peer(client.version, `{"elicitation":{}}`, friendly)
		if m := p.call("mcp_session_ask", `{"mode":"url"}`); !strings.Contains(got(m), "decline") || p.asked != nil {
			t.Errorf("%s client: asked %q, %s", client.name, p.asked, m.Raw)
		}
	}
}

// TestB127 looks at what servers are told that the calling client can do.
func TestB127(t *testing.T) {
	own := stdio("well")
	own["session"] = "client"
	r := newRig(t, map[string]entry{"modern": {"url": testmcp.HTTP(t, "modern-only").URL}, "own": own}, Options{})
	for _, client := range eras {
		for _, server := range []string{"modern", "own"} {
			for _, caps := range []string{`{}`, `{"elicitation":{}}`, `{"sampling":{"tools":{}},"x-future":{"n":1}}`} {
				m := r.peer(client.version, caps, friendly).call("mcp_"+server+"_whoami", `{}`)
				if told := string(wire.Path(m.Result, "structuredContent", "capabilities")); told != caps {
					t.Errorf("%s client with %s: server %s was told %s", client.name, caps, server, told)
				}
			}
		}
		// A server that is told so does not ask.
		p := r.peer(client.version, `{}`, friendly)
		if m := p.call("mcp_modern_ask", `{}`); !strings.Contains(string(m.Result), "no capability elicitation") {
			t.Errorf("%s client: %s", client.name, m.Raw)
		}
	}
}
