package hub

import (
	"context"
	"strings"

	"mcphub/upstream"
	"mcphub/wire"
)

// callTool routes a tools/call by the published name. The arguments and the result stay bytes.
func (h merged) callTool(ctx context.Context, r *Request) Answer {
	f, err := wire.Fields(r.Msg.Params, "name", "arguments")
	if err != nil {
		return invalid("tools/call: " + err.Error())
	}
	name, args := f[0], f[1]
	if !wire.IsString(name) {
		return invalid("tools/call needs params.name")
	}
	t := h.catalog.Load().find(name)
	if t == nil {
		t = h.findLate(ctx, name)
	}
	switch {
	case t == nil:
		return h.callUnlisted(ctx, r, wire.String(name))
	case t.builtin != nil:
		return t.builtin(h, ctx, r, args)
	}
	if r.Headers != nil {
		if err := t.checkHeaders(r.Headers, args); err != nil {
			return failed(err)
		}
	}
	if len(t.fixed) > 0 {
		args = wire.Splice(args, t.fixed...)
	}
	return bridge{h.Hub}.forward(ctx, r, t.server, &upstream.Call{
		Method: wire.ToolsCall, Timeout: t.timeout, Headers: t.mirror(args),
		Params: wire.Splice(r.Msg.Params, wire.Edit{Key: "name", Value: t.quoted}, wire.Edit{Key: "arguments", Value: args}),
	})
}

// findLate looks a published name up once the servers that could have it are known.
func (v *view) findLate(ctx context.Context, quoted []byte) *tool {
	name := wire.String(quoted)
	for _, s := range v.servers() {
		if reserved[name] || v.couldBe(s, name) { // the hub's own tools may depend on what servers have
			await(ctx, s, s.Config().ConnectTimeout)
		}
	}
	return v.current().find(quoted)
}

// awaitAll gives servers that are still starting the time to say what they have.
func (v *view) awaitAll(ctx context.Context) {
	for _, s := range v.servers() {
		await(ctx, s, s.Config().ConnectTimeout)
	}
}

// locateLate finds the owner of a URI, once the servers that could have it are known.
func (v *view) locateLate(ctx context.Context, uri string) (route, bool) {
	if at, ok := v.current().locate(uri); ok {
		return at, true
	}
	v.awaitAll(ctx)
	return v.current().locate(uri)
}

// callUnlisted passes a name that nobody lists to the one server that publishes its names as they are,
// where there is just one: its list may be about to change. What its entry excludes stays excluded.
func (h merged) callUnlisted(ctx context.Context, r *Request, name string) Answer {
	var bare []*upstream.Server
	for _, s := range h.servers() {
		if s.Config().BareNames && s.Offer() != nil {
			bare = append(bare, s)
		}
	}
	if len(bare) != 1 || !bare[0].Config().Includes(name) {
		return h.unknownTool(name)
	}
	for _, t := range h.current().tools {
		if t.server == bare[0] && t.own == name { // listed, under another name
			return h.unknownTool(name)
		}
	}
	return bridge{h.Hub}.forward(ctx, r, bare[0], &upstream.Call{Method: r.Msg.Method, Params: r.Msg.Params})
}

// couldBe says whether a published name may be one of a server's.
func (v *view) couldBe(s *upstream.Server, name string) bool {
	if s.Config().BareNames {
		return true
	}
	set := v.roster.Load().set
	return strings.HasPrefix(name, strings.TrimSuffix(publish(set, s.Config(), "", false), set.ToolSeparator))
}

// unknownTool says why a name cannot be called, where the hub knows.
func (h merged) unknownTool(name string) Answer {
	text := "unknown tool " + name
	if t := h.catalog.Load().blocked[name]; t != nil {
		return invalid("tool " + name + " is not what was approved earlier and hidden until somebody has looked at it: mcphub approve " + t.server.Name())
	}
	for _, s := range h.servers() {
		if s.Offer() == nil && !s.Config().BareNames && h.couldBe(s, name) {
			st := s.Status()
			text += "; the tools of server " + s.Name() + " are not known, it is " + string(st.State)
			if st.Reason != "" {
				text += ": " + st.Reason
			}
			return invalid(text)
		}
	}
	return invalid(text + "; tools/list has the names")
}

// getPrompt routes a prompts/get by the published name.
func (h merged) getPrompt(ctx context.Context, r *Request) Answer {
	name := wire.String(wire.Get(r.Msg.Params, "name"))
	if name == inlineName {
		return h.inline(ctx, r)
	}
	if s := h.current().skills.named(name); s != nil {
		h.reveal(r.Client, s)
		return h.face.finish(r, s.messages())
	}
	at, ok := h.current().prompts[name]
	if !ok {
		h.awaitAll(ctx)
		at, ok = h.current().prompts[name]
	}
	if !ok {
		return notPrompt(name)
	}
	return bridge{h.Hub}.forward(ctx, r, at.server, &upstream.Call{
		Method: r.Msg.Method, Params: wire.Splice(r.Msg.Params, wire.Edit{Key: "name", Value: wire.Quote(at.own)}),
	})
}

// readResource routes a resources/read by the URI.
func (h merged) readResource(ctx context.Context, r *Request) Answer {
	uri := wire.String(wire.Get(r.Msg.Params, "uri"))
	if s := h.current().skills.at(uri); s != nil {
		h.reveal(r.Client, s)
		return cacheable(h.face.finish(r, s.contents()), r.Msg.Method, r.modern())
	}
	at, ok := h.locateLate(ctx, uri)
	if !ok {
		return notFound(uri, r.modern())
	}
	answer := bridge{h.Hub}.forward(ctx, r, at.server, &upstream.Call{
		Method: r.Msg.Method, Params: wire.Splice(r.Msg.Params, wire.Edit{Key: "uri", Value: wire.Quote(at.own)}),
	})
	return cacheable(inEra(answer, r.modern()), r.Msg.Method, r.modern())
}

// complete routes a completion/complete by what it completes.
func (h merged) complete(ctx context.Context, r *Request) Answer {
	ref := wire.Get(r.Msg.Params, "ref")
	if wire.String(wire.Get(ref, "type")) == "ref/prompt" && wire.String(wire.Get(ref, "name")) == inlineName {
		return h.completeInline(r)
	}
	at, key := completed(h.current(), ref)
	if at.server == nil {
		h.awaitAll(ctx)
		at, key = completed(h.current(), ref)
	}
	if at.server == nil {
		return invalid("completion/complete: its ref names nothing that is published")
	}
	offer := at.server.Offer()
	declared := offer.Has("completions")
	if !declared && offer.Version >= wire.V20250326 { // before that, there was no word for it
		return h.face.finish(r, noCompletion)
	}
	// A completion is answered without questions (MCP 2026-07-28, Multi Round-Trip Requests, Supported Requests).
	answer := bridge{h.Hub}.translate(bridge{h.Hub}.send(ctx, r, at.server, &upstream.Call{
		Method: r.Msg.Method, Sink: quiet{}, Params: wire.Splice(r.Msg.Params, wire.Edit{
			Key: "ref", Value: wire.Splice(ref, wire.Edit{Key: key, Value: wire.Quote(at.own)})}),
	}), r, at.server)
	if asksInput(answer.Result) {
		return h.face.finish(r, noCompletion)
	}
	if code, _ := wire.ErrorOf(answer.Error); code == wire.CodeMethodNotFound && !declared {
		return h.face.finish(r, noCompletion)
	}
	return answer
}

// noCompletion is what a server that completes nothing knows of anything.
var noCompletion = []byte(`{"completion":{"values":[]}}`)

// completed finds what a completion's ref names, and the member that names it.
func completed(c *catalog, ref []byte) (at route, key string) {
	switch wire.String(wire.Get(ref, "type")) {
	case "ref/prompt":
		return c.prompts[wire.String(wire.Get(ref, "name"))], "name"
	case "ref/resource":
		return c.described(wire.String(wire.Get(ref, "uri"))), "uri"
	}
	return route{}, ""
}

// finish gives a result of the hub's own what the client's era wants in it.
func (f face) finish(r *Request, result []byte) Answer {
	if !r.modern() {
		return Answer{Result: result}
	}
	return Answer{Result: wire.Splice(result, wire.Edit{Key: "resultType", Value: resultMarks}, wire.Edit{Key: "_meta", Value: f.meta()})}
}

// resultMarks is the resultType of a result that is whole.
var resultMarks = []byte(`"complete"`)

// translate fits a result to the client's era and view. A server's own name never poses as the hub's.
func (h bridge) translate(a Answer, r *Request, s *upstream.Server) Answer {
	offer := s.Offer()
	h.claims.read(r, s, a)
	if a.Result == nil || offer == nil {
		return a
	}
	a.Result = h.viewOf(r.Client).current().republish(s, a.Result)
	fromModern, toModern := wire.Modern(offer.Version), r.modern()
	if !fromModern && !toModern {
		return a
	}
	f, err := wire.Fields(a.Result, "resultType", "_meta")
	if err != nil {
		return failed(&wire.Error{Code: wire.CodeInternal, Message: "server " + s.Name() + ": its result is ambiguous: " + err.Error()})
	}
	kind, meta := f[0], f[1]
	var edits []wire.Edit
	if toModern {
		if kind == nil {
			edits = append(edits, wire.Edit{Key: "resultType", Value: resultMarks})
		}
		edits = append(edits, wire.Edit{Key: "_meta", Value: wire.Splice(meta, wire.Edit{Key: wire.MetaServerInfo, Value: h.face.info()})})
	} else if wire.Get(meta, wire.MetaServerInfo) != nil {
		edits = append(edits, wire.Edit{Key: "_meta", Value: wire.Splice(meta, wire.Edit{Key: wire.MetaServerInfo})})
	}
	if len(edits) == 0 {
		return a
	}
	return Answer{Result: wire.Splice(a.Result, edits...)}
}
