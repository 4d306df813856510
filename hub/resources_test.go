package hub

import (
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// askModern sends one request of a stateless client.
func askModern(t testing.TB, h *Hub, method, params string) Answer {
	t.Helper()
	return serve(t, h, &Client{Version: wire.V20260728}, method, params)
}

// shelf is a server with these replies.
func shelf(t testing.TB, replies testmcp.Replies) entry { return stdio(replies.Name(t)) }

// member lists one member of the items of a list.
func member(t testing.TB, h *Hub, method, list, key string) []string {
	t.Helper()
	var all []string
	for item := range wire.Elements(wire.Get(ask(t, h, "", method, "{}").Result, list)) {
		all = append(all, wire.String(wire.Get(item, key)))
	}
	return all
}

func uris(t testing.TB, h *Hub) []string {
	return member(t, h, wire.ResourcesList, "resources", "uri")
}

// read returns the first content of a resource: its URI and its text, or the error.
func read(t testing.TB, h *Hub, uri string) (published, text string) {
	t.Helper()
	got := ask(t, h, "", wire.ResourcesRead, `{"uri":`+string(wire.Quote(uri))+`}`)
	if got.Error != nil {
		return "", string(got.Error)
	}
	for content := range wire.Elements(wire.Get(got.Result, "contents")) {
		return wire.String(wire.Get(content, "uri")), wire.String(wire.Get(content, "text"))
	}
	return "", ""
}

func notes(who, uri string) testmcp.Replies {
	return testmcp.Replies{
		"resources/list":                    `{"resources":[{"uri":"` + uri + `","name":"n","x":1e2},{"uri":"` + who + `://only","name":"o"}]}`,
		"resources/templates/list":          `{"resourceTemplates":[{"uriTemplate":"file:///{path}","name":"t"}]}`,
		"resources/read " + uri:             `{"contents":[{"uri":"` + uri + `","text":"` + who + `'s"}]}`,
		"resources/read " + who + "://only": `{"contents":[{"uri":"` + who + `://only","text":"only ` + who + `'s"}]}`,
		"resources/read file:///a%20b":      `{"contents":[{"uri":"file:///a%20b","text":"` + who + `'s file"}]}`,
	}
}

// TestSameURITwice has two servers with one URI: both can be read, the later under the hub's URI for it.
func TestSameURITwice(t *testing.T) {
	h := settled(t, nil, "a", shelf(t, notes("a", "test://same")), "b", shelf(t, notes("b", "test://same")))
	moved := "mcphub://b/test:%2F%2Fsame"
	if got := strings.Join(uris(t, h), " "); got != "test://same a://only "+moved+" b://only" {
		t.Errorf("the list has %s", got)
	}
	for uri, want := range map[string][2]string{
		"test://same": {"test://same", "a's"}, moved: {moved, "b's"}, "a://only": {"a://only", "only a's"},
		"mcphub://a/test:%2F%2Fsame": {"test://same", "a's"}, "mcphub://a/test%3A%2F%2Fsame": {"test://same", "a's"},
		"mcphub://b/b:%2F%2Fonly": {"b://only", "only b's"},
	} {
		if published, text := read(t, h, uri); published != want[0] || text != want[1] {
			t.Errorf("%s: read %s, %s", uri, published, text)
		}
	}
	if raw := ask(t, h, "", wire.ResourcesList, "{}").Result; !strings.Contains(string(raw), `"x":1e2`) {
		t.Errorf("fields are lost: %s", raw)
	}
	if notes := strings.Join(notesOf(h, "b"), "\n"); !strings.Contains(notes, moved) {
		t.Errorf("the notes of b do not say so: %s", notes)
	}
}

// TestQualifiedFormIsItsServers has a server list what can only mean another's resources, or look like its own.
func TestQualifiedFormIsItsServers(t *testing.T) {
	const hijack, page, self = "mcphub://b/b:%2F%2Fonly", "ui://mcphub/b/ui:%2F%2Fp", "mcphub://a/x:1"
	a := shelf(t, testmcp.Replies{
		"resources/list":           `{"resources":[{"uri":"` + hijack + `","name":"n"},{"uri":"` + self + `","name":"n"},{"uri":"mcphub://nobody/x","name":"n"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"mcphub://b/{x}","name":"n"},{"uriTemplate":"{+all}","name":"n"}]}`,
		"tools/list":               `{"tools":[{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"` + page + `"}}}]}`,
		"resources/read " + hijack: `{"contents":[{"uri":"` + hijack + `","text":"a's"}]}`, "resources/read " + page: `{"contents":[{"uri":"` + page + `","text":"a's page"}]}`,
		"resources/read " + self: `{"contents":[{"uri":"` + self + `","text":"a's own"}]}`,
		"tools/call":             `{"content":[{"type":"resource_link","uri":"` + hijack + `","name":"n"},{"type":"resource_link","uri":"mcphub://b/unlisted","name":"n"}]}`,
	})
	h := settled(t, nil, "a", a, "b", shelf(t, notes("b", "test://same")))
	moved, movedPage, movedSelf := qualified("a", hijack), "ui://mcphub/a/ui:%2F%2Fmcphub%2Fb%2Fui:%252F%252Fp", qualified("a", self)
	if got := strings.Join(uris(t, h), " "); got != moved+" "+movedSelf+" mcphub://nobody/x test://same b://only" {
		t.Errorf("the resources are %s", got)
	}
	if got := strings.Join(member(t, h, wire.ResourceTemplates, "resourceTemplates", "uriTemplate"), " "); got != "mcphub://a/mcphub:%2F%2Fb%2F{x} {+all} file:///{path}" {
		t.Errorf("the templates are %s", got)
	}
	for uri, want := range map[string][2]string{hijack: {"b://only", "only b's"}, moved: {moved, "a's"}, movedPage: {movedPage, "a's page"}, movedSelf: {movedSelf, "a's own"}} {
		if published, text := read(t, h, uri); published != want[0] || text != want[1] {
			t.Errorf("%s: read %s, %s", uri, published, text)
		}
	}
	result := string(ask(t, h, "", wire.ToolsCall, `{"name":"mcp_a_show"}`).Result)
	if !strings.Contains(result, `"`+moved+`"`) || !strings.Contains(result, `"`+qualified("a", "mcphub://b/unlisted")+`"`) {
		t.Errorf("a's links are %s", result)
	}
	if notes := strings.Join(notesOf(h, "a"), "\n"); !strings.Contains(notes, moved+`: that form means resources of server "b"`) {
		t.Errorf("the notes of a do not say so: %s", notes)
	}
}

// TestB118 has two servers with one template and different contents.
func TestB118(t *testing.T) {
	h := settled(t, nil, "a", shelf(t, notes("a", "a://x")), "b", shelf(t, notes("b", "b://x")))
	templates := member(t, h, wire.ResourceTemplates, "resourceTemplates", "uriTemplate")
	if strings.Join(templates, " ") != "file:///{path} mcphub://b/file:%2F%2F%2F{path}" {
		t.Fatalf("the templates are %q", templates)
	}
	for i, who := range []string{"a", "b"} {
		uri := strings.Replace(templates[i], "{path}", "a%20b", 1) // as a client fills in "a b"
		published, text := read(t, h, uri)
		if text != who+"'s file" {
			t.Errorf("%s: read %s", uri, text)
		}
		if _, again := read(t, h, published); again != text {
			t.Errorf("%s says it is %s, which reads %s", uri, published, again)
		}
	}
	for own, want := range map[string]string{"x{/p*}{?q,r}": "mcphub://s/x{/p*}{?q,r}", "a b/{+p}/c": "mcphub://s/a%20b%2F{+p}%2Fc"} {
		if got := qualifiedTemplate("s", own); got != want {
			t.Errorf("%s is published as %s, want %s", own, got, want)
		}
	}
}

// TestValuesOfMovedTemplates fills in templates that collide: the server gets the values as the client escaped them.
// What it lists reaches it as it lists it, however its qualified form was escaped.
func TestValuesOfMovedTemplates(t *testing.T) {
	replies := func(who string) testmcp.Replies {
		all := testmcp.Replies{
			"resources/list": `{"resources":[{"uri":"file:///é ü","name":"n"}]}`,
			"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"tpl://{` + who + `}","name":"t"},{"uriTemplate":"q://x{?a,b}","name":"q"},` +
				`{"uriTemplate":"r://{+rest}","name":"r"},{"uriTemplate":"two://{a}/in/{b}.md","name":"2"},{"uriTemplate":"skill://{name}/SKILL.md","name":"s"},{"uriTemplate":"ui://app/{x}","name":"u"}]}`,
		}
		for _, own := range []string{"file:///é ü", "tpl://a%2Fb", "tpl://100%25", "tpl://é", "q://x?a=1%262&b=%C3%BC", "r://a/b?c#d", "two://a%2Fb/in/c%20d.md", "skill://foo/SKILL.md", "ui://app/1", "unl:%C3%BC", "unl:a%2Fb"} {
			all["resources/read "+own] = `{"contents":[{"uri":"` + own + `","text":"` + who + " " + own + `"}]}`
		}
		return all
	}
	h := settled(t, nil, "a", shelf(t, replies("a")), "b", shelf(t, replies("b")))
	const shown = "mcphub://b/tpl:%2F%2F{b} mcphub://b/q:%2F%2Fx{?a,b} mcphub://b/r:%2F%2F{+rest} mcphub://b/two:%2F%2F{a}%2Fin%2F{b}.md" +
		" skill://mcphub/b/skill:%2F%2F{name}%2FSKILL.md ui://mcphub/b/ui:%2F%2Fapp%2F{x}"
	if got := strings.Join(member(t, h, wire.ResourceTemplates, "resourceTemplates", "uriTemplate"), " "); !strings.HasSuffix(got, " "+shown) {
		t.Errorf("the templates are %s", got)
	}
	const listed = "mcphub://b/file:%2F%2F%2F%C3%A9%20%C3%BC"
	for uri, want := range map[string][2]string{ // published, read by b
		"mcphub://b/tpl:%2F%2Fa%2Fb":                  {"", "tpl://a%2Fb"},
		"mcphub://b/tpl%3A%2F%2Fa%252Fb":              {"mcphub://b/tpl:%2F%2Fa%2Fb", "tpl://a%2Fb"}, // escaped whole
		"mcphub://b/tpl:%2F%2F100%25":                 {"", "tpl://100%25"},
		"mcphub://b/q:%2F%2Fx?a=1%262&b=%C3%BC":       {"", "q://x?a=1%262&b=%C3%BC"},
		"mcphub://b/r:%2F%2Fa/b?c#d":                  {"", "r://a/b?c#d"},
		"mcphub://b/two:%2F%2Fa%2Fb%2Fin%2Fc%20d.md":  {"", "two://a%2Fb/in/c%20d.md"},
		"skill://mcphub/b/skill:%2F%2Ffoo%2FSKILL.md": {"", "skill://foo/SKILL.md"},
		"mcphub://b/skill:%2F%2Ffoo%2FSKILL.md":       {"skill://mcphub/b/skill:%2F%2Ffoo%2FSKILL.md", "skill://foo/SKILL.md"},
		"ui://mcphub/b/ui:%2F%2Fapp%2F1":              {"", "ui://app/1"},
		listed:                                        {"", "file:///é ü"},
		"mcphub://b/file%3A%2F%2F%2F%C3%A9%20%C3%BC":  {listed, "file:///é ü"},
		"mcphub://b/file:///é ü":                      {listed, "file:///é ü"},
		"mcphub://b/unl:ü":                            {"mcphub://b/unl:%25C3%25BC", "unl:%C3%BC"},
		"mcphub://b/unl:a%252Fb":                      {"", "unl:a%2Fb"},
	} {
		if want[0] == "" {
			want[0] = uri
		}
		published, text := read(t, h, uri)
		if published != want[0] || text != "b "+want[1] {
			t.Errorf("%s: read %s, %s", uri, published, text)
		}
		if _, again := read(t, h, published); again != text {
			t.Errorf("%s says it is %s, which reads %s", uri, published, again)
		}
	}
	if published, text := read(t, h, "tpl://a%2Fb"); published != "tpl://a%2Fb" || text != "a tpl://a%2Fb" {
		t.Errorf("a's own: %s, %s", published, text)
	}
	for mention, want := range map[string]string{"@mcp:b/tpl://é": "b tpl://é", "@mcp:b/tpl://a%2Fb": "b tpl://a%2Fb"} {
		if got := promptText(ask(t, h, "", wire.PromptsGet, `{"name":"mcp_inline","arguments":{"text":"`+mention+`"}}`)); got != want {
			t.Errorf("%s became %s", mention, got)
		}
	}
}

// TestB121 has a server list one URI as a resource and as a template. The hub passes both on, once each.
func TestB121(t *testing.T) {
	h := settled(t, nil, "a", shelf(t, testmcp.Replies{
		"resources/list":           `{"resources":[{"uri":"test://s","name":"s"},{"uri":"test://s","name":"twice"},{"name":"none"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"test://s","name":"s"},{"uriTemplate":"test://s","name":"twice"}]}`,
	}))
	if got := uris(t, h); len(got) != 1 {
		t.Errorf("the resources are %q", got)
	}
	if got := member(t, h, wire.ResourceTemplates, "resourceTemplates", "uriTemplate"); len(got) != 1 {
		t.Errorf("the templates are %q", got)
	}
	if got := len(notesOf(h, "a")); got != 2 {
		t.Errorf("%d notes: %q", got, notesOf(h, "a"))
	}
}

// TestResultsNamePublishedURIs looks at links, embedded resources, prompts and _meta of a server whose resources
// had to be moved, and of one that need not.
func TestResultsNamePublishedURIs(t *testing.T) {
	replies := testmcp.Replies{
		"resources/list": `{"resources":[{"uri":"test://same","name":"n"},{"uri":"ui://page","name":"p"}]}`,
		"tools/list":     `{"tools":[{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://page","visibility":["model"]},"ui/resourceUri":"ui://page","openai/outputTemplate":"ui://unlisted"}}]}`,
		"tools/call": `{"content":[{"type":"resource_link","uri":"test://same","name":"n"},{"type":"resource","resource":{"uri":"test://same","text":"t"}},` +
			`{"type":"resource_link","uri":"https://example.com","name":"w"},{"type":"resource_link","uri":"test://nobody's","name":"u"},{"type":"text","text":"test://same"}],"_meta":{"ui":{"resourceUri":"ui://page"}}}`,
		"prompts/get plain":        `{"messages":[{"role":"user","content":{"type":"resource","resource":{"uri":"test://same","text":"t"}}},{"role":"user","content":{"type":"text","text":"x"}}]}`,
		"resources/read ui://page": `{"contents":[{"uri":"ui://page","text":"page"}]}`, "resources/read ui://unlisted": `{"contents":[{"uri":"ui://unlisted","text":"hidden"}]}`,
		"resources/read test://nobody's": `{"contents":[{"uri":"test://nobody's","text":"found"}]}`,
	}
	h := settled(t, nil, "a", shelf(t, replies), "b", shelf(t, replies))
	_, byName := tools(t, h)
	const page, hidden = "ui://mcphub/b/ui:%2F%2Fpage", "ui://mcphub/b/ui:%2F%2Funlisted"
	for server, want := range map[string]string{
		"a": `{"ui":{"resourceUri":"ui://page","visibility":["model"]},"ui/resourceUri":"ui://page","openai/outputTemplate":"ui://unlisted"}`,
		"b": `{"ui":{"resourceUri":"` + page + `","visibility":["model"]},"ui/resourceUri":"` + page + `","openai/outputTemplate":"` + hidden + `"}`,
	} {
		if got := string(wire.Get(byName["mcp_"+server+"_show"], "_meta")); got != want {
			t.Errorf("%s: the tool's _meta is %s", server, got)
		}
	}
	for uri, want := range map[string]string{"ui://page": "page", page: "page", hidden: "hidden", "ui://unlisted": "hidden"} {
		if published, text := read(t, h, uri); text != want || published != uri {
			t.Errorf("%s: read %s, %s", uri, published, text)
		}
	}
	result := string(ask(t, h, "", wire.ToolsCall, `{"name":"mcp_b_show"}`).Result)
	for want, n := range map[string]int{`"uri":"mcphub://b/test:%2F%2Fsame"`: 2, `"uri":"https://example.com"`: 1, `"text":"test://same"`: 1, `"resourceUri":"` + page + `"`: 1, "mcphub://b/test:%2F%2Fnobody%27s": 1} {
		if strings.Count(result, want) != n {
			t.Errorf("%d times %s, want %d, in %s", strings.Count(result, want), want, n, result)
		}
	}
	if _, text := read(t, h, "mcphub://b/test:%2F%2Fnobody%27s"); text != "found" {
		t.Errorf("the link that b alone knows reads %s", text)
	}
	if got := string(ask(t, h, "", wire.ToolsCall, `{"name":"mcp_a_show"}`).Result); strings.Contains(got, "mcphub://a/test:%2F%2Fsame") || strings.Contains(got, "ui://mcphub") {
		t.Errorf("a's own URIs are moved: %s", got)
	}
	if got := string(ask(t, h, "", wire.PromptsGet, `{"name":"mcp_b_plain"}`).Result); !strings.Contains(got, `"resource":{"uri":"mcphub://b/test:%2F%2Fsame","text":"t"}`) {
		t.Errorf("the prompt is %s", got)
	}
}

// TestDefinitionsAndTasksNamePublishedURIs looks where else a server names what had to be moved: in definitions, in the
// _meta of blocks, in the result of a task.
func TestDefinitionsAndTasksNamePublishedURIs(t *testing.T) {
	const meta = `"_meta":{"ui":{"resourceUri":"ui://page"},"ui/resourceUri":"ui://page"}`
	replies := testmcp.Replies{
		"resources/list":           `{"resources":[{"uri":"ui://page","name":"p"},{"uri":"test://same","name":"n",` + meta + `}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"t:{x}","name":"t",` + meta + `}]}`,
		"prompts/list":             `{"prompts":[{"name":"p",` + meta + `}]}`,
		"tools/list":               `{"tools":[{"name":"show","inputSchema":{"type":"object"}}]}`,
		"tools/call": `{"content":[{"type":"resource_link","uri":"test://same","name":"n",` + meta + `},` +
			`{"type":"resource","resource":{"uri":"test://same","text":"t",` + meta + `}}],"task":{"taskId":"t1"}}`,
		"tasks/get": `{"taskId":"t1","status":"completed","result":{"content":[{"type":"resource_link","uri":"test://same","name":"n"}],` + meta + `}}`,
	}
	h := settled(t, nil, "a", shelf(t, testmcp.Replies{"resources/list": replies["resources/list"]}), "b", shelf(t, replies))
	for what, c := range map[string]struct {
		method, params string
		moved          int // URIs, each of which b has under the hub's name for it
	}{
		"resources": {wire.ResourcesList, "{}", 4}, "templates": {wire.ResourceTemplates, "{}", 2}, "prompts": {wire.PromptsList, "{}", 2},
		"a call": {wire.ToolsCall, `{"name":"mcp_b_show"}`, 6}, "a task": {"tasks/get", `{"taskId":"t1"}`, 3},
	} {
		if c.method == "tasks/get" {
			ask(t, h, "", wire.ToolsCall, `{"name":"mcp_b_show"}`) // so that the hub knows whose the task is
		}
		got := ask(t, h, "", c.method, c.params)
		text := string(got.Result)
		if n := strings.Count(text, `"ui://mcphub/b/ui:%2F%2Fpage"`) + strings.Count(text, `"mcphub://b/test:%2F%2Fsame"`); n != c.moved {
			t.Errorf("%s: %d URIs of b, want %d: %s %s", what, n, c.moved, text, got.Error)
		}
	}
	if text := string(ask(t, h, "", wire.ResourcesList, "{}").Result); strings.Count(text, `"ui://page"`) != 3 {
		t.Errorf("a's own: %s", text)
	}
}

// TestPageOfAServerWithoutResources collides with the page of the only server that has resources.
func TestPageOfAServerWithoutResources(t *testing.T) {
	show := `{"tools":[{"name":"show","inputSchema":{"type":"object"},"_meta":{"ui":{"resourceUri":"ui://p"}}}]}`
	h := settled(t, nil, "cap", shelf(t, testmcp.Replies{"resources/list": `{"resources":[{"uri":"ui://p","name":"n"}]}`}),
		"nocap", shelf(t, testmcp.Replies{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}`,
			"tools/list": show, "tools/call": `{"content":[{"type":"resource_link","uri":"ui://p","name":"n"}],"_meta":{"ui":{"resourceUri":"ui://p"}}}`,
		}))
	const moved = `"ui://mcphub/nocap/ui:%2F%2Fp"`
	_, byName := tools(t, h)
	if got := string(wire.Path(byName["mcp_nocap_show"], "_meta", "ui", "resourceUri")); got != moved {
		t.Errorf("the tool's page is %s", got)
	}
	if got := string(ask(t, h, "", wire.ToolsCall, `{"name":"mcp_nocap_show"}`).Result); strings.Count(got, moved) != 2 {
		t.Errorf("the result is %s", got)
	}
}

// TestUnknownResource has every era of client ask servers of every era, and the hub itself.
func TestUnknownResource(t *testing.T) {
	for _, servers := range [][]any{{"old", stdio("well")}, {"new", stdio("modern-only")}, {"old", stdio("well"), "new", stdio("modern-only")}} {
		h := settled(t, nil, servers...)
		for _, uri := range []string{"test://nowhere", "mcphub://" + servers[0].(string) + "/test:%2F%2Fnowhere"} {
			params := `{"uri":"` + uri + `"}`
			for era, got := range map[string]Answer{"session": ask(t, h, "", wire.ResourcesRead, params), "stateless": askModern(t, h, wire.ResourcesRead, params)} {
				code, _ := wire.ErrorOf(got.Error)
				if want := map[string]int{"session": -32002, "stateless": -32602}[era]; code != want || !strings.HasSuffix(wire.String(wire.Path(got.Error, "data", "uri")), "nowhere") {
					t.Errorf("%v, %s client, %s: %s %s", servers[0], era, uri, got.Error, got.Result)
				}
			}
		}
	}
}

// TestResourceTools has a model without resources read them by tools.
func TestResourceTools(t *testing.T) {
	h := settled(t, nil, "a", shelf(t, notes("a", "test://same")), "b", shelf(t, notes("b", "test://same")))
	list := wire.String(wire.Path(firstContent(ask(t, h, "", wire.ToolsCall, `{"name":"mcp_list_resources"}`)), "text"))
	for _, want := range []string{"test://same\tn\t(a)", "mcphub://b/test:%2F%2Fsame\tn\t(b)", "file:///{path}\tt\t(a)", "mcphub://b/file:%2F%2F%2F{path}\tt\t(b)"} {
		if !strings.Contains(list, want+"\n") {
			t.Errorf("mcp_list_resources lacks %q: %s", want, list)
		}
	}
	if got := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_list_resources","arguments":{"server":"b"}}`); strings.Contains(string(got.Result), "(a)") || !strings.Contains(string(got.Result), "(b)") {
		t.Errorf("of b alone: %s", got.Result)
	}
	if got := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_list_resources","arguments":{"server":"c"}}`); string(wire.Get(got.Result, "isError")) != "true" || !strings.Contains(string(got.Result), "a, b") {
		t.Errorf("of a server that is none: %s", got.Result)
	}
	got := askModern(t, h, wire.ToolsCall, `{"name":"mcp_read_resource","arguments":{"uri":"mcphub://b/test:%2F%2Fsame"}}`)
	if string(firstContent(got)) != `{"type":"resource","resource":{"uri":"mcphub://b/test:%2F%2Fsame","text":"b's"}}` || string(wire.Get(got.Result, "resultType")) != `"complete"` {
		t.Errorf("mcp_read_resource: %s %s", got.Result, got.Error)
	}
	for _, uri := range []string{"none://x", "mcphub://a/none:x", ""} {
		if got := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_read_resource","arguments":{"uri":"`+uri+`"}}`); string(wire.Get(got.Result, "isError")) != "true" {
			t.Errorf("reading %q: %s %s", uri, got.Result, got.Error)
		}
	}
	for setting, want := range map[string][2]bool{"auto": {true, false}, "true": {true, true}, "false": {false, false}} {
		with := settled(t, map[string]any{"resourceTools": setting}, "up", stdio("well"))
		without := settled(t, map[string]any{"resourceTools": setting}, "up", stdio("only-tools"))
		for i, h := range []*Hub{with, without} {
			if there := strings.Contains(string(ask(t, h, "", wire.ToolsList, "{}").Result), "mcp_read_resource"); there != want[i] {
				t.Errorf("resourceTools %s, server %d: listed is %v", setting, i, there)
			}
		}
	}
}

// firstContent is the first content block of a tool's result.
func firstContent(a Answer) []byte {
	for block := range wire.Elements(wire.Get(a.Result, "content")) {
		return block
	}
	return nil
}
