package hub

import (
	"context"
	"errors"
	"strings"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

const (
	instructionsEach = 1 << 10 // bytes of one server's instructions that are passed on
	instructionsAll  = 8 << 10 // bytes of all together
)

// initialize opens a session with the merged view.
func (h merged) initialize(ctx context.Context, r *Request) Answer {
	if wire.Modern(r.Client.Version) {
		return unknownMethod(r.Msg.Method)
	}
	asked := wire.String(wire.Get(r.Msg.Params, "protocolVersion"))
	if asked == "" {
		return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: "initialize needs params.protocolVersion"})
	}
	if given := wire.Path(r.Msg.Params, "_meta", metaServers); given != nil {
		sc, err := h.takeServers(r.Client, given)
		if err != nil {
			return invalid("initialize: _meta " + metaServers + ": " + err.Error())
		}
		h.view = sc.view
	}
	version := sessionVersion(asked)
	h.settle(ctx) // what the servers can do is said once
	r.Client.Params = withoutServers(r.Msg.Params)
	out := append([]byte(`{"protocolVersion":"`+version+`","capabilities":`), capabilities(h.servers())...)
	out = append(out, `,"serverInfo":`...)
	out = append(out, h.face.info()...)
	out = appendInstructions(out, h.servers())
	return Answer{Result: ring{h.Hub}.mark(r, h.view, append(out, '}'))}
}

// metaServers is the member of initialize's _meta by which a client hands over servers for its session alone, as
// mcpServers of a file.
const metaServers = "mcphub/servers"

// takeServers opens a scope for one session.
func (h merged) takeServers(c *Client, given []byte) (*scope, error) {
	if c.Scope != "" {
		return nil, errors.New("this address has a scope already; hand its servers over when that is made, or connect to /mcp")
	}
	sc, err := h.Scopes().open(randomKey(), scopeRecord{Given: wire.Splice(nil, wire.Edit{Key: "mcpServers", Value: given}), Created: time.Now().UTC()})
	if err != nil {
		return nil, err
	}
	c.Scope = sc.id
	return sc, nil
}

// withoutServers is initialize's params as they are kept: what was handed over may hold secrets.
func withoutServers(params []byte) []byte {
	meta := wire.Get(params, "_meta")
	if wire.Get(meta, metaServers) == nil {
		return params
	}
	return wire.Splice(params, wire.Edit{Key: "_meta", Value: wire.Splice(meta, wire.Edit{Key: metaServers})})
}

// sessionVersion is the version that a session is held in: the client's where the hub knows it, else
// the newest that has sessions (MCP 2025-11-25, Lifecycle, Version Negotiation).
func sessionVersion(asked string) string {
	if wire.Known(asked) && !wire.Modern(asked) {
		return asked
	}
	return wire.V20251125
}

// discover describes the merged view to a stateless client.
func (h merged) discover(ctx context.Context, r *Request) Answer {
	h.settle(ctx)
	out := []byte(`{"resultType":"complete","supportedVersions":["`)
	out = append(out, strings.Join(wire.Versions, `","`)...)
	out = append(append(out, `"],"capabilities":`...), capabilities(h.servers())...)
	out = append(out, `,"_meta":`...)
	out = append(out, h.face.meta()...)
	out = appendInstructions(out, h.servers())
	return Answer{Result: ring{h.Hub}.mark(r, h.view, append(out, `,"ttlMs":0,"cacheScope":"private"}`...))}
}

// capabilities is what the merged view can do: what the hub does for every server, and the extensions
// that some server has.
func capabilities(servers []*upstream.Server) []byte {
	out := []byte(`{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`)
	var extensions, tasks []byte
	for _, s := range servers {
		offer := s.Offer()
		if offer == nil {
			continue
		}
		extensions = union(extensions, wire.Get(offer.Capabilities(), "extensions"))
		tasks = union(tasks, wire.Get(offer.Capabilities(), "tasks"))
	}
	return wire.Splice(out, wire.Edit{Key: "tasks", Value: tasks}, wire.Edit{Key: "extensions", Value: extensions})
}

// union is an object with the members of both, objects in them joined likewise. What is not an object is the first's.
func union(one, other []byte) []byte {
	switch {
	case one == nil:
		return other
	case !wire.IsObject(one) || !wire.IsObject(other):
		return one
	}
	for key, value := range wire.Members(other) {
		one = wire.Splice(one, wire.Edit{Key: string(key), Value: union(wire.Get(one, string(key)), value)})
	}
	return one
}

// face is the hub's version, by which it names itself.
type face string

func (f face) info() []byte {
	return append(append([]byte(`{"name":"mcphub","version":`), wire.Quote(string(f))...), '}')
}

// meta is the _meta of a result that the hub itself makes for a stateless client.
func (f face) meta() []byte { return metaOf(f.info()) }

func metaOf(serverInfo []byte) []byte {
	return append(append([]byte(`{"`+wire.MetaServerInfo+`":`), serverInfo...), '}')
}

// appendInstructions merges what the servers known so far say to models, each under its name and cut to size.
func appendInstructions(out []byte, servers []*upstream.Server) []byte {
	var text strings.Builder
	for _, s := range servers {
		offer := s.Offer()
		if offer == nil {
			continue
		}
		said := strings.TrimSpace(offer.Instructions())
		if said == "" {
			continue
		}
		part := "## " + s.Name() + "\n" + cut(said, instructionsEach) + "\n\n"
		if text.Len()+len(part) > instructionsAll {
			break
		}
		text.WriteString(part)
	}
	if text.Len() == 0 {
		return out
	}
	out = append(out, `,"instructions":`...)
	return append(out, wire.Quote(strings.TrimSpace(text.String()))...)
}

// cut shortens text to at most n bytes, notice included, between characters.
func cut(text string, n int) string {
	const notice = " …"
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len(notice)], "") + notice
}
