package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/config"
)

// lay writes files below a new directory, by their paths.
func lay(t testing.TB, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		put(t, filepath.Join(dir, name), text)
	}
	return dir
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// gather loads dir/hub.json and what it names; what dir/trust.json holds is trusted.
func gather(t testing.TB, dir string) *config.Config {
	t.Helper()
	c, err := config.Sources{
		Files: []string{filepath.Join(dir, "hub.json")}, Trust: filepath.Join(dir, "trust.json"), Env: os.LookupEnv,
	}.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// trust trusts the files below dir that are there.
func trust(t testing.TB, dir string) {
	t.Helper()
	known, err := config.ReadTrust(filepath.Join(dir, "trust.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range config.Trustable(dir) {
		if text, err := os.ReadFile(file); err == nil {
			known.Add(file, text)
		}
	}
	if err := known.Save(); err != nil {
		t.Fatal(err)
	}
}

// summary is where each server comes from, and what it runs.
func summary(c *config.Config) (lines []string) {
	for _, s := range c.Servers {
		line := fmt.Sprintf("%s %s%s", s.Name, s.Source, s.Command)
		if s.Untrusted != "" {
			line += " untrusted"
		}
		if !s.Enabled {
			line += " off"
		}
		lines = append(lines, line)
	}
	return lines
}

var sources = map[string]string{
	"hub.json":            `{"settings": {"importConfigs": ["claude", "cursor"], "skills": ["skills"]}, "mcpServers": {"mine": {"command": "own"}, "off": {"command": "own", "enabled": false}}}`,
	".mcp.json":           `{"mcpServers": {"mine": {"command": "c"}, "off": {"command": "c"}, "claudes": {"command": "c", "env": {"T": "${GATHER_SECRET}"}}}}`,
	".cursor/mcp.json":    `{"mcpServers": {"claudes": {"command": "u"}, "cursors": {"command": "u"}}}`,
	".mcphub/config.json": `{"settings": {"enabled": false}, "mcpServers": {"cursors": {"command": "p"}, "projects": {"command": "p"}}}`,
	"skills/pdf/SKILL.md": "---\nname: pdf\ndescription: Reads PDFs\nmcp:\n  pages:\n    command: k\n  projects:\n    command: k\n---\n# How\n",
	"skills/pdf/mcp.json": `{"mcpServers": {"marks": {"command": "k", "includeTools": ["add*"]}}}`,
	"skills/web/SKILL.md": "# Without front matter\n",
	"skills/notes.txt":    "no skill",
}

// TestSources has every source there is, and each name in two of them.
func TestSources(t *testing.T) {
	t.Setenv("GATHER_SECRET", "hush")
	dir := lay(t, sources)
	c := gather(t, dir)
	want := []string{
		"mine own", "off own off", "claudes importc untrusted", "cursors importu untrusted", "projects projectp untrusted",
		"pages skillk", "marks skillk",
	}
	if got := summary(c); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if env := c.Server("claudes").Env["T"]; env != "${GATHER_SECRET}" {
		t.Errorf("what is not trusted was expanded to %q", env)
	}
	lost := 0
	for _, p := range c.Problems {
		if p.Severity != config.Warning {
			t.Errorf("%v", p)
		}
		if strings.Contains(p.Message, "has a server of the same name, and wins") {
			lost++
		}
	}
	if lost != 5 { // mine, off, claudes, cursors, projects
		t.Errorf("%d losses in %v", lost, c.Problems)
	}
	trust(t, dir)
	c = gather(t, dir)
	if got := summary(c); strings.Contains(strings.Join(got, " "), "untrusted") || c.Server("claudes").Env["T"] != "hush" {
		t.Errorf("trusted: %q, %v", got, c.Server("claudes").Env)
	}
	put(t, filepath.Join(dir, ".mcp.json"), strings.Replace(sources[".mcp.json"], `"c"`, `"rm"`, 1))
	if got := summary(gather(t, dir)); !slices.Contains(got, "claudes importc untrusted") || slices.Contains(got, "projects projectp untrusted") {
		t.Errorf("with one file changed: %q", got)
	}
	for _, file := range []string{"hub.json", ".mcp.json", ".cursor/mcp.json", ".mcphub/config.json", "skills/pdf/SKILL.md", "skills/pdf/mcp.json", "trust.json"} {
		if path := filepath.Join(dir, file); !slices.Contains(c.Files, path) {
			t.Errorf("%s is not among the files that were looked for: %q", path, c.Files)
		}
	}
}

// TestSkills reads what skills say of themselves.
func TestSkills(t *testing.T) {
	dir := lay(t, sources)
	c := gather(t, dir)
	if len(c.Skills) != 2 {
		t.Fatalf("%+v", c.Skills)
	}
	pdf, web := c.Skills[0], c.Skills[1]
	if pdf.Name != "pdf" || pdf.Description != "Reads PDFs" || !strings.HasSuffix(pdf.Text, "# How\n") || strings.Join(pdf.Servers, " ") != "pages marks" {
		t.Errorf("%+v", pdf)
	}
	if web.Name != "web" || web.Text != sources["skills/web/SKILL.md"] || web.Servers != nil {
		t.Errorf("%+v", web)
	}
	if s := c.Server("marks"); s.Skill != "pdf" || s.Cwd != filepath.Join(dir, "skills/pdf") || s.IncludeTools[0] != "add*" {
		t.Errorf("%+v", s)
	}
}

// TestBrokenSources leave everything else as it is.
func TestBrokenSources(t *testing.T) {
	files := map[string]string{
		"hub.json":            `{"settings": {"importConfigs": ["claude", "cursor", "vscode"], "skills": ["s", "gone"]}, "mcpServers": {"mine": {"command": "own"}}}`,
		".mcp.json":           `{"mcpServers": {`,
		".cursor/mcp.json":    `[]`,
		".mcphub/config.json": `{"mcpServers": {"bad name": {"command": "p"}, "good": {"command": "p"}}}`,
		"s/a/SKILL.md":        "---\nname: [\n---\n",
		"s/b/SKILL.md":        "---\nname: b c\n---\n",
		"s/c/SKILL.md":        "---\nmcp: 1\n---\n",
		"s/d/SKILL.md":        "---\nname: c\n---\n",
		"s/e/mcp.json":        `{"mcpServers": {"no skill": {}}}`,
		"s/f/SKILL.md":        "",
		"s/f/mcp.json":        `{`,
	}
	dir := lay(t, files)
	trust(t, dir)
	c := gather(t, dir)
	if got := summary(c); !slices.Equal(got, []string{"mine own", "bad name projectp", "good projectp"}) {
		t.Errorf("%q", got)
	}
	if len(c.Server("bad name").Failed) == 0 || len(c.Server("good").Failed) > 0 {
		t.Error("the wrong one has failed")
	}
	for file, want := range map[string]string{
		".mcp.json": "its servers are left out", ".cursor/mcp.json": "must be an object", "s/a/SKILL.md": "the skill is left out", "s/b/SKILL.md": `its name "b c"`,
		"s/c/SKILL.md": "its servers are left out", "s/d/SKILL.md": `its name "c" is taken`, "s/f/mcp.json": "its servers are left out", "hub.json": "cannot be read",
	} {
		if !slices.ContainsFunc(c.Problems, func(p config.Problem) bool {
			return p.File == filepath.Join(dir, file) && p.Severity == config.Warning && strings.Contains(p.Message, want)
		}) {
			t.Errorf("%s: no problem says %q in %v", file, want, c.Problems)
		}
	}
}

// TestPreview shows what a file would run, before it is trusted.
func TestPreview(t *testing.T) {
	dir := lay(t, sources)
	servers, err := config.Preview(dir, filepath.Join(dir, ".mcp.json"))
	if err != nil || len(servers) != 3 || servers[2].Command != "c" {
		t.Errorf("%+v, %v", servers, err)
	}
	put(t, filepath.Join(dir, ".mcp.json"), `{`)
	if _, err := config.Preview(dir, filepath.Join(dir, ".mcp.json")); err == nil {
		t.Error("a broken file has a preview")
	}
}

// TestTrust is of a file's content and place, however that is reached.
func TestTrust(t *testing.T) {
	dir := lay(t, map[string]string{"p/.mcp.json": "x"})
	if err := os.Symlink(filepath.Join(dir, "p"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "state", "trust.json")
	known, err := config.ReadTrust(path)
	if err != nil {
		t.Fatal(err)
	}
	known.Add(filepath.Join(dir, "p/.mcp.json"), []byte("x"))
	if err := known.Save(); err != nil {
		t.Fatal(err)
	}
	if known, err = config.ReadTrust(path); err != nil {
		t.Fatal(err)
	}
	if !known.Holds(filepath.Join(dir, "link/.mcp.json"), []byte("x")) {
		t.Error("not by a link")
	}
	if known.Holds(filepath.Join(dir, "p/.mcp.json"), []byte("y")) || known.Holds(filepath.Join(dir, "q/.mcp.json"), []byte("x")) {
		t.Error("another content, or another file, is trusted")
	}
	if gone := known.Revoke(filepath.Join(dir, "link")); len(gone) != 0 {
		t.Errorf("the link holds no file of its own: %q", gone)
	}
	if gone := known.Revoke(filepath.Join(dir, "p")); len(gone) != 1 || known.Holds(filepath.Join(dir, "p/.mcp.json"), []byte("x")) {
		t.Errorf("revoked: %q", gone)
	}
	put(t, path, "{")
	if _, err := config.ReadTrust(path); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("%v", err)
	}
}
