package hub

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// offering is a server with tools of these names.
func offering(t *testing.T, names ...string) entry {
	var s testmcp.Script
	for _, n := range names {
		s.Tools = append(s.Tools, []byte(`{"name":`+string(wire.Quote(n))+`,"description":"`+strings.Repeat("d", 10)+`","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"token":{"type":"string"}},"required":["a","token"]}}`))
	}
	return stdio(s.Name(t))
}

var everywhereLegal = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// reach calls every published tool and returns the own names that the servers saw.
func reach(t *testing.T, h *Hub) (own []string) {
	names, _ := tools(t, h)
	for _, name := range names {
		if !everywhereLegal.MatchString(name) {
			t.Errorf("%q is not a name that every client takes", name)
		}
		got := ask(t, h, "", wire.ToolsCall, `{"name":`+string(wire.Quote(name))+`}`)
		own = append(own, wire.String(wire.Path(got.Result, "structuredContent", "name")))
	}
	slices.Sort(own)
	return own
}

// TestNames holds B001, B003, B005, B007, B010 and B013.
func TestNames(t *testing.T) {
	long := "getJiraProjectIssueTypesMetadataWithFields"
	h := settled(t, nil,
		"atlassian-cloud-production", offering(t, long, long+"2"),
		"a", offering(t, "admin.users.list", "repo/create", "read-file", "read_file", "read.file", "search", "b_c", "ü"),
		"foo-bar", offering(t, "search"), "foo_bar", offering(t, "search"), "foo.bar", offering(t, "search"),
		"a_b", offering(t, "c", "search"), "mcp", offering(t, "list_resources"), "list", offering(t, "resources"))
	names, _ := tools(t, h)
	want := []string{long, long + "2", "admin.users.list", "b_c", "c", "list_resources", "read-file", "read.file", "read_file",
		"repo/create", "resources", "search", "search", "search", "search", "search", "ü"}
	slices.Sort(want)
	if got := reach(t, h); !slices.Equal(got, want) {
		t.Errorf("reached %q, want %q", got, want)
	}
	for _, name := range names {
		if len(name) > 50 || reserved[name] {
			t.Errorf("published %s", name)
		}
	}
	for _, name := range []string{"mcp_a_search", "mcp_a_read-file", "mcp_a_read_file", "mcp_foo-bar_search", "mcp_foo_bar_search"} {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing among %q", name, names)
		}
	}
	if notes := strings.Join(notesOf(h, "a"), " "); !strings.Contains(notes, `"a_b"`) {
		t.Errorf("the clash of a and a_b is not noted: %q", notes)
	}
}

func TestNamesDoNotDependOnOthers(t *testing.T) {
	e := offering(t, "search", "x.y", strings.Repeat("n", 60))
	alone, _ := tools(t, settled(t, nil, "one", e))
	both, _ := tools(t, settled(t, nil, "two", offering(t, "search", "x.y"), "one", e))
	for _, name := range alone {
		if !slices.Contains(both, name) {
			t.Errorf("%s changed its name when another server came: %q", name, both)
		}
	}
}

func TestNameSettings(t *testing.T) {
	for _, c := range []struct {
		settings map[string]any
		want     string
	}{
		{nil, "mcp_up_tool"},
		{map[string]any{"toolPrefix": ""}, "up_tool"},
		{map[string]any{"toolPrefix": "x-", "toolSeparator": "__"}, "x-__up__tool"},
	} {
		if names, _ := tools(t, settled(t, c.settings, "up", offering(t, "tool"))); !slices.Equal(names, []string{c.want}) {
			t.Errorf("%v: %q", c.settings, names)
		}
	}
	bare := offering(t, "tool", "more")
	bare["bareNames"] = true
	names, _ := tools(t, settled(t, nil, "one", bare, "two", bare, "three", offering(t, "tool")))
	want := []string{"tool", "more", "mcp_two_tool", "mcp_two_more", "mcp_three_tool"}
	if !slices.Equal(names, want) {
		t.Errorf("bare names: %q, want %q", names, want)
	}
}

// TestFilters holds B117 and B135.
func TestFilters(t *testing.T) {
	e := offering(t, "jira_get", "jira_delete", "confluence_search", "confluence_get", "delete_all")
	e["includeTools"] = []string{"jira_*", "confluence_search", "delete_*", "nothing_*"}
	e["excludeTools"] = []string{"*delete*"}
	e["tools"] = map[string]any{"confluence_search": map[string]any{"enabled": false}, "absent": map[string]any{"enabled": false}}
	h := settled(t, nil, "up", e)
	if names, _ := tools(t, h); !slices.Equal(names, []string{"mcp_up_jira_get"}) {
		t.Errorf("published %q", names)
	}
	for _, hidden := range []string{"mcp_up_jira_delete", "jira_delete", "mcp_up_delete_all", "delete_all", "mcp_up_confluence_search"} {
		if got := ask(t, h, "", wire.ToolsCall, `{"name":"`+hidden+`"}`); got.Error == nil {
			t.Errorf("%s was called: %s", hidden, got.Result)
		}
	}
	notes := strings.Join(notesOf(h, "up"), "\n")
	if !strings.Contains(notes, "nothing_*") || !strings.Contains(notes, "absent") {
		t.Errorf("unused entries are not reported: %q", notes)
	}
}

func TestOverrides(t *testing.T) {
	e := offering(t, "tool")
	e["tools"] = map[string]any{"tool": map[string]any{"name": "better", "description": "Says more.", "arguments": map[string]any{"token": "s", "n": 1}}}
	h := settled(t, nil, "up", e)
	_, byName := tools(t, h)
	item := byName["mcp_up_better"]
	if wire.String(wire.Get(item, "description")) != "Says more." {
		t.Fatalf("published %s", item)
	}
	if got := string(wire.Get(item, "inputSchema")); got != `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}` {
		t.Errorf("the schema shows fixed arguments: %s", got)
	}
	got := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_better","arguments":{"a":"x","token":"mine"}}`)
	if args := string(wire.Path(got.Result, "structuredContent", "arguments")); args != `{"a":"x","token":"s","n":1}` {
		t.Errorf("the server saw %s", args)
	}
}
