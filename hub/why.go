package hub

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// Guide tells the operator what is published at the merged view, and why.
type Guide struct{ *Hub }

// Tool is one published tool.
type Tool struct {
	Name        string // published
	Server      string // "" for the hub's own
	Own         string // the server's own name for it
	Description string
	Schema      []byte // of its input, raw, as it is published
	ReadOnly    bool   // by its own annotations
	Destructive bool   // as above; true where they say nothing of a tool that is not read-only (MCP, ToolAnnotations)
}

// Tools are the published tools in the order of tools/list.
func (g Guide) Tools() []Tool {
	c := g.base.current()
	tools := []Tool{}
	for _, it := range c.lists[wire.ToolsList].items {
		t := c.byName[it.key]
		tool := Tool{Name: t.name, Own: t.own, Description: wire.String(wire.Get(t.raw, "description")), Schema: wire.Get(t.raw, "inputSchema")}
		if t.server != nil {
			tool.Server = t.server.Name()
		}
		tool.ReadOnly = string(wire.Path(t.raw, "annotations", "readOnlyHint")) == "true"
		tool.Destructive = !tool.ReadOnly && string(wire.Path(t.raw, "annotations", "destructiveHint")) != "false"
		tools = append(tools, tool)
	}
	return tools
}

// Verdict is what became of a tool.
type Verdict string

// The verdicts.
const (
	Listed    Verdict = "listed"    // published
	Filtered  Verdict = "filtered"  // left out by includeTools, excludeTools or enabled of its entry in tools
	Malformed Verdict = "malformed" // no client could use it as its server describes it
	Pinned    Verdict = "pinned"    // it is not what was approved, and pinTools is block
	NotKnown  Verdict = "not_known" // its server's tools are not known, for the reason of the server's state
	NoSuch    Verdict = "unknown"   // no server has it
)

// Why is the answer to the question what became of a tool.
type Why struct {
	Asked    string        `json:"asked"`
	Verdict  Verdict       `json:"verdict"`
	Callable bool          `json:"callable"` // a call would get to its server now, be it by connecting first
	Name     string        `json:"name,omitempty"`
	Server   string        `json:"server,omitempty"`
	Tool     string        `json:"tool,omitempty"` // the server's own name for it
	State    string        `json:"state,omitempty"`
	Text     string        `json:"text"`          // for people, in whole sentences
	At       *config.Place `json:"at,omitempty"`  // what in the configuration did it
	Fix      string        `json:"fix,omitempty"` // the next step, a command line where there is one
	Near     []string      `json:"near,omitempty"`
}

// Why says what became of a tool. name is a published name, server/tool, or a server's own name for a tool.
func (g Guide) Why(name string) Why {
	q := inquiry{view: g.base, c: g.base.current(), asked: name}
	if w, ok := q.published(); ok {
		return w
	}
	if w, ok := q.left(); ok {
		return w
	}
	if w, ok := q.unread(); ok {
		return w
	}
	return q.unknown()
}

// inquiry is one question, and the catalog that answers it.
type inquiry struct {
	*view
	c     *catalog
	asked string
}

// entry is the newest entry of a server.
func (q inquiry) entry(s *upstream.Server) *config.Server { return q.roster.Load().entry(s) }

// means says whether what was asked for is this tool of a server.
func (q inquiry) means(at route) bool {
	return q.asked == at.own || q.asked == at.server.Name()+"/"+at.own
}

// published answers for a tool that is listed, and names the others that can be meant.
func (q inquiry) published() (Why, bool) {
	if t := q.c.byName[q.asked]; t != nil {
		return q.listed(t), true
	}
	if t := q.c.blocked[q.asked]; t != nil {
		return q.listed(t), true
	}
	var meant []*tool
	for _, t := range q.c.tools {
		if q.means(route{t.server, t.own}) {
			meant = append(meant, t)
		}
	}
	if len(meant) == 0 {
		return Why{}, false
	}
	w := q.listed(meant[0])
	for _, t := range meant[1:] {
		w.Near = append(w.Near, t.name)
	}
	return w, true
}

func (q inquiry) listed(t *tool) Why {
	w := Why{Asked: q.asked, Verdict: Listed, Name: t.name, Tool: t.own, Callable: true}
	if t.builtin != nil {
		w.Text = t.name + " is listed. It is a tool of the hub's own."
		return w
	}
	w.Text = fmt.Sprintf("%s is listed. It is the tool %q of server %q.", t.name, t.own, t.server.Name())
	if t.renamed != "" {
		w.say("It is not called by the plain name, since %s.", t.renamed)
	}
	if t.part() != t.own {
		w.say("Its entry names it %q.", t.part())
		w.at(q.entry(t.server), "tools."+t.own+".name")
	}
	w.standing(t.server, q.entry(t.server))
	if t.blocked {
		w.Verdict, w.Callable, w.Fix = Pinned, false, "mcphub approve "+t.server.Name()
		w.Text = fmt.Sprintf("%s is hidden, since the tool %q of server %q has changed since it was approved and settings.pinTools is block.", t.name, t.own, t.server.Name())
	}
	return w
}

// left answers for a tool that its server has and the hub leaves out.
func (q inquiry) left() (Why, bool) {
	set := q.roster.Load().set
	for _, l := range q.c.left {
		s := l.server
		part := (&tool{server: s, own: l.own}).part()
		if !q.means(l.route) && q.asked != publish(set, s.Config(), part, s.Config().BareNames) && q.asked != publish(set, s.Config(), part, false) {
			continue
		}
		w := Why{Asked: q.asked, Verdict: Filtered, Server: s.Name(), Tool: l.own, State: string(s.Status().State)}
		if l.malformed != nil {
			w.Verdict = Malformed
			w.Text = fmt.Sprintf("Server %q offers %v; it is not published, since clients would refuse the whole list for it.", s.Name(), l.malformed)
			w.Fix = "tell the author of the server; /servers/" + s.Name() + "/mcp passes it on as it is"
			return w, true
		}
		w.Text = fmt.Sprintf("Server %q has the tool %q, and its entry leaves it out: %s.", s.Name(), l.own, reasonOf(s.Config(), l.key))
		w.at(q.entry(s), l.key)
		w.Fix = fmt.Sprintf("edit %s:%d, then: mcphub reload", w.At.File, w.At.Line)
		return w, true
	}
	return Why{}, false
}

// reasonOf words a field that keeps a tool out.
func reasonOf(cfg *config.Server, key string) string {
	var n int
	switch {
	case key == "includeTools":
		return "no pattern of includeTools matches it"
	case strings.HasPrefix(key, "tools."):
		return key + " is false"
	}
	_, _ = fmt.Sscanf(key, "excludeTools[%d]", &n) // the form that Excludes gives it
	return fmt.Sprintf("%q in excludeTools matches it", cfg.ExcludeTools[n])
}

// unread answers for a name that may be of a server whose tools are not known.
func (q inquiry) unread() (Why, bool) {
	server, own, slash := strings.Cut(q.asked, "/")
	for _, s := range q.servers() {
		named := slash && s.Name() == server
		if s.Offer() != nil || !named && (s.Config().BareNames || !q.couldBe(s, q.asked)) {
			continue
		}
		w := Why{Asked: q.asked, Verdict: NotKnown}
		if named {
			w.Tool = own
		}
		w.Text = fmt.Sprintf("The tools of server %q are not known.", s.Name())
		w.standing(s, q.entry(s))
		return w, true
	}
	return Why{}, false
}

// unknown answers for what no server has.
func (q inquiry) unknown() Why {
	w := Why{Asked: q.asked, Verdict: NoSuch, Text: fmt.Sprintf("No server has a tool %q.", q.asked), Fix: "mcphub tools"}
	set := q.roster.Load().set
	for _, s := range q.servers() {
		if !s.Config().BareNames && q.couldBe(s, q.asked) || strings.HasPrefix(q.asked, s.Name()+"/") {
			w.Server = s.Name()
			w.Text = fmt.Sprintf("Server %q has no tool of the name %q.", s.Name(), q.asked)
		}
	}
	if !set.Enabled {
		w.Text, w.Fix = "Nothing is listed, since settings.enabled is false.", "set it to true, then: mcphub reload"
	}
	if w.Near = q.near(); len(w.Near) > 0 {
		w.say("Is it %s?", strings.Join(w.Near, ", "))
	}
	return w
}

// nearMost is how many names are offered in place of one that nobody has.
const nearMost = 3

// near are the published names that may be meant by what nobody has.
func (q inquiry) near() (names []string) {
	var known []string
	byOwn := map[string]string{}
	word := strings.ToLower(q.asked)
	for _, it := range q.c.lists[wire.ToolsList].items {
		known = append(known, it.key)
		if own := q.c.byName[it.key].own; own != "" && byOwn[own] == "" {
			byOwn[own] = it.key
			known = append(known, own)
		}
		if len(word) > 2 && len(names) < nearMost && strings.Contains(strings.ToLower(it.key), word) {
			names = append(names, it.key)
		}
	}
	best := config.Nearest(q.asked, known)
	if name := byOwn[best]; name != "" {
		best = name
	}
	if best != "" && !slices.Contains(names, best) {
		names = append([]string{best}, names...)
	}
	return names[:min(len(names), nearMost)]
}

func (w *Why) say(format string, args ...any) { w.Text += " " + fmt.Sprintf(format, args...) }

// at points to a field of a server's entry.
func (w *Why) at(entry *config.Server, key string) {
	place := entry.Place(key)
	w.At = &place
}

// standing tells how its server is doing, and what that means for a call.
func (w *Why) standing(s *upstream.Server, cfg *config.Server) {
	st := s.Status()
	w.Server, w.State, w.Fix = s.Name(), string(st.State), st.Fix
	switch st.State {
	case upstream.StateReady:
		w.say("The server is ready.")
	case upstream.StateIdle, upstream.StateConnecting:
		w.say("The server is %s: a call waits until it is connected, at most %v (connectTimeoutMs).", st.State, cfg.ConnectTimeout)
		if cfg.Lifecycle == config.LifecycleLazy {
			w.say(`"lifecycle": "keep-alive" in its entry keeps it connected.`)
			w.at(cfg, "lifecycle")
		}
	default:
		w.Callable = w.Callable && st.State == upstream.StateDegraded
		w.say("The server is %s: %s.", st.State, strings.TrimSuffix(st.Reason, "."))
		w.at(cfg, "")
	}
	switch {
	case len(cfg.Failed) > 0:
		w.At = &config.Place{File: cfg.Failed[0].File, Line: cfg.Failed[0].Line, Path: cfg.Failed[0].Path}
	case !cfg.Enabled:
		w.at(cfg, "enabled")
	}
}
