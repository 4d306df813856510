package hub

import (
	"context"
	"strings"

	"mcphub/upstream"
	"mcphub/wire"
)

// callTool routes a tools/call by the published name. The arguments and the result stay bytes.
func (h *Hub) callTool(ctx context.Context, r *Request) Answer {
	var name, args []byte
	if err := wire.Pick(r.Msg.Params, wire.Want{Key: "name", Value: &name}, wire.Want{Key: "arguments", Value: &args}); err != nil {
		return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: "tools/call: " + err.Error()})
	}
	if !wire.IsString(name) {
		return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: "tools/call needs params.name"})
	}
	t := h.find(ctx, wire.String(name))
	if t == nil {
		return failed(h.unknownTool(wire.String(name)))
	}
	if r.Headers != nil {
		if err := t.checkHeaders(r.Headers, args); err != nil {
			return failed(err)
		}
	}
	edits := []wire.Edit{{Key: "name", Value: wire.Quote(t.own)}}
	if len(t.fixed) > 0 {
		args = wire.Splice(args, t.fixed...)
		edits = append(edits, wire.Edit{Key: "arguments", Value: args})
	}
	answer, err := t.server.Call(ctx, &upstream.Call{
		Method: wire.ToolsCall, Params: wire.Splice(r.Msg.Params, edits...),
		Timeout: t.timeout, Headers: t.mirror(args), Notice: func(m wire.Message) { r.send(m.Raw) }, Prime: r.Prime,
	})
	if err != nil {
		return failure(err)
	}
	return h.translate(Answer(answer), r.Client.Version, t.server)
}

// find looks a published name up, waiting for the catalog of a server that is still starting.
func (h *Hub) find(ctx context.Context, name string) *tool {
	if t := h.catalog.Load().byName[name]; t != nil {
		return t
	}
	waited := false
	for _, s := range h.servers {
		if h.couldBe(s, name) {
			select {
			case <-s.Settled():
				continue
			default:
			}
			h.await(ctx, s, s.Config().ConnectTimeout)
			waited = true
		}
	}
	if !waited {
		return nil
	}
	// The offer is published before the catalog made from it; building it here saves waiting for that.
	return build(h.set, h.servers).byName[name]
}

// couldBe says whether a published name may be one of a server's.
func (h *Hub) couldBe(s *upstream.Server, name string) bool {
	if s.Config().BareNames {
		return true
	}
	return strings.HasPrefix(name, strings.TrimSuffix(publish(h.set, s.Name(), "", false), h.set.ToolSeparator))
}

// unknownTool says why a name cannot be called, where the hub knows.
func (h *Hub) unknownTool(name string) *wire.Error {
	text := "unknown tool " + name
	for _, s := range h.servers {
		if s.Offer() == nil && !s.Config().BareNames && h.couldBe(s, name) {
			st := s.Status()
			text += "; the tools of server " + s.Name() + " are not known, it is " + string(st.State)
			if st.Reason != "" {
				text += ": " + st.Reason
			}
			return &wire.Error{Code: wire.CodeInvalidParams, Message: text}
		}
	}
	return &wire.Error{Code: wire.CodeInvalidParams, Message: text + "; tools/list has the names"}
}

// resultMarks are the result members that the stateless era adds.
var resultMarks = []byte(`"complete"`)

// translate fits a result to the client's era. A server's own name never poses as the hub's.
func (h *Hub) translate(a Answer, version string, s *upstream.Server) Answer {
	offer := s.Offer()
	if a.Result == nil || offer == nil {
		return a
	}
	fromModern, toModern := wire.Modern(offer.Version), wire.Modern(version)
	if !fromModern && !toModern {
		return a
	}
	var kind, meta []byte
	if err := wire.Pick(a.Result, wire.Want{Key: "resultType", Value: &kind}, wire.Want{Key: "_meta", Value: &meta}); err != nil {
		return failed(&wire.Error{Code: wire.CodeInternal, Message: "server " + s.Name() + ": its result is ambiguous: " + err.Error()})
	}
	if !toModern && wire.String(kind) == "input_required" {
		return failed(&wire.Error{Code: wire.CodeInternal, Message: "server " + s.Name() +
			" asks for input in a way that your protocol version " + version + " does not have: connect with 2026-07-28"})
	}
	var edits []wire.Edit
	if toModern {
		if kind == nil {
			edits = append(edits, wire.Edit{Key: "resultType", Value: resultMarks})
		}
		edits = append(edits, wire.Edit{Key: "_meta", Value: wire.Splice(meta, wire.Edit{Key: wire.MetaServerInfo, Value: h.serverInfo()})})
	} else if wire.Get(meta, wire.MetaServerInfo) != nil {
		edits = append(edits, wire.Edit{Key: "_meta", Value: wire.Splice(meta, wire.Edit{Key: wire.MetaServerInfo})})
	}
	if len(edits) == 0 {
		return a
	}
	return Answer{Result: wire.Splice(a.Result, edits...)}
}
