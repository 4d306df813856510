package hub

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"mcphub/upstream"
	"mcphub/wire"
)

// scheme begins the URIs that name a resource by its server: mcphub://<server>/<its own URI, escaped>.
const scheme = "mcphub://"

// qualified is the URI that always means this server's resource.
func qualified(server, own string) string { return scheme + server + "/" + url.PathEscape(own) }

// unqualified takes a qualified URI apart.
func unqualified(uri string) (server, own string, ok bool) {
	rest, ok := strings.CutPrefix(uri, scheme)
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

// template is a resource template with the literal text between its expressions.
type template struct {
	route
	published string
	pieces    []string
}

// braces keeps a template's expressions when the rest of it is escaped.
var braces = strings.NewReplacer("%7B", "{", "%7D", "}")

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
			t.published = braces.Replace(qualified(s.Name(), own))
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

// locate finds the owner of a URI: by the list, by the server that it names, by the templates; else the
// only server that has resources at all, since some read what they do not list.
func (h *Hub) locate(uri string) (route, bool) {
	c := h.current()
	if r, ok := c.resources[uri]; ok {
		return r, true
	}
	if server, own, ok := unqualified(uri); ok && h.byName[server] != nil {
		return route{h.byName[server], own}, true
	}
	for _, t := range c.templates {
		if t.matches(uri) {
			return route{t.server, uri}, true
		}
	}
	var only *upstream.Server
	for _, s := range h.servers {
		if offer := s.Offer(); offer != nil && !wire.IsNull(wire.Get(offer.Capabilities(), "resources")) {
			if only != nil {
				return route{}, false
			}
			only = s
		}
	}
	return route{only, uri}, only != nil
}

// publishedURI is what clients know a server's resource by.
func (c *catalog) publishedURI(r route) string { return cmp.Or(c.moved[r], r.own) }

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

// republish replaces the URIs in a server's result that clients know by another one: those of contents,
// of embedded resources and of links.
func (c *catalog) republish(s *upstream.Server, result []byte) []byte {
	moved := false
	for r := range c.moved {
		moved = moved || r.server == s
	}
	if !moved || result == nil {
		return result
	}
	edit := func(obj []byte) []byte {
		own := wire.String(wire.Get(obj, "uri"))
		if published, ok := c.moved[route{s, own}]; ok {
			return wire.Splice(obj, wire.Edit{Key: "uri", Value: wire.Quote(published)})
		}
		return obj
	}
	for _, member := range []string{"contents", "content"} {
		if list := wire.Get(result, member); len(list) > 1 && list[0] == '[' {
			result = wire.Splice(result, wire.Edit{Key: member, Value: mapElements(list, func(block []byte) []byte {
				block = edit(block)
				if inner := wire.Get(block, "resource"); inner != nil {
					block = wire.Splice(block, wire.Edit{Key: "resource", Value: edit(inner)})
				}
				return block
			})})
		}
	}
	return result
}

// mapElements applies f to every element of a raw array.
func mapElements(list []byte, f func([]byte) []byte) []byte {
	out := []byte{'['}
	for e := range wire.Elements(list) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, f(e)...)
	}
	return append(out, ']')
}
