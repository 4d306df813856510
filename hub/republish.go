package hub

import (
	"bytes"

	"mcphub/upstream"
	"mcphub/wire"
)

// metaURIs are the members of _meta that name a resource: the page that shows a tool's results (MCP Apps,
// whose newer form is ui.resourceUri; OpenAI Apps SDK).
var metaURIs = []string{"ui/resourceUri", "openai/outputTemplate"}

// metaURIsOf are the URIs of resources that the _meta of obj names.
func metaURIsOf(obj []byte) (uris []string) {
	meta := wire.Get(obj, "_meta")
	raws := [][]byte{wire.Path(meta, "ui", "resourceUri")}
	for _, key := range metaURIs {
		raws = append(raws, wire.Get(meta, key))
	}
	for _, raw := range raws {
		if uri := wire.String(raw); uri != "" {
			uris = append(uris, uri)
		}
	}
	return uris
}

// publisher gives what a server says the URIs that clients know its resources by.
type publisher struct {
	c *catalog
	s *upstream.Server
}

// uri edits the member key of obj, which is copied only where it changes.
func (p publisher) uri(obj []byte, key string) []byte {
	own := wire.String(wire.Get(obj, key))
	if own == "" {
		return obj
	}
	if published := p.c.publishedURI(route{p.s, own}); published != own {
		return wire.Splice(obj, wire.Edit{Key: key, Value: wire.Quote(published)})
	}
	return obj
}

// in applies edit to the member key of obj.
func in(obj []byte, key string, edit func([]byte) []byte) []byte {
	old := wire.Get(obj, key)
	if old == nil {
		return obj
	}
	if now := edit(old); !bytes.Equal(old, now) {
		return wire.Splice(obj, wire.Edit{Key: key, Value: now})
	}
	return obj
}

// meta edits the _meta of obj.
func (p publisher) meta(obj []byte) []byte {
	return in(obj, "_meta", func(meta []byte) []byte {
		for _, key := range metaURIs {
			meta = p.uri(meta, key)
		}
		return in(meta, "ui", func(ui []byte) []byte { return p.uri(ui, "resourceUri") })
	})
}

// block edits a content block: a link, an embedded resource, or the content of a resource itself.
func (p publisher) block(block []byte) []byte { return in(p.named(block), "resource", p.named) }

// named edits what names itself by a URI.
func (p publisher) named(obj []byte) []byte { return p.meta(p.uri(obj, "uri")) }

func (p publisher) blocks(list []byte) []byte {
	if len(list) == 0 || list[0] != '[' {
		return p.block(list) // the content of a prompt's message is one block
	}
	return mapElements(list, p.block)
}

// result edits the URIs of contents, of embedded resources and of links, and those in _meta.
func (p publisher) result(result []byte) []byte {
	result = in(p.meta(result), "content", p.blocks)
	result = in(result, "contents", p.blocks)
	return in(result, "messages", func(list []byte) []byte {
		return mapElements(list, func(message []byte) []byte { return in(message, "content", p.blocks) })
	})
}

// republish edits the URIs in a server's result, and in the result of a task that it holds. One that names no other
// than published ones stays as it is.
func (c *catalog) republish(s *upstream.Server, result []byte) []byte {
	if !bytes.Contains(result, []byte(`ri"`)) && !bytes.Contains(result, []byte(`outputTemplate"`)) {
		return result
	}
	if len(c.readable) < 2 && len(c.moved) == 0 && !bytes.Contains(result, []byte("mcphub")) {
		return result // with one server that has resources, every URI is its own
	}
	p := publisher{c, s}
	return in(p.result(result), "result", p.result)
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
