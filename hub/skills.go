package hub

import (
	"slices"

	"mcphub/config"
	"mcphub/wire"
)

// skill is a skill as it is published: its text, and the tools that reading it reveals.
type skill struct {
	config.Skill
	tools []item
}

// uri is the resource that a skill's text is.
func (s *skill) uri() string { return "skill://" + s.Name + "/SKILL.md" }

// skills are those of a catalog. Nothing else is published by their names.
type skills []*skill

func newSkills(of []config.Skill) (all skills) {
	for _, one := range of {
		all = append(all, &skill{Skill: one})
	}
	return all
}

// named is the skill of that name, which is its prompt's too; nil where there is none.
func (all skills) named(name string) *skill {
	return all.find(func(s *skill) bool { return s.Name == name })
}

// at is the skill whose text a URI is, nil where it is none.
func (all skills) at(uri string) *skill {
	return all.find(func(s *skill) bool { return s.uri() == uri })
}

func (all skills) find(is func(*skill) bool) *skill {
	if i := slices.IndexFunc(all, is); i >= 0 {
		return all[i]
	}
	return nil
}

// resource describes a skill's text.
func (s *skill) resource() item {
	return item{key: s.uri(), raw: wire.Splice(s.described(), wire.Edit{Key: "uri", Value: wire.Quote(s.uri())},
		wire.Edit{Key: "mimeType", Value: []byte(`"text/markdown"`)})}
}

// prompt describes the prompt that is a skill's text.
func (s *skill) prompt() item { return item{key: s.Name, raw: s.described()} }

func (s *skill) described() []byte {
	edits := []wire.Edit{{Key: "name", Value: wire.Quote(s.Name)}}
	if s.Description != "" {
		edits = append(edits, wire.Edit{Key: "description", Value: wire.Quote(s.Description)})
	}
	return wire.Splice(nil, edits...)
}

// contents is the result of resources/read.
func (s *skill) contents() []byte {
	part := wire.Splice(nil, wire.Edit{Key: "uri", Value: wire.Quote(s.uri())}, wire.Edit{Key: "mimeType", Value: []byte(`"text/markdown"`)},
		wire.Edit{Key: "text", Value: wire.Quote(s.Text)})
	return append(append([]byte(`{"contents":[`), part...), `]}`...)
}

// messages is the result of prompts/get.
func (s *skill) messages() []byte {
	return append(append([]byte(`{"messages":[{"role":"user","content":{"type":"text","text":`), wire.Quote(s.Text)...), `}}]}`...)
}

// reveal lists a skill's tools to the session that has read it, from now on. A client without a session sees one list only,
// and calls them by their names.
func (h merged) reveal(c *Client, s *skill) {
	if c.Params == nil || len(s.Servers) == 0 {
		return
	}
	c.mu.Lock()
	known := slices.Contains(c.revealed, s.Name)
	if !known {
		c.revealed = append(c.revealed, s.Name)
	}
	c.mu.Unlock()
	if !known {
		c.unsaved.Store(true)
		c.push(wire.AppendNotification(nil, wire.ToolsChanged, nil))
	}
}

// reveals are the names of the skills that a session has read, in that order.
func (c *Client) reveals() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.revealed)
}

// Unsaved says once that a request has changed what State returns.
func (c *Client) Unsaved() bool { return c.unsaved.Swap(false) }

// listFor is a list as a client sees it: what is revealed to its session stands behind what everybody sees.
func (h merged) listFor(c *Client, method string) *listing {
	now := h.current()
	l := now.lists[method]
	if method != wire.ToolsList {
		return l
	}
	items := l.items
	for _, name := range c.reveals() {
		if s := now.skills.named(name); s != nil {
			items = slices.Concat(items, s.tools)
		}
	}
	if len(items) == len(l.items) {
		return l
	}
	return l.of(items)
}

// tellRevealed tells those of a skill's changed tools who see them.
func (h herald) tellRevealed(v *view, old, now *catalog) {
	for _, s := range now.skills {
		before := old.skills.named(s.Name)
		if before != nil && slices.EqualFunc(before.tools, s.tools, func(a, b item) bool { return string(a.raw) == string(b.raw) }) {
			continue
		}
		h.tellAll(wire.ToolsChanged, func(c *Client) bool {
			return c.Server == "" && h.viewOf(c) == v && slices.Contains(c.reveals(), s.Name)
		})
	}
}
