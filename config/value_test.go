package config_test

import (
	"slices"
	"strings"
	"testing"

	"mcphub/config"
)

// TestVariablesExpandInDocumentedFieldsOnly: the fields that say "${VAR} expands" do, and all others keep the text.
func TestVariablesExpandInDocumentedFieldsOnly(t *testing.T) {
	s := one(t, `{"command": "${API_KEY}", "args": ["${API_KEY}"], "env": {"${API_KEY}": "${API_KEY}"}, "cwd": "${API_KEY}",
		"includeTools": ["${API_KEY}"], "tools": {"${API_KEY}": {"description": "${API_KEY}", "arguments": {"a": "${API_KEY}"}}}}`)
	const value = "key-from-env"
	if s.Command != value || s.Args[0] != value || s.Env["${API_KEY}"] != value || s.Cwd != value {
		t.Errorf("not expanded: %+v", s)
	}
	tool := s.Tools["${API_KEY}"]
	if s.IncludeTools[0] != "${API_KEY}" || tool.Description != "${API_KEY}" || string(tool.Arguments["a"]) != `"${API_KEY}"` {
		t.Errorf("expanded where it must not be: %+v", s)
	}
	s = one(t, `{"url": "https://a/${API_KEY}", "headers": {"A": "${API_KEY}"}}`)
	if s.URL != "https://a/"+value || s.Headers["A"] != value {
		t.Errorf("not expanded: %+v", s)
	}
}

func TestForms(t *testing.T) {
	for in, want := range map[string]string{
		"plain $HOME $ $$ %HOME%":      "plain $HOME $ $$ %HOME%",
		"${HOME}":                      "/home/me",
		"a${HOME}b${API_KEY}c":         "a/home/mebkey-from-envc",
		"${env:HOME}":                  "/home/me",
		"${env:NOPE:-x}":               "x",
		"${NOPE:-x}":                   "x",
		"${NOPE:-}":                    "",
		"${EMPTY:-x}":                  "x",
		"${EMPTY}":                     "",
		"${HOME:-x}":                   "/home/me",
		"${NOPE:-https://a:1/b?c=d-e}": "https://a:1/b?c=d-e",
		"$${HOME}":                     "${HOME}",
		"$$${HOME}":                    "$${HOME}",
		"$${${HOME}}":                  "${/home/me}",
		"{HOME} $} }":                  "{HOME} $} }",
		"${HOME}}":                     "/home/me}",
	} {
		s := one(t, `{"command": "x", "args": ["`+in+`"]}`)
		if s.Args[0] != want {
			t.Errorf("%s: got %q, want %q", in, s.Args[0], want)
		}
	}
}

func TestDisabledServersNeedNoVariables(t *testing.T) {
	s := one(t, `{"url": "https://${NOPE}", "headers": {"A": "${NOPE}"}, "bearerTokenEnv": "NOPE", "enabled": false}`)
	if s.URL != "https://${NOPE}" || s.BearerToken != "" {
		t.Errorf("%+v", s)
	}
}

// TestNullIsNotSet: programs that write such files write null for what is not set.
func TestNullIsNotSet(t *testing.T) {
	s := one(t, `{"command": "x", "args": null, "url": null, "httpUrl": null, "env": null, "lifecycle": null, "disabled": null, "tools": {"t": {"name": null}}}`)
	if !s.Enabled || s.Lifecycle != config.LifecycleLazy || s.Type != config.TypeStdio || !s.Tools["t"].Enabled {
		t.Errorf("%+v", s)
	}
}

// TestSecrets: what must not leave the hub is listed, what everybody knows is not.
func TestSecrets(t *testing.T) {
	for entry, want := range map[string][]string{
		`{"command": "x", "args": ["${DB_URL}"], "env": {"A": "k=${API_KEY}", "B": "${HOME}", "C": "${EMPTY:-default}", "D": "plain"}}`: {"key-from-env"},
		`{"url": "https://a/${API_KEY}", "headers": {"A": "Bearer ${DB_URL}", "B": "plain"}}`:                                           {"key-from-env", "postgres://db.example/x"},
		`{"url": "https://me:${API_KEY}@a"}`:                                                                             {"key-from-env"},
		`{"url": "https://a", "bearerTokenEnv": "API_KEY"}`:                                                              {"key-from-env"},
		`{"command": "x", "env": {"A_TOKEN": "literal-one", "B": "x"}}`:                                                  {"literal-one"},
		`{"url": "https://me:literal-two@a/?api_key=literal-one", "headers": {"Authorization": "Bearer literal-three"}}`: {"literal-one", "literal-three", "literal-two"},
		`{"command": "x"}`: nil,
	} {
		s := parse(t, `{"mcpServers": {"a": `+entry+`}}`).Servers[0]
		if !slices.Equal(s.Secrets, want) || s.Failed != nil {
			t.Errorf("%s: got %q, want %q; %v", entry, s.Secrets, want, s.Failed)
		}
	}
}

func TestIncludes(t *testing.T) {
	s := one(t, `{"command": "x", "includeTools": ["jira_*", "confluence_search", "get_?", "[xy]z", "{one,two}/three", "repo*"],
		"excludeTools": ["*_delete_*", "repo/secret"], "tools": {"jira_off": {"enabled": false}, "jira_on": {"description": "d"}}}`)
	for tool, want := range map[string]bool{
		"jira_get": true, "jira_": true, "jira": false, "Jira_get": false, " jira_get": false, "my_jira_get": false,
		"confluence_search": true, "confluence_search2": false, "get_a": true, "get_": false, "get_ab": false,
		"xz": true, "zz": false, "one/three": true, "two/three": true, "three": false,
		"repo": true, "repo/create": true, "repo/a/b": true, "repo/secret": false,
		"jira_delete_all": false, "jira_off": false, "jira_on": true, "": false,
	} {
		if got := s.Includes(tool); got != want {
			t.Errorf("%q: got %v", tool, got)
		}
	}
	all := one(t, `{"command": "x", "excludeTools": ["b"]}`)
	if !all.Includes("a") || all.Includes("b") || !all.Includes("anything/else.here") {
		t.Error("without includeTools everything but excludeTools is let through")
	}
	if none := one(t, `{"command": "x", "excludeTools": ["*"]}`); none.Includes("a/b") || none.Includes("") {
		t.Error("* excludes everything")
	}
}

func TestUnmatched(t *testing.T) {
	s := one(t, `{"command": "x", "includeTools": ["jira_*", "conf*"], "excludeTools": ["nope"], "tools": {"z": {}, "jira_a": {}, "b": {}}}`)
	wantStrings(t, s.Unmatched([]string{"jira_a", "x/conf"}), []string{"conf*", "nope", "b", "z"})
	wantStrings(t, s.Unmatched([]string{"jira_a", "conf/x", "nope", "b", "z"}), nil)
}

// TestEqual: what a reload must notice, and what it must not.
func TestEqual(t *testing.T) {
	base := `{"url": "https://a", "headers": {"A": "1", "B": "2"}, "includeTools": ["x"], "tools": {"t": {"arguments": {"a": 1}}}}`
	a := one(t, base)
	for _, same := range []string{
		base,
		"\n\n" + `{"tools": {"t": {"arguments": {"a": /* c */ 1,}}}, "includeTools": ["x"], "headers": {"B": "2", "A": "1"}, "serverUrl": "https://a"}`,
		strings.TrimSuffix(base, "}") + `, "requestTimeoutMs": 30000, "disabled": false}`,
	} {
		if b := one(t, same); !a.Equal(b) || !b.Equal(a) {
			t.Errorf("differs: %s", same)
		}
	}
	for _, other := range []string{
		`{"url": "https://b"}`,
		strings.Replace(base, `"a": 1`, `"a": 2`, 1),
		strings.Replace(base, `"2"`, `"3"`, 1),
		strings.Replace(base, `"x"`, `"y"`, 1),
		strings.TrimSuffix(base, "}") + `, "requestTimeoutMs": 30001}`,
	} {
		if b := one(t, other); a.Equal(b) || b.Equal(a) {
			t.Errorf("is the same: %s", other)
		}
	}
}

// TestEqualNoticesTheEnvironment: a changed token or variable is a changed server, and so is a new reason to fail.
func TestEqualNoticesTheEnvironment(t *testing.T) {
	load := func(entry, value string) *config.Server {
		c, err := config.Parse("x.json", []byte(`{"mcpServers": {"a": `+entry+`}}`), func(string) (string, bool) { return value, value != "" })
		if err != nil {
			t.Fatal(err)
		}
		return c.Servers[0]
	}
	for _, entry := range []string{`{"url": "https://a", "bearerTokenEnv": "X"}`, `{"url": "https://a", "headers": {"A": "${X}"}}`, `{"command": "a", "cwd": "${X}"}`} {
		if load(entry, "5").Equal(load(entry, "6")) || load(entry, "").Equal(load(entry, "6")) {
			t.Errorf("%s: the change was not noticed", entry)
		}
		if !load(entry, "5").Equal(load(entry, "5")) || !load(entry, "").Equal(load(entry, "")) {
			t.Errorf("%s: a change was seen", entry)
		}
	}
}

func TestReason(t *testing.T) {
	s := parse(t, `{"mcpServers": {"a": {"url": "https://${NOPE}", "timeout": 1, "nope": 1}}}`).Servers[0]
	want := "mcpServers.a.nope: unknown key; remove it (`mcphub schema` has all keys); " +
		"mcpServers.a.url: not set in the hub's environment: NOPE (url); set what is missing, or write ${NAME:-default}"
	if got := s.Reason(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
