package config_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const browserSkill = `---
name: browser
description: >-
  Drives a browser.
mcp:
  playwright:
    command: npx
    args: ["-y", "@playwright/mcp@latest", 8931]
    includeTools:
      - browser_*
  local:
    command: ${SKILL_DIR}/run
    requestTimeoutMs: 5_000
    disabled: no
---

# Browser

Open pages with care.
`

func TestSkills(t *testing.T) {
	dir := tree(t,
		"own.json", `{"settings": {"skills": ["skills", "one"]}, "mcpServers": {"taken": {"command": "x"}}}`,
		"skills/browser/SKILL.md", browserSkill,
		"skills/plain/SKILL.md", "# Plain\n\nNo servers.\n",
		"skills/tables/SKILL.md", "# Tables\n",
		"skills/tables/mcp.json", `{"sheets": {"url": "https://a.example"}, /* lost */ "taken": {"command": "y"}}`,
		"skills/notes.txt", "x",
		"one/SKILL.md", "---\nname: \"not a name\"\n---\n",
		"one/mcp.json", `{"mcpServers": {"single": {"command": "z"}}, "other": 1}`,
	)
	c := gather(t, nil, filepath.Join(dir, "own.json"))
	wantStrings(t, names(c), []string{"taken", "playwright", "local", "sheets", "single"})
	got := strings.ReplaceAll(report(c), dir+"/", "")
	want := `skills/browser/SKILL.md:8:44: error: mcp.playwright.args[2]: must be a string, and is a number; put it in quotes
skills/browser/SKILL.md:14:15: error: mcp.local.disabled: must be true or false, and is a string
skills/tables/mcp.json:1:53: warning: taken: has no effect: own.json:1 has a server of the same name
one/SKILL.md:1:1: warning: the skill's name must start with a letter or digit and have up to 64 letters, digits, '_', '.' and '-'; until then it is called like its directory
one/mcp.json:1:46: warning: other: means nothing to the hub and is left out; an mcp.json has "mcpServers"
failed: playwright
failed: local
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if len(c.Skills) != 3 {
		t.Fatalf("skills: %+v", c.Skills)
	}
	browser, tables, one := c.Skills[0], c.Skills[1], c.Skills[2]
	if browser.Name != "browser" || browser.Description != "Drives a browser." || browser.Text != browserSkill || !slices.Equal(browser.Servers, []string{"playwright", "local"}) {
		t.Errorf("browser: %+v", browser)
	}
	if tables.Name != "tables" || !slices.Equal(tables.Servers, []string{"sheets"}) || one.Name != "one" {
		t.Errorf("%+v %+v", tables, one)
	}
	s := c.Server("playwright")
	if s.Skill != "browser" || s.Source != "skill" || s.Untrusted != "" || s.Cwd != browser.Dir || !slices.Equal(s.IncludeTools, []string{"browser_*"}) {
		t.Errorf("playwright: %+v", s)
	}
	if got := c.Server("local").Command; got != filepath.Join(browser.Dir, "run") {
		t.Errorf("SKILL_DIR: %s", got)
	}
	if !slices.Contains(c.Files, filepath.Join(dir, "skills")) || !slices.Contains(c.Files, filepath.Join(dir, "skills/plain/mcp.json")) {
		t.Errorf("files: %q", c.Files)
	}
}

func TestBrokenSkills(t *testing.T) {
	for front, want := range map[string]string{
		"---\nname: x\n":      "the front matter has no end",
		"---\nname: [\n---\n": "the front matter is no valid YAML",
		"---\nmcp:\n  a: &a {command: x}\n  b: *a\n---\n":  "SKILL.md:4:6: error: its servers are left out: an alias",
		"---\nmcp: [a]\n---\n":                             "mcp: must be an object of servers by name, and is a list",
		"---\nmcp:\n  a: {command: x}\n  a: {}\n---\n":     "this server is there twice",
		"---\nmcp:\n  a: {comand: x}\n---\n":               `unknown key; did you mean "command"?`,
		"---\nmcp:\n  servers:\n    a: {comand: x}\n---\n": "mcp.servers.a.comand: unknown key",
		"# nothing\n": "carries no servers",
		"---\n" + strings.Repeat(" ", 0) + "mcp: " + strings.Repeat("[", 300) + strings.Repeat("]", 300) + "\n---\n": "nested deeper",
	} {
		dir := tree(t, "own.json", `{"settings": {"skills": ["s"]}, "mcpServers": {"mine": {"command": "x"}}}`, "s/SKILL.md", front)
		c := gather(t, nil, filepath.Join(dir, "own.json"))
		if got := report(c); !strings.Contains(got, want) {
			t.Errorf("%.40q: %q is not in\n%s", front, want, got)
		}
		if c.Server("mine") == nil {
			t.Errorf("%.40q took the others away", front)
		}
	}
	dir := tree(t, "own.json", `{"settings": {"skills": ["nowhere"]}}`)
	wantStrings(t, messages(gather(t, nil, filepath.Join(dir, "own.json"))), []string{
		"own.json:1:26: warning: settings.skills[0]: holds no skill: neither it nor a directory in it has SKILL.md with servers"})
}

func TestSkillsOfOneName(t *testing.T) {
	skill := "---\nname: same\nmcp: {NAME: {command: x}}\n---\n"
	dir := tree(t, "own.json", `{"settings": {"skills": ["s"]}}`,
		"s/a/SKILL.md", strings.Replace(skill, "NAME", "one", 1), "s/b/SKILL.md", strings.Replace(skill, "NAME", "two", 1))
	c := gather(t, nil, filepath.Join(dir, "own.json"))
	wantStrings(t, names(c), []string{"one"})
	if got := report(c); !strings.Contains(got, "has no effect: "+filepath.Join(dir, "s/a/SKILL.md")+" is a skill of the same name") {
		t.Error(got)
	}
}
