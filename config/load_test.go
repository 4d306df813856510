package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mcphub/config"
)

// write makes files in a directory of its own and returns their paths, in the order given as name, text, name, text.
func write(t *testing.T, files ...string) []string {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		if err := os.WriteFile(path, []byte(files[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func names(c *config.Config) []string {
	var all []string
	for _, s := range c.Servers {
		all = append(all, s.Name)
	}
	return all
}

// messages returns the problems with the directories of the files cut off.
func messages(c *config.Config) []string {
	var all []string
	for _, p := range c.Problems {
		if p.File != "" {
			p.File = filepath.Base(p.File)
		}
		all = append(all, p.String())
	}
	return all
}

func wantStrings(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLaterFileWins(t *testing.T) {
	paths := write(t,
		"one.json", `{"settings": {"toolPrefix": "one", "inbound": {"allowedHosts": ["a", "b"]}},
  "mcpServers": {"a": {"command": "${NOPE}"}, "b": {"command": "b", "nope": 1}, "c": {"command": "c"}}}`,
		"two.json", `{"settings": {"toolPrefix": "two", "toolSeparator": "__", "inbound": {"allowedHosts": ["c"]}},
  "mcpServers": {"d": {"command": "d"}, "b": {"command": "b2"}, "a": {"command": "a2"}}}`)
	c, err := config.Load(paths, lookup)
	if err != nil {
		t.Fatal(err)
	}
	wantStrings(t, names(c), []string{"a", "b", "c", "d"})
	if s := c.Server("a"); s.Command != "a2" || filepath.Base(s.File) != "two.json" || s.Line != 2 || s.Failed != nil {
		t.Errorf("a: %+v", s)
	}
	if c.Server("nobody") != nil {
		t.Error("a server that is not there was found")
	}
	if s := c.Settings; s.ToolPrefix != "two" || s.ToolSeparator != "__" || !slices.Equal(s.Inbound.AllowedHosts, []string{"c"}) {
		t.Errorf("settings: %+v", s)
	}
	wantStrings(t, messages(c), []string{
		"one.json:1:29: warning: settings.toolPrefix: has no effect: " + paths[1] + ":1 sets it too, and the later file wins",
		"one.json:1:64: warning: settings.inbound.allowedHosts: has no effect: " + paths[1] + ":1 sets it too, and the later file wins",
		"one.json:2:18: warning: mcpServers.a: has no effect: " + paths[1] + ":2 has a server of the same name, and the later file wins",
		"one.json:2:47: warning: mcpServers.b: has no effect: " + paths[1] + ":2 has a server of the same name, and the later file wins",
		`one.json:2:69: error: mcpServers.b.nope: unknown key; remove it (` + "`mcphub schema`" + ` has all keys)`,
	})
}

func TestUnreadableFilesAreAllNamed(t *testing.T) {
	paths := write(t, "fine.json", `{}`, "broken.json", "{\n  \"mcpServers\": {,}\n}", "list.json", `[]`, "big.json", strings.Repeat(" ", 10<<20+1))
	paths = append(paths, filepath.Join(t.TempDir(), "absent.json"))
	c, err := config.Load(paths, lookup)
	if c != nil || err == nil {
		t.Fatalf("got %v, %v", c, err)
	}
	for _, want := range []string{
		"broken.json: line 2, column 18: invalid character ',' at start of value",
		"list.json: must be an object", "big.json: it is larger than 10 MiB", "absent.json: no such file",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
	if strings.Contains(err.Error(), "fine.json") {
		t.Errorf("a good file is blamed:\n%v", err)
	}
}

func TestParseErrorsDoNotRepeatLiterals(t *testing.T) {
	for _, text := range []string{`{"a": "hunter2\x"}`, `{"a": hunter2}`, `{"a": "hunter2`, "{\"a\": \"hunter2\n\"}", `"hunter2"`, `{"a" "hunter2"}`} {
		_, err := config.Parse("x.json", []byte(text), lookup)
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestDeepFilesAreRefused(t *testing.T) {
	for _, text := range []string{
		strings.Repeat("[", 10<<20), strings.Repeat(`{"a":`, 1<<20), "{" + strings.Repeat("/* [ */", 10) + `"a":` + strings.Repeat("[", 100),
	} {
		_, err := config.Parse("x.json", []byte(text), lookup)
		if err == nil || !strings.Contains(err.Error(), "nested deeper than 100 levels") {
			t.Errorf("%.20s: %.200v", text, err)
		}
	}
	shallow := `{"mcpServers": {"a": {"command": "` + strings.Repeat("[", 200) + `" /* ` + strings.Repeat("{", 200) + "*/ } } } //" + strings.Repeat("[", 200)
	if c := parse(t, shallow); len(c.Problems) > 0 {
		t.Errorf("brackets in strings and comments count: %v", c.Problems)
	}
}

func TestByteOrderMarkAndColumns(t *testing.T) {
	c := parse(t, "\ufeff{\r\n  \"mcpServers\": {\"ä\": {}}}")
	wantStrings(t, messages(c), []string{
		`test.json:2:18: error: mcpServers["ä"]: a server's name starts with a letter or digit and has up to 64 letters, digits, '_', '.' and '-'; rename it`,
	})
	c = parse(t, `{"mcpServers": {"a": {"command": "ä", "nope": 1}}}`)
	if got := c.Problems[0].Column; got != 40 { // the second byte of ä counts, as for compilers
		t.Errorf("column %d", got)
	}
}

func TestStartupTimeoutVariable(t *testing.T) {
	text := []byte(`{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x", "startupTimeoutMs": 7}}}`)
	load := func(value string) *config.Config {
		c, err := config.Parse("x.json", text, func(name string) (string, bool) { return value, name == "MCPHUB_STARTUP_TIMEOUT_MS" })
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for value, want := range map[string][2]time.Duration{
		"":     {250 * time.Millisecond, 7 * time.Millisecond},
		"0":    {0, 0},
		"3000": {3 * time.Second, 3 * time.Second},
	} {
		c := load(value)
		if got := [2]time.Duration{c.Servers[0].StartupTimeout, c.Servers[1].StartupTimeout}; got != want || len(c.Problems) > 0 {
			t.Errorf("%q: %v %v", value, got, c.Problems)
		}
	}
	for _, value := range []string{"-1", "1s", "soon", "1.5", "99999999999999999999"} {
		wantStrings(t, messages(load(value)), []string{
			"error: MCPHUB_STARTUP_TIMEOUT_MS: must be a whole number of milliseconds, at most 604800000; until then each server's startupTimeoutMs holds"})
	}
}

func TestNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"a": true, "A.b-c_9": true, "0": true, strings.Repeat("a", 64): true,
		"": false, "_a": false, "-a": false, ".a": false, "a b": false, "a/b": false, "ä": false, "a\n": false, strings.Repeat("a", 65): false,
	} {
		c := parse(t, fmt.Sprintf(`{"mcpServers": {%q: {"command": "x"}}}`, name))
		if failed := len(c.Servers[0].Failed) > 0; failed == ok {
			t.Errorf("%q: failed = %v", name, failed)
		}
	}
}

// TestExample: the shipped example has no problems when its variables are set.
func TestExample(t *testing.T) {
	env := map[string]string{"HOME": "/home/me", "JIRA_API_TOKEN": "x", "GITHUB_TOKEN": "y"}
	c, err := config.Load([]string{"../config.example.json"}, func(name string) (string, bool) { v, ok := env[name]; return v, ok })
	if err != nil {
		t.Fatal(err)
	}
	wantStrings(t, messages(c), nil)
	wantStrings(t, names(c), []string{"files", "issues", "github", "search"})
}

func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range append(files, "../config.example.json") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"mcpServers":{"a":{"command":"$${${A:-${}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("fuzz.json", data, lookup)
		if err != nil {
			return
		}
		for _, p := range c.Problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("no place or no message: %+v", p)
			}
		}
		for _, s := range c.Servers {
			if !s.Equal(s) {
				t.Errorf("%s is not equal to itself", s.Name)
			}
			if s.Failed == nil && s.Enabled && s.Command == "" && s.URL == "" {
				t.Errorf("%s could run, with nothing to run", s.Name)
			}
		}
	})
}

// fifty is a file of fifty servers.
func fifty() []byte {
	var b strings.Builder
	b.WriteString(`{"mcpServers": {`)
	for i := range 50 {
		fmt.Fprintf(&b, `"s%d": {"command": "npx", "args": ["-y", "server", "${HOME}/x"], "env": {"A": "${API_KEY}"}, "includeTools": ["a*", "b"],
			"tools": {"t": {"description": "d"}}, "requestTimeoutMs": 1000}, // comment`+"\n", i)
	}
	b.WriteString(`}}`)
	return []byte(b.String())
}

func BenchmarkParse50(b *testing.B) {
	data := fifty()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := config.Parse("x.json", data, lookup); err != nil {
			b.Fatal(err)
		}
	}
}
