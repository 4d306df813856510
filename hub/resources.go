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

// qualified is the URI that always means this server's resource.
func qualified(server, own string) string {
	prefix := scheme
	for _, kept := range keptSchemes {
		if strings.HasPrefix(own, kept) {
			prefix = kept + "mcphub/"
		}
	}
	return prefix + server + "/" + url.PathEscape(own)
}

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

// readResources takes one server's resources. They keep their URIs, unless an earlier server has the same.
func (c *catalog) readResources(s *upstream.Server, offer *upstream.Offer) (items []item) {
	for _, raw := range offer.Resources {
		own := wire.String(wire.Get(raw, "uri"))
		holder, taken := c.resources[own]
		switch {
		case own == "" || holder.server == s:
			c.note(s.Name(), "resource %q has no URI of its own; it is not published", own)
			continue
		case taken:
			published := qualified(s.Name(), own)
			c.note(s.Name(), "resource %s is published as %s: server %q has one of that URI", own, published, holder.server.Name())
			c.moved[route{s, own}] = published
			raw = wire.Splice(raw, wire.Edit{Key: "uri", Value: wire.Quote(published)})
			c.resources[published] = route{s, own}
			items = append(items, item{published, raw})
			continue
		}
		c.resources[own] = route{s, own}
		items = append(items, item{own, raw})
	}
	return items
}

// readPages takes the resources that tools name as their pages: servers need not list those.
func (c *catalog) readPages(t *tool) {
	for _, own := range metaURIsOf(t.raw) {
		switch holder, taken := c.resources[own]; {
		case !taken:
			c.resources[own] = route{t.server, own}
		case holder.server != t.server && c.moved[route{t.server, own}] == "":
			published := qualified(t.server.Name(), own)
			c.moved[route{t.server, own}] = published
			c.resources[published] = route{t.server, own}
		}
	}
}

// template is a resource template with the literal text between its expressions.
type template struct {
	route
	published string
	pieces    []string
}

// qualifiedTemplate escapes a template's literal text and leaves its expressions as they are.
func qualifiedTemplate(server, own string) string {
	literals, out := pieces(own), scheme+server+"/"
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
		t := template{route{s, own}, own, pieces(own)}
		if i := slices.IndexFunc(c.templates, func(o template) bool { return o.published == own }); i >= 0 {
			if c.templates[i].server == s {
				continue
			}
			t.published = qualifiedTemplate(s.Name(), own)
			t.pieces = pieces(t.published)
			c.note(s.Name(), "template %s is published as %s: server %q has the same", own, t.published, c.templates[i].server.Name())
			raw = wire.Splice(raw, wire.Edit{Key: "uriTemplate", Value: wire.Quote(t.published)})
		}
		c.templates = append(c.templates, t)
		items = append(items, item{t.published, raw})
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

// matches says whether uri can come from the template, whatever its expressions stand for.
func (t *template) matches(uri string) bool {
	first, last := t.pieces[0], t.pieces[len(t.pieces)-1]
	if len(t.pieces) == 1 {
		return uri == first
	}
	rest, ok := strings.CutPrefix(uri, first)
	if !ok {
		return false
	}
	for _, piece := range t.pieces[1 : len(t.pieces)-1] {
		i := strings.Index(rest, piece)
		if i < 0 {
			return false
		}
		rest = rest[i+len(piece):]
	}
	return strings.HasSuffix(rest, last)
}

// owner finds whose a published URI is by the lists: by the resources, then by the templates.
func (c *catalog) owner(uri string) (route, bool) {
	if r, ok := c.resources[uri]; ok {
		return r, true
	}
	for _, t := range c.templates {
		if t.published == t.own && t.matches(uri) {
			return route{t.server, uri}, true
		}
	}
	return route{}, false
}

// locate finds the owner of a URI: by the lists, by the server that it names; else the only server that
// has resources at all, since some read what they do not list.
func (h *Hub) locate(uri string) (route, bool) {
	c := h.current()
	if r, ok := c.resources[uri]; ok {
		return r, true
	}
	if server, own, ok := unqualified(uri); ok && h.byName[server] != nil {
		r := route{h.byName[server], own}
		if c.resources[own] != r {
			r.own = escapeIllegal(own)
		}
		return r, true
	}
	if r, ok := c.owner(uri); ok {
		return r, true
	}
	if len(c.readable) == 1 && uri != "" {
		return route{c.readable[0], uri}, true
	}
	return route{}, false
}

// escapeIllegal escapes what no URI may hold (RFC 3986, section 2). A client that fills in a qualified template
// escapes values once, and taking the qualification off undoes that.
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
	owner, listed := c.owner(r.own)
	web := strings.HasPrefix(r.own, "https://") || strings.HasPrefix(r.own, "http://")
	switch {
	case owner.server == r.server, r.own == "", !slices.Contains(c.readable, r.server), !listed && (len(c.readable) == 1 || web):
		return r.own
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
