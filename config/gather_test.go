package config_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/config"
)

// tree makes files below a directory, given as path, text, path, text, and returns the directory without symbolic links.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir, err := config.CanonicalDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(files); i += 2 {
		put(t, filepath.Join(dir, files[i]), files[i+1])
	}
	return dir
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// trusting trusts files below a directory as they are now.
func trusting(t *testing.T, dir string, files ...string) *config.Trust {
	t.Helper()
	trust, err := config.LoadTrust(filepath.Join(t.TempDir(), "trust.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		trust.Add(filepath.Join(dir, file), data)
	}
	return trust
}

func gather(t *testing.T, trust *config.Trust, paths ...string) *config.Config {
	t.Helper()
	c, err := config.Gather(paths, lookup, trust)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var projectFiles = []string{
	".mcp.json", ".cursor/mcp.json", ".vscode/mcp.json", ".codex/config.toml", ".gemini/settings.json", ".windsurf/mcp_config.json", ".mcphub/config.json",
}

// TestImports: what each client's file comes to, trusted and not. The samples follow the clients' own documentation.
func TestImports(t *testing.T) {
	dir := tree(t)
	if err := os.CopyFS(dir, os.DirFS("testdata/imports/project")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"claude", "cursor", "vscode", "codex", "gemini", "windsurf"} {
		own := filepath.Join(dir, name+".json")
		put(t, own, `{"settings": {"importConfigs": ["`+name+`"]}, "mcpServers": {"shared": {"command": "own", "enabled": false}}}`)
		trusted := gather(t, trusting(t, dir, projectFiles...), own)
		compare(t, "testdata/imports/"+name+".want", strings.ReplaceAll(report(trusted)+describe(t, trusted), dir, "DIR"))
		untrusted := gather(t, nil, own)
		if got := describe(t, untrusted); strings.Contains(got, "key-from-env") || strings.Contains(got, "/home/me") {
			t.Errorf("%s: the environment leaks into what is not trusted:\n%s", name, got)
		}
		if !slices.Equal(names(trusted), names(untrusted)) {
			t.Errorf("%s: trusted %q, untrusted %q", name, names(trusted), names(untrusted))
		}
		for _, s := range untrusted.Servers {
			if want := s.Name != "shared"; (s.Untrusted == dir) != want {
				t.Errorf("%s: %s: untrusted %q", name, s.Name, s.Untrusted)
			}
		}
	}
}

// describe is one line for each server, without what has its default.
func describe(t *testing.T, c *config.Config) string {
	t.Helper()
	var b strings.Builder
	for _, s := range c.Servers {
		parts := map[string]any{
			"command": s.Command, "args": s.Args, "cwd": s.Cwd, "env": s.Env, "url": s.URL, "headers": s.Headers, "token": s.BearerToken,
			"include": s.IncludeTools, "exclude": s.ExcludeTools, "untrusted": s.Untrusted, "skill": s.Skill,
			"timeouts": fmt.Sprint(s.ConnectTimeout, s.RequestTimeout), "disabled": !s.Enabled,
		}
		for key, value := range parts {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			if slices.Contains([]string{`""`, "null", "false", `"15s 30s"`}, string(text)) {
				delete(parts, key)
			}
		}
		text, err := json.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s (%s, %s): %s\n", s.Name, s.Source, s.Type, text)
	}
	return b.String()
}

// TestPrecedence: own files, imports in their order, the project, skills; the first has the name.
func TestPrecedence(t *testing.T) {
	dir := tree(t,
		"one.json", `{"settings": {"importConfigs": ["cursor", "claude"], "skills": ["skill"]}, "mcpServers": {"a": {"command": "one", "disabled": true}, "e": {"command": "one"}}}`,
		"two.json", `{"mcpServers": {"e": {"command": "two"}}}`,
		".mcp.json", `{"mcpServers": {"a": {"command": "claude"}, "b": {"command": "claude"}}}`,
		".cursor/mcp.json", `{"mcpServers": {"b": {"command": "cursor"}}}`,
		".mcphub/config.json", `{"mcpServers": {"b": {"command": "project"}, "c": {"command": "project"}}}`,
		"skill/SKILL.md", "---\nname: s\nmcp:\n  c: {command: skill}\n  d: {command: skill}\n---\n",
	)
	c := gather(t, nil, filepath.Join(dir, "one.json"), filepath.Join(dir, "two.json"))
	var got []string
	for _, s := range c.Servers {
		got = append(got, s.Name+" "+s.Command+" "+string(s.Source))
	}
	wantStrings(t, got, []string{"a one file", "e two file", "b cursor import", "c project project", "d skill skill"})
	var losses []string
	for _, p := range c.Problems {
		if p.Severity != config.Warning {
			t.Errorf("%v", p)
		}
		losses = append(losses, strings.ReplaceAll(p.String(), dir+"/", ""))
	}
	wantStrings(t, losses, []string{
		"one.json:1:134: warning: mcpServers.e: has no effect: two.json:1 has a server of the same name, and the later file wins",
		".mcp.json:1:17: warning: mcpServers.a: has no effect: one.json:1 has a server of the same name",
		".mcp.json:1:45: warning: mcpServers.b: has no effect: .cursor/mcp.json:1 has a server of the same name",
		".mcphub/config.json:1:17: warning: mcpServers.b: has no effect: .cursor/mcp.json:1 has a server of the same name",
		"skill/SKILL.md:4:3: warning: mcp.c: has no effect: .mcphub/config.json:1 has a server of the same name",
	})
	if s := c.Skills; len(s) != 1 || !slices.Equal(s[0].Servers, []string{"d"}) {
		t.Errorf("skills: %+v", s)
	}
	for _, file := range []string{"one.json", "two.json", ".mcp.json", ".cursor/mcp.json", ".mcphub/config.json", "skill/SKILL.md", "skill/mcp.json"} {
		if !slices.Contains(c.Files, filepath.Join(dir, file)) {
			t.Errorf("%s is not among the files to watch", file)
		}
	}
}

// TestBrokenImports: a file that cannot be read is a problem with its place, and everything else runs.
func TestBrokenImports(t *testing.T) {
	deep := strings.Repeat("[", 200)
	dir := tree(t,
		"own.json", `{"settings": {"importConfigs": ["claude", "cursor", "vscode", "codex", "gemini", "windsurf"]}, "mcpServers": {"mine": {"command": "x"}}}`,
		".mcp.json", "{\n  \"mcpServers\": {,}\n}",
		".cursor/mcp.json", "[]",
		".vscode/mcp.json", `{"servers": []}`,
		".codex/config.toml", "[mcp_servers.a]\ncommand = \"x\"\ncommand = hunter2\n",
		".gemini/settings.json", `{"mcpServers": `+deep,
		".mcphub/config.json", "{\"mcpServers\": {\"a\": {\"command\": \"hunter2\\x\"}}}",
	)
	if err := os.MkdirAll(filepath.Join(dir, ".windsurf/mcp_config.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	c := gather(t, nil, filepath.Join(dir, "own.json"))
	if s := c.Server("mine"); s == nil || s.Failed != nil {
		t.Errorf("mine: %+v", s)
	}
	got := strings.ReplaceAll(report(c), dir+"/", "")
	for _, want := range []string{
		".mcp.json:2:18: error: its servers are left out: invalid character ','",
		".cursor/mcp.json: error: its servers are left out: must be an object",
		".vscode/mcp.json:1:13: error: mcpServers: must be an object of servers by name, and is a list",
		".codex/config.toml:3:11: error: its servers are left out: no valid TOML",
		".gemini/settings.json:1:115: error: its servers are left out: nested deeper than 100 levels",
		".windsurf/mcp_config.json: error: its servers are left out: ",
		".mcphub/config.json:1:34: error: its servers are left out: a value that is no valid string",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in\n%s", want, got)
		}
	}
	if strings.Contains(got, "hunter2") {
		t.Errorf("a secret is repeated:\n%s", got)
	}
}

func TestDeepTOMLIsRefused(t *testing.T) {
	for _, text := range []string{
		"a = " + strings.Repeat("[", 1<<20), strings.Repeat("a.", 1<<20) + "a = 1", "[" + strings.Repeat("a.", 200) + "a]",
	} {
		dir := tree(t, "own.json", `{"settings": {"importConfigs": ["codex"]}}`, ".codex/config.toml", text)
		if got := report(gather(t, nil, filepath.Join(dir, "own.json"))); !strings.Contains(got, "nested deeper than 100 levels") {
			t.Errorf("%.20s: %s", text, got)
		}
	}
	shallow := "# " + strings.Repeat("[ a.", 200) + "\na = '" + strings.Repeat("[", 200) + "'\nb = \"\"\"" + strings.Repeat("{\n\\\"", 200) + "\"\"\"\n[mcp_servers.x]\ncommand = \"x\"\n"
	dir := tree(t, "own.json", `{"settings": {"importConfigs": ["codex"]}}`, ".codex/config.toml", shallow)
	if c := gather(t, nil, filepath.Join(dir, "own.json")); len(c.Problems) > 0 || c.Server("x") == nil {
		t.Errorf("brackets in strings and comments count: %v", c.Problems)
	}
}

// TestTrustIsForContent: trust ends with any change, and belongs to one path.
func TestTrustIsForContent(t *testing.T) {
	dir := tree(t, "own.json", `{"settings": {"importConfigs": ["claude"]}}`, ".mcp.json", `{"mcpServers": {"a": {"command": "${HOME}/x"}}}`)
	trust, own := trusting(t, dir, ".mcp.json"), filepath.Join(dir, "own.json")
	if s := gather(t, trust, own).Server("a"); s.Untrusted != "" || s.Command != "/home/me/x" || s.Cwd != dir {
		t.Errorf("trusted: %+v", s)
	}
	before := gather(t, trust, own).Server("a")
	put(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"a": {"command": "${HOME}/x"}}} `)
	after := gather(t, trust, own).Server("a")
	if after.Untrusted != dir || after.Command != "${HOME}/x" || after.Failed != nil || after.Equal(before) {
		t.Errorf("changed: %+v", after)
	}
}

func TestTrustFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "trust.json")
	trust, err := config.LoadTrust(path)
	if err != nil {
		t.Fatal(err)
	}
	trust.Add("/p/.mcp.json", []byte("one"))
	trust.Add("/p/.cursor/mcp.json", []byte("two"))
	trust.Add("/pq/.mcp.json", []byte("three"))
	if err := trust.Save(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	again, err := config.LoadTrust(path)
	if err != nil {
		t.Fatal(err)
	}
	if !again.Trusts("/p/.mcp.json", []byte("one")) || again.Trusts("/p/.mcp.json", []byte("two")) || again.Trusts("/q", []byte("one")) {
		t.Error("what was trusted is not what is trusted")
	}
	wantStrings(t, again.Revoke("/p"), []string{"/p/.cursor/mcp.json", "/p/.mcp.json"})
	if again.Trusts("/p/.mcp.json", []byte("one")) || !again.Trusts("/pq/.mcp.json", []byte("three")) {
		t.Error("revoking took the wrong ones")
	}
	put(t, path, `{"files": 1}`)
	if broken, err := config.LoadTrust(path); err == nil || !strings.Contains(err.Error(), path) || broken.Trusts("/pq/.mcp.json", []byte("three")) {
		t.Errorf("a broken file: %v", err)
	}
}

func TestProjectDir(t *testing.T) {
	dir := tree(t,
		"conf/own.json", `{"settings": {"projectDir": "../work/${EMPTY:-p}"}}`,
		"conf/lost.json", `{"settings": {"projectDir": "nowhere"}}`,
		"conf/wrong.json", `{"settings": {"projectDir": "${NOPE}", "skills": ["${"]}}`,
		"work/p/.mcphub/config.json", `{"mcpServers": {"a": {"command": "x"}}}`,
	)
	if err := os.Symlink(filepath.Join(dir, "conf"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, own := range []string{"conf/own.json", "link/own.json"} {
		c := gather(t, nil, filepath.Join(dir, own))
		if s := c.Server("a"); s == nil || s.Untrusted != filepath.Join(dir, "work/p") || c.Settings.ProjectDir != s.Untrusted {
			t.Errorf("%s: %+v", own, s)
		}
	}
	wantStrings(t, messages(gather(t, nil, filepath.Join(dir, "conf/lost.json"))), []string{
		"lost.json:1:29: warning: settings.projectDir: there is no such directory; make it, or name another"})
	wantStrings(t, messages(gather(t, nil, filepath.Join(dir, "conf/wrong.json"))), []string{
		"wrong.json:1:29: error: settings.projectDir: not set in the hub's environment: NOPE; set what is missing, or write ${NAME:-default}",
		"wrong.json:1:51: error: settings.skills[0]: a ${ has no }; close it, or write $${ for a literal ${"})
}

// TestOwnFileIsNotImported: a file that is the operator's own is trusted, wherever it lies.
func TestOwnFileIsNotImported(t *testing.T) {
	dir := tree(t, ".mcp.json", `{"settings": {"importConfigs": ["claude"]}, "mcpServers": {"a": {"command": "x"}}}`)
	c := gather(t, nil, filepath.Join(dir, ".mcp.json"))
	if s := c.Server("a"); s.Source != config.SourceFile || s.Untrusted != "" || len(c.Problems) > 0 {
		t.Errorf("%+v %v", s, c.Problems)
	}
}

func FuzzImport(f *testing.F) {
	err := filepath.WalkDir("testdata/imports/project", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		f.Add(filepath.Base(filepath.Dir(path)), data)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add("skill", []byte("---\nname: s\nmcp:\n  a: &x {command: x}\n  b: *x\n---\n"))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		for _, name := range config.Clients() {
			_, problems := config.ReadClient(name, "fuzz", data)
			for _, p := range problems {
				if p.Message == "" {
					t.Errorf("no message: %+v", p)
				}
			}
		}
		if kind == "skill" {
			dir := tree(t, "own.json", `{"settings": {"skills": ["."]}}`, "SKILL.md", string(data))
			gather(t, nil, filepath.Join(dir, "own.json"))
		}
	})
}
