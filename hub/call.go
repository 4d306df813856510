package hub

import (
	"context"
	"strings"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// callTool routes a tools/call by the published name. The arguments and the result stay bytes.
func (h *Hub) callTool(ctx context.Context, r *Request) Answer {
	f, err := wire.Fields(r.Msg.Params, "name", "arguments")
	if err != nil {
		return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: "tools/call: " + err.Error()})
	}
	name, args := f[0], f[1]
	if !wire.IsString(name) {
		return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: "tools/call needs params.name"})
	}
	t := h.catalog.Load().find(name)
	if t == nil {
		t = h.findLate(ctx, name)
	}
	if t == nil {
		return failed(h.unknownTool(wire.String(name)))
	}
	if r.Headers != nil {
		if err := t.checkHeaders(r.Headers, args); err != nil {
			return failed(err)
		}
	}
	if len(t.fixed) > 0 {
		args = wire.Splice(args, t.fixed...)
	}
	answer, err := t.server.Call(ctx, &upstream.Call{
		Method: wire.ToolsCall, Timeout: t.timeout, Headers: t.mirror(args), Sink: (*callSink)(r),
		Params: wire.Splice(r.Msg.Params, wire.Edit{Key: "name", Value: t.quoted}, wire.Edit{Key: "arguments", Value: args}),
	})
	if err != nil {
		return failure(err)
	}
	return h.translate(Answer(answer), r.Client.Version, t.server)
}

// callSink passes on what a server sends on the shared connection for one call.
type callSink Request

func (s *callSink) Notice(m wire.Message)     { (*Request)(s).send(m.Raw) }
func (s *callSink) Prime(retry time.Duration) { (*Request)(s).prime(retry) }

// Ask refuses: the hub declares no capabilities on a connection that many clients share.
func (s *callSink) Ask(wire.Message) bool { return false }

// findLate looks a published name up once the servers that could have it are known.
func (h *Hub) findLate(ctx context.Context, quoted []byte) *tool {
	name := wire.String(quoted)
	for _, s := range h.servers {
		if h.couldBe(s, name) {
			h.await(ctx, s, s.Config().ConnectTimeout)
		}
	}
	return h.current().find(quoted)
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
	f, err := wire.Fields(a.Result, "resultType", "_meta")
	if err != nil {
		return failed(&wire.Error{Code: wire.CodeInternal, Message: "server " + s.Name() + ": its result is ambiguous: " + err.Error()})
	}
	kind, meta := f[0], f[1]
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
