package hub

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// catalog is everything that is published at one moment. It is never changed once it is in use.
type catalog struct {
	change  int64   // of the hub's count, when it was built
	tools   []*tool // in the order of the list
	byName  map[string]*tool
	session []byte              // the result of tools/list for session clients
	modern  []byte              // and for stateless ones
	notes   map[string][]string // by server: what was dropped, repaired or renamed
}

// build merges the servers' offers. Order follows the configuration, then each server's own list.
func build(set *config.Settings, servers []*upstream.Server, serverInfo []byte) *catalog {
	c := &catalog{byName: map[string]*tool{}, notes: map[string][]string{}}
	for _, s := range servers {
		if offer := s.Offer(); offer != nil {
			c.notes[s.Name()] = append(c.notes[s.Name()], offer.Notes...)
			c.add(s, offer)
		}
	}
	c.name(set)
	for _, t := range c.tools {
		c.byName[t.name] = t
	}
	c.session = appendList(nil, c.tools, nil)
	c.modern = appendList(nil, c.tools, modernListMembers(serverInfo))
	return c
}

// modernListMembers are the members that the stateless era adds to a list that the hub makes.
func modernListMembers(serverInfo []byte) []byte {
	out := []byte(`,"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":`)
	return append(out, metaOf(serverInfo)...)
}

// appendList writes the result of a tools/list with more members behind the tools.
func appendList(out []byte, tools []*tool, more []byte) []byte {
	size := len(more) + 16
	for _, t := range tools {
		size += len(t.raw) + 1
	}
	out = append(slices.Grow(out, size), `{"tools":[`...)
	for i, t := range tools {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, t.raw...)
	}
	return append(append(append(out, ']'), more...), '}')
}

func (c *catalog) note(server, format string, args ...any) {
	c.notes[server] = append(c.notes[server], fmt.Sprintf(format, args...))
}

// add takes the tools of one server that its entry lets through.
func (c *catalog) add(s *upstream.Server, offer *upstream.Offer) {
	cfg := s.Config()
	seen := map[string]bool{}
	for _, raw := range offer.Tools {
		t, note, err := newTool(raw, s)
		switch {
		case err != nil:
			c.note(s.Name(), "%v; it is not published", err)
			continue
		case seen[t.own]:
			c.note(s.Name(), "tool %q is listed twice; the first is published", t.own)
			continue
		}
		seen[t.own] = true
		if !cfg.Includes(t.own) {
			continue
		}
		if note != "" {
			c.note(s.Name(), "%s", note)
		}
		c.tools = append(c.tools, t)
	}
	for _, unused := range cfg.Unmatched(slices.Collect(maps.Keys(seen))) {
		c.note(s.Name(), "%q in its entry matches no tool of the server", unused)
	}
}

// name gives every tool its published name. Where two would be equal, both get a suffix; a bare name
// gives way to an earlier server's by taking its prefix back.
func (c *catalog) name(set *config.Settings) {
	holders := map[string][]*tool{}
	for _, t := range c.tools {
		name := publish(set, t.server.Name(), t.part(), t.server.Config().BareNames)
		if first := holders[name]; t.server.Config().BareNames && len(first) > 0 && first[0].server != t.server {
			c.note(t.server.Name(), "tool %q keeps its prefix: server %q already publishes %q", t.own, first[0].server.Name(), name)
			name = publish(set, t.server.Name(), t.part(), false)
		}
		holders[name] = append(holders[name], t)
	}
	for name, tools := range holders {
		for _, t := range tools {
			if len(tools) > 1 {
				other := tools[0]
				if other == t {
					other = tools[1]
				}
				c.note(t.server.Name(), "tool %q and tool %q of server %q would both be %q; both have a suffix", t.own, other.own, other.server.Name(), name)
				t.rename(suffixed(set, name, t.server.Name(), t.own))
				continue
			}
			t.rename(name)
		}
	}
}

// part is the tool's part of its published name.
func (t *tool) part() string { return cmp.Or(t.server.Config().Tools[t.own].Name, t.own) }

// find looks a tool up by its published name, a raw JSON string. Published names need no escapes.
func (c *catalog) find(quoted []byte) *tool {
	if t := c.byName[string(quoted[1:len(quoted)-1])]; t != nil {
		return t
	}
	return c.byName[wire.String(quoted)]
}

// sameList says whether two catalogs look alike to clients.
func (c *catalog) sameList(o *catalog) bool { return bytes.Equal(c.session, o.session) }

// page is the tools from number from on, at most n; n 0 means all. next is the number to go on from, 0 at the end.
func (c *catalog) page(from, n int) (tools []*tool, next int) {
	to := len(c.tools)
	if n > 0 && from+n < to {
		to, next = from+n, from+n
	}
	return c.tools[from:to], next
}
