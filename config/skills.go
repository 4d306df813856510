package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Skill is a directory with instructions for models, which may carry servers whose tools are revealed when it is read.
type Skill struct {
	Name        string   // of its front matter, else of its directory
	Description string   // of its front matter
	Dir         string   // where it is
	Text        string   // of its SKILL.md, front matter and all
	Servers     []string // that it carries
}

// skillFile is what makes a directory a skill.
const skillFile = "SKILL.md"

// addSkills reads the directories of the setting skills: each is a skill, or has some.
func (l *loader) addSkills() {
	for i, dir := range l.settings.Skills {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(l.project, dir)
		}
		dirs := []string{dir}
		if _, err := os.Stat(filepath.Join(dir, skillFile)); err != nil {
			entries, err := os.ReadDir(dir)
			if err != nil {
				l.hub.warnf(l.settingAt(fmt.Sprintf("skills[%d]", i)), "cannot be read: %v", err)
				continue
			}
			dirs = []string{dir} // which may become one
			for _, e := range entries {
				dirs = append(dirs, filepath.Join(dir, e.Name()))
			}
		}
		for _, dir := range dirs {
			l.addSkill(dir)
		}
	}
}

// addSkill reads one skill, if there is one.
func (l *loader) addSkill(dir string) {
	path := filepath.Join(dir, skillFile)
	l.looked = append(l.looked, path)
	text, err := readFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var front struct {
		Name        string    `yaml:"name"`
		Description string    `yaml:"description"`
		MCP         yaml.Node `yaml:"mcp"`
	}
	if err == nil {
		err = yaml.Unmarshal(frontMatter(text), &front)
	}
	if err != nil {
		l.hub.problems = append(l.hub.problems, Problem{File: path, Severity: Warning, Message: err.Error() + "; the skill is left out"})
		return
	}
	skill := Skill{Name: front.Name, Description: front.Description, Dir: dir, Text: string(text)}
	if skill.Name == "" {
		skill.Name = filepath.Base(dir)
	}
	if !serverName.MatchString(skill.Name) || slices.ContainsFunc(l.skills, func(s Skill) bool { return s.Name == skill.Name }) {
		l.hub.problems = append(l.hub.problems, Problem{File: path, Severity: Warning, Message: fmt.Sprintf(
			"the skill is left out: its name %q is taken, or has other than letters, digits, '_', '.' and '-'", skill.Name)})
		return
	}
	mark := func(s *Server) {
		s.Source, s.Skill = SourceSkill, skill.Name
		if s.Cwd == "" && s.Command != "" {
			s.Cwd = dir // where its scripts are
		}
		skill.Servers = append(skill.Servers, s.Name)
	}
	l.skillServers(path, &front.MCP, mark)
	l.skillFile(filepath.Join(dir, "mcp.json"), mark)
	l.skills = append(l.skills, skill)
}

// skillServers takes the block mcp of a skill's front matter: entries by name.
func (l *loader) skillServers(path string, block *yaml.Node, mark func(*Server)) {
	if block.IsZero() {
		return
	}
	var servers map[string]any
	err := block.Decode(&servers)
	var text []byte
	if err == nil {
		if inner, ok := servers["mcpServers"].(map[string]any); ok && len(servers) == 1 {
			servers = inner
		}
		text, err = json.Marshal(map[string]any{"mcpServers": servers})
	}
	if err == nil {
		src, root, parseErr := parseSource(path, text)
		if err = parseErr; err == nil {
			src.madeUp = true
			l.take(src, root, mark)
		}
	}
	if err != nil {
		l.hub.problems = append(l.hub.problems, Problem{File: path, Severity: Warning, Message: "mcp: " + err.Error() + "; its servers are left out"})
	}
}

// skillFile takes the file mcp.json of a skill.
func (l *loader) skillFile(path string, mark func(*Server)) {
	l.looked = append(l.looked, path)
	data, err := readFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		src, root, parseErr := parseSource(path, data)
		if err = parseErr; err == nil {
			l.take(src, root, mark)
		}
	}
	if err != nil {
		l.hub.problems = append(l.hub.problems, Problem{File: path, Severity: Warning, Message: err.Error() + "; its servers are left out"})
	}
}

// frontMatter is the YAML between the first line and the next "---".
func frontMatter(text []byte) []byte {
	text = bytes.ReplaceAll(bytes.TrimPrefix(text, []byte("\ufeff")), []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	if !ok {
		return nil
	}
	if end := bytes.Index(append([]byte("\n"), rest...), []byte("\n---")); end >= 0 {
		return rest[:end]
	}
	return nil
}
