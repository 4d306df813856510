package hub

import (
	"path/filepath"
	"strings"
	"testing"

	"mcphub/config"
	"mcphub/wire"
)

// skilled is a configuration with an ordinary server and a skill that carries one.
func skilled(t testing.TB) *config.Config {
	t.Helper()
	carried := stdio("well")
	carried["includeTools"] = []string{"echo", "wh*"}
	cfg := parse(t, nil, "plain", stdio("well"), "carried", carried)
	cfg.Server("carried").Skill = "pdf"
	cfg.Skills = []config.Skill{{Name: "pdf", Description: "Reads PDFs", Dir: filepath.Join("skills", "pdf"), Text: "# How to\n", Servers: []string{"carried"}}}
	return cfg
}

// TestSkillsReveal reads a skill in each way that there is, and sees its tools come, to that session alone and for good.
func TestSkillsReveal(t *testing.T) {
	for name, read := range map[string]struct{ method, params, text string }{
		"resource": {wire.ResourcesRead, `{"uri":"skill://pdf/SKILL.md"}`, `"text":"# How to\n"`},
		"prompt":   {wire.PromptsGet, `{"name":"pdf"}`, `"text":"# How to\n"`},
		"tool":     {wire.ToolsCall, `{"name":"mcp_read_resource","arguments":{"uri":"skill://pdf/SKILL.md"}}`, `# How to`},
	} {
		t.Run(name, func(t *testing.T) {
			h := run(t, skilled(t))
			hers, news := session(t, h)
			his, other := session(t, h)
			before := string(serve(t, h, hers, wire.ToolsList, `{}`).Result)
			if strings.Contains(before, "carried") || !strings.Contains(before, "mcp_plain_echo") {
				t.Fatalf("before, the list is %s", before)
			}
			if hers.Unsaved() {
				t.Error("something is to be kept though nothing was read")
			}
			if answer := serve(t, h, hers, read.method, read.params); !strings.Contains(string(answer.Result), read.text) {
				t.Fatalf("reading gave %s %s", answer.Result, answer.Error)
			}
			news.until(wire.ToolsChanged)
			after := string(serve(t, h, hers, wire.ToolsList, `{}`).Result)
			if !strings.HasPrefix(after, strings.TrimSuffix(before, "]}")) {
				t.Errorf("the list does not begin as before: %s", after)
			}
			for tool, want := range map[string]bool{"mcp_carried_echo": true, "mcp_carried_whoami": true, "mcp_carried_env": false} {
				if got := strings.Contains(after, `"`+tool+`"`); got != want {
					t.Errorf("%s: listed is %v", tool, got)
				}
			}
			if got := string(serve(t, h, his, wire.ToolsList, `{}`).Result); got != before || len(other.msgs) > 0 {
				t.Errorf("another session's list is %s", got)
			}
			if !hers.Unsaved() || strings.Join(hers.State().Revealed, " ") != "pdf" {
				t.Errorf("to be kept is %+v", hers.State())
			}
			again := &Client{Version: wire.V20251125}
			h.Resume(again, hers.State())
			if got := string(serve(t, h, again, wire.ToolsList, `{}`).Result); got != after {
				t.Errorf("resumed, the session sees %s", got)
			}
		})
	}
}

// run starts a hub and waits until its servers have settled and are listed.
func run(t testing.TB, cfg *config.Config) *Hub {
	t.Helper()
	h := New(cfg, Options{Version: "test"})
	h.Start()
	t.Cleanup(h.Close)
	for _, s := range h.Servers() {
		<-s.Settled()
	}
	ask(t, h, "", wire.ToolsList, `{}`)
	return h
}

// TestSkillsAreListed has each skill as a resource and as a prompt, whose names nobody else gets.
func TestSkillsAreListed(t *testing.T) {
	h := run(t, skilled(t))
	for method, want := range map[string]string{
		wire.ResourcesList: `{"name":"pdf","description":"Reads PDFs","uri":"skill://pdf/SKILL.md","mimeType":"text/markdown"}`,
		wire.PromptsList:   `{"name":"pdf","description":"Reads PDFs"}`,
	} {
		if list := ask(t, h, "", method, `{}`); !strings.Contains(string(list.Result), want) {
			t.Errorf("%s: %s", method, list.Result)
		}
	}
	if list := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_list_resources"}`); !strings.Contains(string(list.Result), `skill://pdf/SKILL.md\tpdf\t(mcphub)`) {
		t.Errorf("%s %s", list.Result, list.Error)
	}
	if answer := askModern(t, h, wire.ToolsCall, `{"name":"mcp_carried_echo"}`); answer.Error != nil {
		t.Errorf("by its name, without a session: %s", answer.Error)
	}
}

// TestReloadOfSkills tells a session of what is revealed to it, when that changes.
func TestReloadOfSkills(t *testing.T) {
	h := run(t, skilled(t))
	c, news := session(t, h)
	serve(t, h, c, wire.PromptsGet, `{"name":"pdf"}`)
	news.until(wire.ToolsChanged)
	less := skilled(t)
	less.Server("carried").IncludeTools = config.Globs{"echo"}
	h.Reload(less)
	for {
		news.until(wire.ToolsChanged)
		if list := string(serve(t, h, c, wire.ToolsList, `{}`).Result); strings.Contains(list, "mcp_carried_echo") && !strings.Contains(list, "mcp_carried_whoami") {
			break
		}
	}
	h.Reload(parse(t, nil, "plain", stdio("well")))
	if answer := serve(t, h, c, wire.PromptsGet, `{"name":"pdf"}`); answer.Error == nil {
		t.Errorf("a skill that is gone: %s", answer.Result)
	}
	if list := string(serve(t, h, c, wire.ToolsList, `{}`).Result); strings.Contains(list, "carried") {
		t.Errorf("its tools are still listed: %s", list)
	}
}
