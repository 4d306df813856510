package config

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
	"go.yaml.in/yaml/v3"
)

// skill reads one directory and reports whether it is a skill that carries servers.
func (l skillReader) skill(dir string) bool {
	path := filepath.Join(dir, skillFile)
	data, ok := l.fetch(path)
	servers, beside := l.fetch(filepath.Join(dir, skillServers))
	if !ok {
		return false
	}
	src, err := newSource(path, data)
	if err != nil {
		l.unreadable(err)
		return true
	}
	front, err := frontMatter(src)
	if err != nil {
		l.unreadable(err)
	}
	s := Skill{Name: scalarText(front, "name"), Description: scalarText(front, "description"), Dir: dir, Text: string(data)}
	at := place{src: src}
	if !l.nameSkill(&s, at) {
		return true
	}
	before := len(l.entries)
	from := origin{source: SourceSkill, skill: s.Name, dir: dir, variables: map[string]string{"SKILL_DIR": dir}}
	carries := l.carried(front, at, from)
	if beside {
		l.besideSkill(filepath.Join(dir, skillServers), servers, from)
	}
	for _, e := range l.entries[before:] {
		s.Servers = append(s.Servers, e.server.Name)
	}
	if carries = carries || beside; carries {
		l.skills = append(l.skills, s)
	}
	return carries
}

// nameSkill settles the name, which is part of a URI and a prompt's name.
func (l skillReader) nameSkill(s *Skill, at place) bool {
	if s.Name != "" && !serverName.MatchString(s.Name) {
		l.hub.warnf(at, "the skill's name must start with a letter or digit and have up to 64 letters, digits, '_', '.' and '-'; until then it is called like its directory")
		s.Name = ""
	}
	if s.Name == "" {
		s.Name = filepath.Base(s.Dir)
	}
	if !serverName.MatchString(s.Name) {
		l.hub.errorf(at, "the skill has no name that can be used; give it one of letters and digits in its front matter")
		return false
	}
	for _, other := range l.skills {
		if other.Name == s.Name {
			l.hub.warnf(at, "has no effect: %s is a skill of the same name", filepath.Join(other.Dir, skillFile))
			return false
		}
	}
	return true
}

// carried takes the block mcp of the front matter: servers by name, or an object that has them in mcpServers.
func (l skillReader) carried(front hujson.Value, at place, from origin) bool {
	block := get(membersOf(front), "mcp")
	if block.Value == nil {
		return false
	}
	at = at.member("mcp", block.StartOffset)
	for _, key := range []string{"mcpServers", "servers"} {
		if inner := get(membersOf(block), key); inner.Value != nil {
			block, at = inner, at.member(key, inner.StartOffset)
			break
		}
	}
	l.servers(block, at, from)
	return true
}

// besideSkill takes the servers of mcp.json: in mcpServers, or by name at the top.
func (l skillReader) besideSkill(path string, data []byte, from origin) {
	src, root, err := parseSource(path, data)
	if err != nil {
		l.unreadable(err)
		return
	}
	if get(membersOf(root), "mcpServers").Value == nil && get(membersOf(root), "servers").Value == nil {
		l.servers(root, place{src: src, off: root.StartOffset}, from)
		return
	}
	l.imported(root, src, from, func(at place, _ string) {
		l.hub.warnf(at, `means nothing to the hub and is left out; an mcp.json has "mcpServers"`)
	})
}

func membersOf(v hujson.Value) []hujson.ObjectMember {
	if object, ok := v.Value.(*hujson.Object); ok {
		return object.Members
	}
	return nil
}

func scalarText(v hujson.Value, name string) string {
	lit, _ := get(membersOf(v), name).Value.(hujson.Literal)
	if lit.Kind() != '"' {
		return ""
	}
	return lit.String()
}

// frontMatter reads the YAML between the first line, ---, and the next such line. Without any it is an empty value.
func frontMatter(src *source) (hujson.Value, error) {
	text := src.data
	first, rest, _ := bytes.Cut(text, []byte("\n"))
	if strings.TrimRight(string(first), " \t\r") != "---" {
		return hujson.Value{}, nil
	}
	end := 0
	for line := range bytes.Lines(rest) {
		if strings.TrimRight(string(line), " \t\r\n") == "---" {
			var doc yaml.Node
			if err := yaml.Unmarshal(rest[:end], &doc); err != nil {
				return hujson.Value{}, src.failure(0, "the front matter is no valid YAML (%s)", yamlLine(err))
			}
			y := yamlTree{src}
			if len(doc.Content) == 0 {
				return hujson.Value{}, nil
			}
			return y.value(doc.Content[0], 0)
		}
		end += len(line)
	}
	return hujson.Value{}, src.failure(0, "the front matter has no end; close it with a line ---")
}

// yamlLine keeps what the library says of the place, and not what it quotes.
func yamlLine(err error) string {
	place, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), "yaml: "), ":")
	if rest, ok := strings.CutPrefix(place, "line "); ok {
		if n, err := strconv.Atoi(rest); err == nil {
			return "line " + strconv.Itoa(n+1) // the front matter starts on line 2
		}
	}
	return "check its indentation and quotes"
}

// yamlTree turns YAML into the tree that the decoder takes.
type yamlTree struct{ src *source }

// offset is where a node stands; the library counts lines of the front matter from 1 and columns in characters.
func (y yamlTree) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line >= len(y.src.lines) {
		return 0
	}
	off := y.src.lines[n.Line]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(y.src.data[off:])
		off += size
	}
	return min(off, len(y.src.data)-1)
}

func (y yamlTree) value(n *yaml.Node, depth int) (hujson.Value, error) {
	out := hujson.Value{StartOffset: y.offset(n)}
	if depth > maxDepth {
		return out, y.src.failure(out.StartOffset, "nested deeper than %d levels", maxDepth)
	}
	switch n.Kind {
	case yaml.MappingNode:
		object := &hujson.Object{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			value, err := y.value(n.Content[i+1], depth+1)
			if err != nil {
				return out, err
			}
			name := hujson.Value{StartOffset: y.offset(n.Content[i]), Value: scalar(n.Content[i].Value)}
			object.Members = append(object.Members, hujson.ObjectMember{Name: name, Value: value})
		}
		out.Value = object
	case yaml.SequenceNode:
		array := &hujson.Array{}
		for _, element := range n.Content {
			value, err := y.value(element, depth+1)
			if err != nil {
				return out, err
			}
			array.Elements = append(array.Elements, value)
		}
		out.Value = array
	case yaml.ScalarNode:
		var v any
		if err := n.Decode(&v); err != nil {
			return out, y.src.failure(out.StartOffset, "a value that is no valid YAML")
		}
		out.Value = yamlScalar(n, v)
	default: // aliases: a few lines of them can stand for more than memory holds
		return out, y.src.failure(out.StartOffset, "an alias (*name) is not supported; write the value")
	}
	return out, nil
}

func yamlScalar(n *yaml.Node, v any) hujson.Literal {
	switch v := v.(type) {
	case nil:
		return hujson.Literal("null")
	case int:
		return hujson.Int(int64(v))
	case bool, int64, float64:
		return scalar(v)
	}
	return scalar(n.Value) // dates and what else is text to us
}
