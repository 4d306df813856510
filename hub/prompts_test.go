package hub

import (
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

func prompts(t testing.TB, h *Hub) []string {
	return member(t, h, wire.PromptsList, "prompts", "name")
}

// promptText is the text of a prompt's first message.
func promptText(a Answer) string {
	for message := range wire.Elements(wire.Get(a.Result, "messages")) {
		return wire.String(wire.Path(message, "content", "text"))
	}
	return string(a.Error)
}

// TestB122 has two servers with prompts.
func TestB122(t *testing.T) {
	h := settled(t, nil, "a", stdio("well"), "b", stdio("modern-only"))
	greeting := ask(t, h, "", wire.Initialize, `{"protocolVersion":"2025-11-25"}`)
	if string(wire.Path(greeting.Result, "capabilities", "prompts")) != `{"listChanged":true}` {
		t.Errorf("initialize: %s", greeting.Result)
	}
	if got := strings.Join(prompts(t, h), " "); got != "mcp_a_greet mcp_a_plain mcp_b_greet mcp_b_plain mcp_inline" {
		t.Errorf("the prompts are %s", got)
	}
	for _, server := range []string{"a", "b"} {
		params := `{"name":"mcp_` + server + `_greet","arguments":{"name":"Ada"}}`
		if got := promptText(ask(t, h, "", wire.PromptsGet, params)); got != "Greet Ada." {
			t.Errorf("%s: %s", server, got)
		}
		if got := askModern(t, h, wire.PromptsGet, params); promptText(got) != "Greet Ada." || string(wire.Get(got.Result, "resultType")) != `"complete"` {
			t.Errorf("%s, stateless client: %s %s", server, got.Result, got.Error)
		}
	}
	if got := ask(t, h, "", wire.PromptsGet, `{"name":"greet"}`); !strings.Contains(string(got.Error), "-32602") {
		t.Errorf("an unpublished name: %s %s", got.Result, got.Error)
	}
}

// TestB123 has prompts whose names meet, also where they would under the hub's rules for names.
func TestB123(t *testing.T) {
	list := `{"prompts":[{"name":"documentation","_meta":{"n":1e2}},{"name":"documentation"},{"title":"none"},{"name":"a b"},{"name":"a_b"},{"name":"mcp_inline"}]}`
	of := func(who string) entry {
		e := shelf(t, testmcp.Replies{"prompts/list": list, "prompts/get": `{"messages":[{"role":"user","content":{"type":"text","text":"` + who + `"}}]}`})
		e["bareNames"] = true
		return e
	}
	h := settled(t, nil, "x", of("x"), "y", of("y"))
	names := prompts(t, h)
	seen := map[string]bool{}
	said := map[string]int{}
	for _, name := range names {
		if seen[name] {
			t.Errorf("%s is listed twice", name)
		}
		seen[name] = true
		said[promptText(ask(t, h, "", wire.PromptsGet, `{"name":"`+name+`","arguments":{"text":"inline"}}`))]++
	}
	if said["x"] != 4 || said["y"] != 4 || said["inline"] != 1 || len(names) != 9 {
		t.Errorf("%q answered %v", names, said)
	}
}

// TestB124 completes arguments of prompts and templates at the server that has them.
func TestB124(t *testing.T) {
	log := testmcp.FileLog(t)
	first := stdio("well")
	for k, v := range log.Env() {
		first["env"].(map[string]string)[k] = v
	}
	none := stdio(testmcp.Replies{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"prompts":{},"resources":{}},"serverInfo":{"name":"n","version":"1"}}`,
	}.Name(t))
	h := settled(t, nil, "a", first, "b", stdio("modern-only"), "none", none)
	for ref, want := range map[string]string{
		`{"type":"ref/prompt","name":"mcp_a_greet","title":"x"}`: `["Ada","Alan"]`, `{"type":"ref/prompt","name":"mcp_b_greet"}`: `["Ada","Alan"]`,
		`{"type":"ref/resource","uri":"test://words/{word}"}`:                        `["Ada","Alan"]`,
		`{"type":"ref/resource","uri":"mcphub://b/test:%2F%2Fwords%2F{word}"}`:       `["Ada","Alan"]`,
		`{"type":"ref/resource","uri":"mcphub://a/test:%2F%2Fwords%2F{word}"}`:       `["Ada","Alan"]`,
		`{"type":"ref/resource","uri":"mcphub://a/test%3A%2F%2Fwords%2F%7Bword%7D"}`: `["Ada","Alan"]`,
		`{"type":"ref/resource","uri":"mcphub://a/test:%2F%2Fhello.txt"}`:            `["Ada","Alan"]`,
		`{"type":"ref/prompt","name":"mcp_none_greet"}`:                              `[]`,
	} {
		for era, got := range map[string]Answer{
			"session":   ask(t, h, "", wire.CompletionComplete, `{"ref":`+ref+`,"argument":{"name":"name","value":"A"},"context":{"arguments":{"x":"y"}}}`),
			"stateless": askModern(t, h, wire.CompletionComplete, `{"ref":`+ref+`,"argument":{"name":"name","value":"A"}}`),
		} {
			if values := string(wire.Path(got.Result, "completion", "values")); values != want {
				t.Errorf("%s, %s: %s %s", era, ref, got.Result, got.Error)
			}
		}
	}
	for _, m := range log.Messages(wire.CompletionComplete) {
		if strings.Contains(m.Body, "mcp_a_greet") || strings.Contains(m.Body, "mcphub://") {
			t.Errorf("the server was asked under the hub's name: %s", m.Body)
		}
	}
	if n := log.Count(wire.CompletionComplete); n < 2 {
		t.Errorf("the owner was asked %d times", n)
	}
	for _, ref := range []string{`{"type":"ref/prompt","name":"greet"}`, `{"type":"ref/resource","uri":"no://x"}`, `{"type":"ref/resource","uri":"mcphub://a/no:x"}`, `{"type":"ref/odd"}`, `null`} {
		if got := ask(t, h, "", wire.CompletionComplete, `{"ref":`+ref+`,"argument":{"name":"n","value":""}}`); !strings.Contains(string(got.Error), "-32602") {
			t.Errorf("%s: %s %s", ref, got.Result, got.Error)
		}
	}
}

// TestCompletionOfOldServers asks servers of the first version, which had no capability for completion, and of the next.
func TestCompletionOfOldServers(t *testing.T) {
	of := func(version, also string) entry {
		return stdio(also + testmcp.Replies{
			"initialize": `{"protocolVersion":"` + version + `","capabilities":{"prompts":{},"resources":{}},"serverInfo":{"name":"n","version":"1"}}`,
		}.Name(t))
	}
	h := settled(t, nil, "first", of(wire.V20241105, ""), "lacks", of(wire.V20241105, "refuses:completion/complete+"), "next", of(wire.V20250326, ""))
	for server, want := range map[string]string{"first": `["Ada","Alan"]`, "lacks": `[]`, "next": `[]`} {
		got := ask(t, h, "", wire.CompletionComplete, `{"ref":{"type":"ref/prompt","name":"mcp_`+server+`_greet"},"argument":{"name":"name","value":"A"}}`)
		if values := string(wire.Path(got.Result, "completion", "values")); values != want {
			t.Errorf("%s: %s %s", server, got.Result, got.Error)
		}
	}
}

// TestInline puts resources in place of their mentions.
func TestInline(t *testing.T) {
	h := settled(t, nil, "a", shelf(t, notes("a", "test://same")), "b", shelf(t, notes("b", "test://same")), "well", stdio("well"),
		"down", entry{"command": "/does/not/exist"})
	for text, want := range map[string]string{
		"nothing to see": "nothing to see",
		"A: @mcp:a/test://same, B: @mcp:b/test://same.": "A: a's, B: b's.",
		"(@mcp:well/test://hello.txt)!":                 "(hello)!",
		"@mcp:well/test://words/hi?":                    "hi?",
		"mail me@mcp:x":                                 "mail me@mcp:x",
	} {
		got := promptText(ask(t, h, "", wire.PromptsGet, `{"name":"mcp_inline","arguments":{"text":`+string(wire.Quote(text))+`}}`))
		if got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
	for mention, why := range map[string]string{
		"@mcp:nobody/x://y": "no server of that name", "@mcp:well/test://nowhere": "not found", "@mcp:well/test://pixel.png": "no text", "@mcp:down/x://y": "not found",
	} {
		text := "before " + mention + " after @mcp:a/test://same"
		got := promptText(askModern(t, h, wire.PromptsGet, `{"name":"mcp_inline","arguments":{"text":"`+text+`"}}`))
		if !strings.HasPrefix(got, "before "+mention+" after a's\n\n[mcphub: not replaced: "+mention+": ") || !strings.Contains(got, why) {
			t.Errorf("%q became %q", text, got)
		}
	}
	many := strings.Repeat("@mcp:a/test://same ", inlineMost+1)
	if got := promptText(ask(t, h, "", wire.PromptsGet, `{"name":"mcp_inline","arguments":{"text":"`+many+`"}}`)); strings.Count(got, "a's ") != inlineMost || !strings.Contains(got, "may mention 32") {
		t.Errorf("%d mentions became %q", inlineMost+1, got)
	}
	for text, want := range map[string]string{
		"": `[]`, "see @mcp:": `["see @mcp:a/","see @mcp:b/","see @mcp:well/","see @mcp:down/"]`, "@mcp:w": `["@mcp:well/"]`, "@mcp:z": `[]`,
		"@mcp:b/": `["@mcp:b/test://same","@mcp:b/b://only"]`, "@mcp:a/x @mcp:well/test://h": `["@mcp:a/x @mcp:well/test://hello.txt"]`,
	} {
		got := ask(t, h, "", wire.CompletionComplete, `{"ref":{"type":"ref/prompt","name":"mcp_inline"},"argument":{"name":"text","value":"`+text+`"}}`)
		if values := string(wire.Path(got.Result, "completion", "values")); values != want {
			t.Errorf("%q is completed by %s", text, values)
		}
	}
}

// TestRequestsWaitForServersThatStart asks a hub that has just been started for what only its server can answer.
func TestRequestsWaitForServersThatStart(t *testing.T) {
	slow := stdio("slow-initialize:200+" + testmcp.Replies{
		"initialize":     `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{},"tasks":{"list":{}}},"serverInfo":{"name":"n","version":"1"}}`,
		"resources/list": `{"resources":[{"uri":"x:1","name":"n"}]}`, "resources/read x:1": `{"contents":[{"uri":"x:1","text":"found"}]}`,
		"vendor/x": `{"found":1}`, "tasks/list": `{"tasks":["found"]}`,
		"completion/complete": `{"completion":{"values":["found"]}}`,
	}.Name(t))
	slow["startupTimeoutMs"] = 0
	for _, c := range [][2]string{
		{wire.ToolsCall, `{"name":"mcp_list_resources"}`}, {wire.ToolsCall, `{"name":"mcp_read_resource","arguments":{"uri":"x:1"}}`},
		{wire.CompletionComplete, `{"ref":{"type":"ref/prompt","name":"mcp_slow_greet"},"argument":{"name":"name","value":""}}`},
		{wire.CompletionComplete, `{"ref":{"type":"ref/resource","uri":"x:1"},"argument":{"name":"name","value":""}}`},
		{"vendor/x", `{}`}, {"tasks/list", `{}`},
	} {
		h := start(t, nil, "slow", slow)
		if got := ask(t, h, "", c[0], c[1]); !strings.Contains(string(got.Result), "found") && !strings.Contains(string(got.Result), "x:1") {
			t.Errorf("%s %s: %s %s", c[0], c[1], got.Result, got.Error)
		}
	}
	h := start(t, nil, "fast", stdio("well"), "slow", slow)
	<-h.Servers()[0].Settled()
	if got := ask(t, h, "", "vendor/x", `{}`); !strings.Contains(string(got.Error), "several servers") {
		t.Errorf("the owner is guessed: %s %s", got.Result, got.Error)
	}
}
