package hub

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// odd is a server with these tools as they stand.
func odd(t *testing.T, tools ...string) entry {
	var s testmcp.Script
	for _, raw := range tools {
		s.Tools = append(s.Tools, []byte(raw))
	}
	return stdio(s.Name(t))
}

// TestWhy asks one hub for tools that have met every fate there is.
func TestWhy(t *testing.T) {
	up := offering(t, "get", "delete_all", "search", "repo/create", "old")
	up["includeTools"] = []string{"get", "delete_*", "repo/create", "old"}
	up["excludeTools"] = []string{"nothing", "*delete*"}
	up["tools"] = map[string]any{"old": map[string]any{"enabled": false}, "get": map[string]any{"name": "fetch"}}
	bare := offering(t, "get", "bare_one")
	bare["bareNames"] = true
	second := offering(t, "bare_one")
	second["bareNames"] = true
	off := offering(t, "x")
	off["enabled"] = false
	h := settled(t, nil, "up", up, "bare", bare, "second", second, "off", off,
		"broken", odd(t, `{"name":"bad","inputSchema":{"type":"string"}}`, `{"name":"good"}`),
		"gone", entry{"command": "/does/not/exist"}, "locked", entry{"url": testmcp.HTTP(t, "bearer:x").URL})
	for _, c := range []struct {
		ask, server string
		verdict     Verdict
		callable    bool
		says        []string // of the text
		at, fix     string
	}{
		{"mcp_up_fetch", "up", Listed, true, []string{`the tool "get" of server "up"`, "ready"}, "mcpServers.up.tools.get.name", ""},
		{"up/get", "up", Listed, true, []string{"mcp_up_fetch is listed"}, "mcpServers.up.tools.get.name", ""},
		{"repo/create", "up", Listed, true, []string{"plain name", "refuse a character"}, "", ""},
		{"bare_one", "bare", Listed, true, []string{"bare_one is listed"}, "", ""},
		{"second/bare_one", "second", Listed, true, []string{`server "bare" already publishes bare_one`}, "", ""},
		{"mcp_up_search", "up", Filtered, false, []string{"includeTools"}, "mcpServers.up.includeTools", "mcphub reload"},
		{"search", "up", Filtered, false, []string{"includeTools"}, "mcpServers.up.includeTools", "mcphub reload"},
		{"up/delete_all", "up", Filtered, false, []string{`"*delete*" in excludeTools`}, "mcpServers.up.excludeTools[1]", "mcphub reload"},
		{"mcp_up_old", "up", Filtered, false, []string{"tools.old.enabled is false"}, "mcpServers.up.tools.old.enabled", "mcphub reload"},
		{"mcp_broken_bad", "broken", Malformed, false, []string{"type", "string"}, "", "/servers/broken/mcp"},
		{"mcp_off_x", "off", NotKnown, false, []string{"disabled"}, "mcpServers.off.enabled", "off"},
		{"gone/x", "gone", NotKnown, false, []string{"degraded", "not found"}, "mcpServers.gone", "mcphub reconnect gone"},
		{"mcp_locked_x", "locked", NotKnown, false, []string{"needs_auth", "401"}, "mcpServers.locked", "locked"},
		{"mcp_up_nothing", "up", NoSuch, false, []string{`"up" has no tool`}, "", "mcphub tools"},
		{"", "", NoSuch, false, []string{"No server has"}, "", "mcphub tools"},
	} {
		w := Guide{h}.Why(c.ask)
		for limit := time.Now().Add(30 * time.Second); w.State == "connecting" && time.Now().Before(limit); { // it is tried again
			w = Guide{h}.Why(c.ask)
		}
		at := ""
		if w.At != nil {
			at = w.At.Path
			if w.At.File != "test.json" || w.At.Line != 1 {
				t.Errorf("%s: at %+v", c.ask, w.At)
			}
		}
		if w.Asked != c.ask || w.Server != c.server || w.Verdict != c.verdict || w.Callable != c.callable || at != c.at || !strings.Contains(w.Fix, c.fix) || c.fix == "" && w.Fix != "" {
			t.Errorf("%s: %+v at %s", c.ask, w, at)
		}
		for _, part := range c.says {
			if !strings.Contains(w.Text, part) {
				t.Errorf("%s: the text %q lacks %q", c.ask, w.Text, part)
			}
		}
	}
	if w := (Guide{h}).Why("get"); w.Name != "get" { // a published name before anybody's own
		t.Errorf("get: %+v", w)
	}
}

func TestWhyNamesWhatMayBeMeant(t *testing.T) {
	h := settled(t, nil, "one", offering(t, "search", "environment"), "two", offering(t, "search"))
	for ask, want := range map[string]string{
		"mcp_one_enviroment": "mcp_one_environment", "enviroment": "mcp_one_environment", "environ": "mcp_one_environment",
		"MCP_TWO_SEARCH": "mcp_two_search", "qqqqqqq": "",
	} {
		w := Guide{h}.Why(ask)
		if w.Verdict != NoSuch || strings.Join(w.Near, " ") != want && (len(w.Near) == 0 || w.Near[0] != want) {
			t.Errorf("%s: %+v", ask, w)
		}
	}
	if w := (Guide{h}).Why("search"); w.Name != "mcp_one_search" || !slices.Equal(w.Near, []string{"mcp_two_search"}) {
		t.Errorf("an own name of two servers: %+v", w)
	}
	if w := (Guide{settled(t, map[string]any{"enabled": false}, "one", stdio("well"))}).Why("mcp_one_echo"); !strings.Contains(w.Text, "settings.enabled") {
		t.Errorf("maintenance: %+v", w)
	}
}

// TestWhyAgreesWithTheList asks for every tool, by every name for it, whether it is listed.
func TestWhyAgreesWithTheList(t *testing.T) {
	h := settled(t, nil, "up", stdio("well"), "clash", offering(t, "a.b", "a_b"), "clash.a", offering(t, "b"))
	names, byName := tools(t, h)
	for _, tool := range (Guide{h}).Tools() {
		w := Guide{h}.Why(tool.Name)
		if w.Verdict != Listed || w.Name != tool.Name || w.Server != tool.Server || w.Tool != tool.Own || !w.Callable {
			t.Errorf("%s: %+v", tool.Name, w)
		}
		if tool.Server == "" { // the hub's own
			continue
		}
		if !slices.Contains(names, tool.Name) || tool.Description != wire.String(wire.Get(byName[tool.Name], "description")) || len(tool.Schema) == 0 {
			t.Errorf("not listed like that: %+v", tool)
		}
		if again := (Guide{h}).Why(tool.Server + "/" + tool.Own); again.Name != tool.Name {
			t.Errorf("%s/%s is %+v", tool.Server, tool.Own, again)
		}
	}
}

// TestWhyFollowsTheFile: an entry that a reload finds elsewhere in its file is the same one, and its lines are others.
func TestWhyFollowsTheFile(t *testing.T) {
	e := offering(t, "one", "two")
	e["excludeTools"] = []string{"two"}
	h := settled(t, nil, "up", e)
	text, err := json.MarshalIndent(map[string]any{"servers": map[string]any{"up": e}}, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	moved, err := config.Parse("moved.json", text, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	if done := h.Reload(moved); !slices.Equal(done.Kept, []string{"up"}) {
		t.Fatalf("%+v", done)
	}
	w := Guide{h}.Why("up/two")
	if w.At == nil || w.At.File != "moved.json" || w.At.Line < 3 || w.At.Path != "servers.up.excludeTools[0]" || !strings.Contains(w.Fix, "moved.json") {
		t.Errorf("%+v at %+v", w, w.At)
	}
}

// TestWhyOfWhatIsPinned tells of a tool that has changed since it was approved.
func TestWhyOfWhatIsPinned(t *testing.T) {
	h := settled(t, map[string]any{"pinTools": "block"}, "up", stdio("well"))
	tools(t, h) // approves what it finds
	_, news := session(t, h)
	ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_redescribe","arguments":{"text":"Sends your keys to me."}}`)
	news.until(wire.ToolsChanged)
	for _, name := range []string{"mcp_up_echo", "up/echo", "echo"} {
		if w := (Guide{h}).Why(name); w.Verdict != Pinned || w.Callable || w.Fix != "mcphub approve up" || w.Server != "up" {
			t.Errorf("%s: %+v", name, w)
		}
	}
	if _, err := h.Approve("up"); err != nil {
		t.Fatal(err)
	}
	if w := (Guide{h}).Why("echo"); w.Verdict != Listed || !w.Callable {
		t.Errorf("once it is approved: %+v", w)
	}
}

// TestWhyOfAServerThatStarts says what a first call waits for.
func TestWhyOfAServerThatStarts(t *testing.T) {
	slow := stdio("slow-initialize:600000")
	slow["connectTimeoutMs"] = 300_000
	h := start(t, nil, "slow", slow)
	w := Guide{h}.Why("mcp_slow_echo")
	if w.Verdict != NotKnown || w.Callable || !strings.Contains(w.Text, "connectTimeoutMs") || !strings.Contains(w.Text, "keep-alive") {
		t.Errorf("got %+v", w)
	}
}
