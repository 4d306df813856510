package hub

import (
	"fmt"
	"maps"
	"slices"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// route says whose something is and what its owner calls it.
type route struct {
	server *upstream.Server
	own    string
}

// leftOut is a tool of a server that is not published, and why.
type leftOut struct {
	route
	key       string // the field of the server's entry that keeps it out, as config.Server.Place takes it
	malformed error  // where it is none
}

// catalog is everything that is published at one moment. It is never changed once it is in use.
type catalog struct {
	change    int64                       // of the hub's count, when it was built
	servers   map[string]*upstream.Server // the form of a URI is a server's before that has said anything
	tools     []*tool
	byName    map[string]*tool
	blocked   map[string]*tool // by the name that they would have
	skills    skills
	prompts   map[string]route    // by published name
	resources map[string]route    // by published URI
	templates []template          // the most specific first
	moved     map[route]string    // published URIs that are not their servers' own
	readable  []*upstream.Server  // those that have resources
	lists     map[string]*listing // by method
	notes     map[string][]string // by server: what was dropped, repaired or renamed
	left      []leftOut
}

// listed are the methods whose lists the catalog has, with what a server needs for them and the notification of
// their changes.
var listed = []struct{ method, capability, changed string }{
	{wire.ToolsList, "tools", wire.ToolsChanged}, {wire.PromptsList, "prompts", wire.PromptsChanged},
	{wire.ResourcesList, "resources", wire.ResourcesChanged}, {wire.ResourceTemplates, "resources", wire.ResourcesChanged},
}

// build merges the servers' offers. Order follows the configuration, then each server's own list.
func build(r *roster, serverInfo []byte) *catalog {
	c := &catalog{
		byName: map[string]*tool{}, blocked: map[string]*tool{}, prompts: map[string]route{}, resources: map[string]route{},
		servers: r.byName, moved: map[route]string{}, lists: map[string]*listing{}, notes: map[string][]string{},
	}
	c.skills = newSkills(r.skills)
	var resources, templates []item
	for _, s := range c.skills {
		resources = append(resources, s.resource())
	}
	var prompts []*prompt
	ttl := map[string]int64{}
	for _, s := range r.servers {
		offer := s.Offer()
		if offer == nil {
			continue
		}
		c.notes[s.Name()] = append(c.notes[s.Name()], offer.Notes...)
		if offer.Has("resources") {
			c.readable = append(c.readable, s)
		}
		c.addTools(r, s, offer)
		prompts = append(prompts, c.readPrompts(s, offer)...)
		resources = append(resources, c.readResources(s, offer)...)
		templates = append(templates, c.readTemplates(s, offer)...)
		for _, l := range listed {
			if known, ok := ttl[l.method]; offer.Has(l.capability) && (!ok || offer.TTL[l.method] < known) {
				ttl[l.method] = offer.TTL[l.method]
			}
		}
	}
	c.nameTools(r.set)
	tools := c.publishTools()
	for _, p := range prompts {
		p.raw = publisher{c, p.server}.meta(p.raw)
	}
	for _, items := range [][]item{resources, templates} {
		for i := range items {
			if items[i].server == nil {
				continue
			}
			items[i].raw = publisher{c, items[i].server}.meta(items[i].raw)
		}
	}
	for _, t := range builtins(r.set.ResourceTools, len(resources)+len(templates) > 0) {
		c.byName[t.name] = t
		tools = append(tools, item{t.name, t.raw, nil})
	}
	c.lists[wire.ToolsList] = newListing("tools", tools, ttl[wire.ToolsList], serverInfo)
	c.lists[wire.PromptsList] = newListing("prompts", c.namePrompts(r.set, prompts), ttl[wire.PromptsList], serverInfo)
	c.lists[wire.ResourcesList] = newListing("resources", resources, ttl[wire.ResourcesList], serverInfo)
	c.lists[wire.ResourceTemplates] = newListing("resourceTemplates", templates, ttl[wire.ResourceTemplates], serverInfo)
	return c
}

// publishTools gives the tools their final form, from which on it is known what every resource is published as, and returns
// those that everybody is shown.
func (c *catalog) publishTools() []item {
	tools := make([]item, 0, len(c.tools))
	for _, t := range c.tools {
		c.readPages(t)
	}
	for _, t := range c.tools {
		t.raw = publisher{c, t.server}.meta(t.raw)
		if t.blocked {
			c.blocked[t.name] = t
			continue
		}
		c.byName[t.name] = t
		if s := c.skills.named(t.server.Config().Skill); s != nil {
			s.tools = append(s.tools, item{t.name, t.raw, t.server})
			continue
		}
		tools = append(tools, item{t.name, t.raw, t.server})
	}
	return tools
}

func (c *catalog) note(server, format string, args ...any) {
	c.notes[server] = append(c.notes[server], fmt.Sprintf(format, args...))
}

// addTools takes the tools of one server that its entry lets through.
func (c *catalog) addTools(r *roster, s *upstream.Server, offer *upstream.Offer) {
	cfg := s.Config()
	seen := map[string]bool{}
	changed := r.changed(s, offer)
	for _, raw := range offer.Tools {
		t, note, err := newTool(raw, s)
		switch {
		case err != nil:
			c.note(s.Name(), "%v; it is not published", err)
			c.left = append(c.left, leftOut{route: route{s, wire.String(wire.Get(raw, "name"))}, malformed: err})
			continue
		case seen[t.own]:
			c.note(s.Name(), "tool %q is listed twice; the first is published", t.own)
			continue
		}
		seen[t.own] = true
		if key := cfg.Excludes(t.own); key != "" {
			c.left = append(c.left, leftOut{route: route{s, t.own}, key: key})
			continue
		}
		if note != "" {
			c.note(s.Name(), "%s", note)
		}
		if changed[t.own] {
			t.blocked = r.set.PinTools == "block"
			c.note(s.Name(), "tool %q is not what was approved%s; look at it, then: mcphub approve %s", t.own, map[bool]string{true: " and hidden"}[t.blocked], s.Name())
		}
		c.tools = append(c.tools, t)
	}
	for _, unused := range cfg.Unmatched(slices.Collect(maps.Keys(seen))) {
		c.note(s.Name(), "%q in its entry matches no tool of the server", unused)
	}
}

// nameTools gives every tool its published name. Where two would be equal, both get a suffix; a bare
// name gives way to an earlier server's by taking its prefix back.
func (c *catalog) nameTools(set *config.Settings) {
	holders := map[string][]*tool{}
	for _, t := range c.tools {
		bare := t.server.Config().BareNames
		name, why := named(set, t.server.Config(), t.part(), bare)
		if first := holders[name]; bare && len(first) > 0 && first[0].server != t.server {
			c.note(t.server.Name(), "tool %q keeps its prefix: server %q already publishes %q", t.own, first[0].server.Name(), name)
			why = fmt.Sprintf("server %q already publishes %s", first[0].server.Name(), name)
			name = publish(set, t.server.Config(), t.part(), false)
		}
		t.renamed = why
		holders[name] = append(holders[name], t)
	}
	for name, tools := range holders {
		for i, t := range tools {
			if len(tools) == 1 {
				t.rename(name, t.renamed)
				continue
			}
			other := tools[(i+1)%len(tools)]
			why := fmt.Sprintf("tool %q and tool %q of server %q would both be %q", t.own, other.own, other.server.Name(), name)
			c.note(t.server.Name(), "%s; both have a suffix", why)
			t.rename(suffixed(set, name, t.server.Name(), t.own), why)
		}
	}
}

// find looks a tool up by its published name, a raw JSON string. Published names need no escapes.
func (c *catalog) find(quoted []byte) *tool {
	if t := c.byName[string(quoted[1:len(quoted)-1])]; t != nil {
		return t
	}
	return c.byName[wire.String(quoted)]
}

// published says how many tools of a server a catalog shows, and what was dropped, repaired or renamed of its list.
func published(c *catalog, server string) (tools int, notes []string) {
	for _, t := range c.tools {
		if t.server.Name() == server && !t.blocked {
			tools++
		}
	}
	return tools, c.notes[server]
}
