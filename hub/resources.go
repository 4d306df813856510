package hub

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mcphub/upstream"
	"mcphub/wire"
)

// scheme begins the URIs that name a resource by its server: mcphub://<server>/<its own URI, escaped>.
const scheme = "mcphub://"

// keptSchemes mean something to clients: MCP Apps shows nothing but ui:// as a page. A resource of such a
// scheme that has to be told apart is published as <scheme>mcphub/<server>/<its own URI, escaped>.
var keptSchemes = []string{"ui://", "skill://"}

// prefixFor begins the qualified URI of a server's resource or template.
func prefixFor(server, own string) string {
	for _, kept := range keptSchemes {
		if strings.HasPrefix(own, kept) {
			return kept + "mcphub/" + server + "/"
		}
	}
	return scheme + server + "/"
}

// qualified is the URI that always means this server's resource.
func qualified(server, own string) string { return prefixFor(server, own) + url.PathEscape(own) }

// unqualified takes a qualified URI apart.
func unqualified(uri string) (server, own string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
	for _, kept := range keptSchemes {
		if after, is := strings.CutPrefix(uri, kept+"mcphub/"); is {
			rest, ok = after, true
		}
	}
	server, escaped, cut := strings.Cut(rest, "/")
	own, err := url.PathUnescape(escaped)
	return server, own, ok && cut && err == nil && own != ""
}

// readResources takes one server's resources. They keep their URIs, unless those mean something else already.
func (c *catalog) readResources(s *upstream.Server, offer *upstream.Offer) (items []item) {
	for _, raw := range offer.Resources {
		at := route{s, wire.String(wire.Get(raw, "uri"))}
		if at.own == "" || c.knows(at) {
			c.note(s.Name(), "resource %q has no URI of its own; it is not published", at.own)
			continue
		}
		published := at.own
		if why := c.against(at); why != "" {
			published = c.move(at)
			c.note(s.Name(), "resource %s is published as %s: %s", at.own, published, why)
			raw = wire.Splice(raw, wire.Edit{Key: "uri", Value: wire.Quote(published)})
		} else {
			c.resources[at.own] = at
		}
		items = append(items, item{published, raw, s})
	}
	return items
}

// readPages takes the resources that tools name as their pages: servers need not list those.
func (c *catalog) readPages(t *tool) {
	for _, own := range metaURIsOf(t.raw) {
		switch at := (route{t.server, own}); {
		case c.knows(at):
		case c.against(at) != "":
			c.move(at)
		default:
			c.resources[own] = at
		}
	}
}

// knows says whether a resource is published.
func (c *catalog) knows(at route) bool { return c.resources[at.own] == at || c.moved[at] != "" }

// move publishes a resource under the URI that names its server.
func (c *catalog) move(at route) string {
	published := qualified(at.server.Name(), at.own)
	c.moved[at] = published
	c.resources[published] = at
	return published
}

// against says why a server's URI cannot be published as it is, "" where it can.
func (c *catalog) against(at route) string {
	if holder, taken := c.resources[at.own]; taken {
		return fmt.Sprintf("server %q has one of that URI", holder.server.Name())
	}
	return c.spokenFor(at.own)
}

// spokenFor says whose a URI is by its form, which no other server may take, "" for a form that is nobody's.
func (c *catalog) spokenFor(uri string) string {
	if s := c.skills.at(uri); s != nil {
		return fmt.Sprintf("it is the text of the skill %q", s.Name)
	}
	if server, _, ok := unqualified(uri); ok && c.servers[server] != nil {
		return fmt.Sprintf("that form means resources of server %q", server)
	}
	return ""
}

// template is a resource template with the literal text between its expressions, as its server has it and as it
// is published.
type template struct {
	route
	published     string
	pieces, shown []string
}

// moved says whether a template is published under another form than its own.
func (t *template) moved() bool { return t.published != t.own }

// qualifiedTemplate escapes a template's literal text and leaves its expressions as they are.
func qualifiedTemplate(server, own string) string {
	literals, out := pieces(own), prefixFor(server, own)
	for i, literal := range literals {
		out += url.PathEscape(literal)
		own = own[len(literal):]
		if i < len(literals)-1 {
			end := strings.IndexByte(own, '}') + 1
			out, own = out+own[:end], own[end:]
		}
	}
	return out
}

func (c *catalog) readTemplates(s *upstream.Server, offer *upstream.Offer) (items []item) {
	for _, raw := range offer.Templates {
		own := wire.String(wire.Get(raw, "uriTemplate"))
		if own == "" {
			c.note(s.Name(), "a resource template has no uriTemplate; it is not published")
			continue
		}
		t := template{route: route{s, own}, published: own, pieces: pieces(own)}
		if slices.ContainsFunc(c.templates, func(o template) bool { return o.route == t.route }) {
			continue
		}
		why := c.spokenFor(own)
		if i := slices.IndexFunc(c.templates, func(o template) bool { return !o.moved() && o.server != s && slices.Equal(o.pieces, t.pieces) }); i >= 0 {
			why = fmt.Sprintf("server %q has the same", c.templates[i].server.Name())
		}
		if why != "" {
			t.published = qualifiedTemplate(s.Name(), own)
			c.note(s.Name(), "template %s is published as %s: %s", own, t.published, why)
			raw = wire.Splice(raw, wire.Edit{Key: "uriTemplate", Value: wire.Quote(t.published)})
		}
		t.shown = pieces(t.published)
		c.templates = append(c.templates, t)
		items = append(items, item{t.published, raw, s})
	}
	slices.SortStableFunc(c.templates, func(a, b template) int {
		return cmp.Compare(len(strings.Join(b.pieces, "")), len(strings.Join(a.pieces, "")))
	})
	return items
}

// pieces is the literal text around the expressions of an RFC 6570 template.
func pieces(text string) (out []string) {
	for {
		literal, rest, ok := strings.Cut(text, "{")
		out = append(out, literal)
		_, after, closed := strings.Cut(rest, "}")
		if !ok || !closed {
			return out
		}
		text = after
	}
}

// refill takes the values out of a URI that can come from a template with the literal text from, and puts them into
// one with the literal text to, as they are: how they are escaped is between client and server.
func refill(uri string, from, to []string) (filled string, ok bool) {
	rest, ok := strings.CutPrefix(uri, from[0])
	filled = to[0]
	last := len(from) - 1
	for i := 1; ok && i <= last; i++ {
		var value string
		if i == last {
			value, ok = strings.CutSuffix(rest, from[i])
			rest = ""
		} else {
			value, rest, ok = strings.Cut(rest, from[i])
		}
		filled += value + to[i]
	}
	return filled, ok && rest == ""
}

// owner finds whose a published URI is by the lists: by the resources, then by the templates.
func (c *catalog) owner(uri string) (route, bool) {
	if r, ok := c.resources[uri]; ok {
		return r, true
	}
	for _, t := range c.templates {
		if _, ok := refill(uri, t.pieces, t.shown); ok && !t.moved() {
			return route{t.server, uri}, true
		}
	}
	return route{}, false
}

// described finds a template, or else a resource, that is listed, by its published or its qualified form.
func (c *catalog) described(uri string) route {
	server, own, _ := unqualified(uri)
	for _, t := range c.templates {
		if t.published == uri || t.server.Name() == server && t.own == own {
			return t.route
		}
	}
	if at, ok := c.locate(uri); ok && c.knows(at) {
		return at
	}
	return route{}
}

// locate finds the owner of a URI: by the lists, by the server that it names; else the only server that
// has resources at all, since some read what they do not list.
func (c *catalog) locate(uri string) (route, bool) {
	if r, ok := c.resources[uri]; ok {
		return r, true
	}
	if server, own, ok := unqualified(uri); ok && c.servers[server] != nil {
		return c.meant(route{c.servers[server], own}, uri), true
	}
	if r, ok := c.owner(uri); ok {
		return r, true
	}
	if len(c.readable) == 1 && uri != "" {
		return route{c.readable[0], uri}, true
	}
	return route{}, false
}

// meant is the resource that a qualified URI means; r is what it says once its escapes are undone. That holds for what the
// server lists. A URI that fills in a moved template has values that the client has escaped, once and for the server.
func (c *catalog) meant(r route, uri string) route {
	if c.knows(r) {
		return r
	}
	for _, t := range c.templates {
		if t.server == r.server && t.moved() {
			if own, ok := refill(uri, t.shown, t.pieces); ok {
				return route{r.server, own}
			}
		}
	}
	return route{r.server, escapeIllegal(r.own)}
}

// escapeIllegal escapes what no URI may hold (RFC 3986, section 2). A client that qualifies a URI may forget to escape
// what is escaped in it once more, and taking the qualification off undoes that.
func escapeIllegal(uri string) string {
	var out strings.Builder
	for i := range len(uri) {
		if b := uri[i]; b <= ' ' || b >= 0x7f || strings.IndexByte("\"<>\\^`{|}", b) >= 0 {
			fmt.Fprintf(&out, "%%%02X", b)
		} else {
			out.WriteByte(b)
		}
	}
	return out.String()
}

// publishedURI is what clients know a server's resource by: its own URI, unless that would be read from
// another server, or from none because several could have it. Clients fetch web addresses themselves.
func (c *catalog) publishedURI(r route) string {
	if moved, ok := c.moved[r]; ok {
		return moved
	}
	if r.own == "" || !slices.Contains(c.readable, r.server) {
		return r.own
	}
	owner, listed := c.owner(r.own)
	web := strings.HasPrefix(r.own, "https://") || strings.HasPrefix(r.own, "http://")
	if c.spokenFor(r.own) == "" && (owner.server == r.server || !listed && (len(c.readable) == 1 || web)) {
		return r.own
	}
	for _, t := range c.templates {
		if t.server == r.server && t.moved() && strings.HasPrefix(t.published, prefixFor(r.server.Name(), r.own)) {
			if filled, ok := refill(r.own, t.pieces, t.shown); ok {
				return filled
			}
		}
	}
	return qualified(r.server.Name(), r.own)
}

// codeNotFound was the error for an unknown resource up to 2025-11-25.
const codeNotFound = -32002

func notFound(uri string, modern bool) Answer {
	code := codeNotFound
	if modern {
		code = wire.CodeInvalidParams
	}
	return failed(&wire.Error{
		Code: code, Message: "Resource not found: " + uri + "; " + scheme + "<server>/<escaped URI> reads one of a certain server",
		Data: wire.Splice(nil, wire.Edit{Key: "uri", Value: wire.Quote(uri)}),
	})
}

// inEra gives the error for an unknown resource the code of the client's era.
func inEra(a Answer, modern bool) Answer {
	code, _ := wire.ErrorOf(a.Error)
	switch {
	case modern && code == codeNotFound:
		code = wire.CodeInvalidParams
	case !modern && code == wire.CodeInvalidParams && wire.Path(a.Error, "data", "uri") != nil:
		code = codeNotFound
	default:
		return a
	}
	return Answer{Error: wire.Splice(a.Error, wire.Edit{Key: "code", Value: strconv.AppendInt(nil, int64(code), 10)})}
}
