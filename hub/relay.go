package hub

import (
	"context"
	"strings"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// relayed answers for one server alone.
type relayed struct{ *Hub }

// relay passes a request to one server under the server's own names. A session has a connection of its
// own there, opened with its own initialize, so that whatever the server speaks reaches it and nobody
// else. Clients without a session share the hub's connection.
func (h relayed) relay(ctx context.Context, r *Request) Answer {
	s := h.Server(r.Client.Server)
	switch {
	case s == nil:
		return invalid("server " + r.Client.Server + " is not configured any more")
	case r.Msg.Method == wire.Initialize && !wire.Modern(r.Client.Version):
		return h.relayInitialize(ctx, r, s)
	case r.Client.own != nil:
		r.Client.own.follow(s)
		return h.relayOwn(ctx, r)
	}
	return h.relayShared(ctx, r, s)
}

func (h relayed) relayInitialize(ctx context.Context, r *Request, s *upstream.Server) Answer {
	r.Client.Params = r.Msg.Params
	own := h.newOwn(r.Client, s)
	conn, answer, err := s.Open(ctx, r.Msg.Params, own.unclaimed)
	if err == nil && answer.Error == nil {
		own.conn = conn
		r.Client.own = own
		return Answer(answer)
	}
	// A server of the stateless era alone has no initialize: the hub holds the session in its place.
	if shared, sharedErr := s.Connect(ctx); sharedErr == nil && shared.Modern() {
		return h.initializeFor(r, shared)
	}
	return answerOf(answer, err)
}

// newOwn prepares the connection of a relayed session, which is opened with the client's own initialize.
func (h relayed) newOwn(c *Client, s *upstream.Server) *ownConn {
	return apartness(h).ownOf(s, c.Params, func(m wire.Message) { c.push(m.Raw) })
}

// initializeFor answers initialize from what a stateless server has said of itself.
func (h relayed) initializeFor(r *Request, conn *upstream.Conn) Answer {
	version := sessionVersion(wire.String(wire.Get(r.Msg.Params, "protocolVersion")))
	info := wire.Path(conn.Greeting, "_meta", wire.MetaServerInfo)
	if info == nil {
		info = h.face.info()
	}
	edits := []wire.Edit{
		{Key: "protocolVersion", Value: wire.Quote(version)},
		{Key: "capabilities", Value: wire.Get(conn.Greeting, "capabilities")},
		{Key: "serverInfo", Value: info},
		{Key: "instructions", Value: wire.Get(conn.Greeting, "instructions")},
	}
	return Answer{Result: wire.Splice(nil, edits...)}
}

func (h relayed) relayOwn(ctx context.Context, r *Request) Answer {
	call := r.Client.own.request(lasting{r.Msg.Method, r.Msg.Params})
	call.Sink = (*ownSink)(r)
	return answerOf(r.Client.own.call(ctx, call))
}

// ownSink passes everything on: the connection is the client's own.
type ownSink Request

// Notice passes a notification on.
func (s *ownSink) Notice(m wire.Message) { (*Request)(s).send(m.Raw) }

// Ask passes a request on, under the server's own id.
func (s *ownSink) Ask(conn *upstream.Conn, m wire.Message) bool {
	return s.Client.reach(s.Out, m.Raw) || decline(conn, m)
}

// Prime makes the client's stream resumable too.
func (s *ownSink) Prime(retry time.Duration) { (*Request)(s).prime(retry) }

// relaySink passes on what comes on the shared connection for one request, which may be a subscription.
type relaySink Request

// Notice passes a notification on, under the id that the client knows its subscription by.
func (s *relaySink) Notice(m wire.Message) { (*Request)(s).send(forClient(m, s.Msg.ID)) }

// Ask declines: the client has no session to be asked in.
func (s *relaySink) Ask(conn *upstream.Conn, m wire.Message) bool { return decline(conn, m) }

// Prime makes the client's stream resumable too.
func (s *relaySink) Prime(retry time.Duration) { (*Request)(s).prime(retry) }

// relayShared passes a request over the connection that the hub itself holds with the server.
func (h relayed) relayShared(ctx context.Context, r *Request, s *upstream.Server) Answer {
	conn, err := s.Connect(ctx)
	if err != nil {
		return failure(err)
	}
	modern := wire.Modern(r.Client.Version)
	if modern != conn.Modern() {
		if answer, done := h.bridge(ctx, r, conn); done {
			return answer
		}
	}
	if modern != conn.Modern() && mayAsk(r.Msg.Method) {
		return cacheable(bridge(h).forward(ctx, r, s, &upstream.Call{Method: r.Msg.Method, Params: r.Msg.Params, Headers: h.mirrorFor(s, r.Msg)}), r.Msg.Method, modern)
	}
	call := &upstream.Call{
		Method: r.Msg.Method, Params: r.Msg.Params, AsIs: modern, Headers: r.Headers, Sink: (*relaySink)(r),
	}
	if !modern {
		call.Headers = h.mirrorFor(s, r.Msg)
	}
	answer := answerOf(s.Call(ctx, call))
	if modern && conn.Modern() {
		answer.Result = subscriptionTo(answer.Result, r.Msg.ID)
		return answer
	}
	return cacheable(h.fit(answer, modern, conn), r.Msg.Method, modern)
}

// mayAsk says whether a server may answer a method with questions.
func mayAsk(method string) bool {
	return method == wire.ToolsCall || method == wire.PromptsGet || method == wire.ResourcesRead
}

// mirrorFor computes the headers of a call to a stateless server from its own list.
func (h relayed) mirrorFor(s *upstream.Server, m wire.Message) map[string]string {
	if m.Method != wire.ToolsCall {
		return nil
	}
	name, args := wire.String(wire.Get(m.Params, "name")), wire.Get(m.Params, "arguments")
	for _, t := range h.base.catalog.Load().tools {
		if t.server == s && t.own == name {
			return t.mirror(args)
		}
	}
	return nil
}

// bridge answers what only one of the two eras has.
func (h relayed) bridge(ctx context.Context, r *Request, conn *upstream.Conn) (Answer, bool) {
	if wire.Modern(r.Client.Version) {
		switch r.Msg.Method {
		case wire.Discover:
			return discoverFor(conn), true
		case wire.Listen:
			return subscriptions(h).listen(ctx, r), true
		case wire.Initialize, wire.Ping, wire.SetLevel, wire.ResourcesSubscribe, wire.ResourceUnsubscribe:
			return unknownMethod(r.Msg.Method), true
		}
		return Answer{}, false
	}
	switch r.Msg.Method {
	case wire.Ping, wire.SetLevel:
		return Answer{Result: []byte("{}")}, true
	case wire.ResourcesSubscribe, wire.ResourceUnsubscribe:
		return unknownMethod(r.Msg.Method), true
	}
	return Answer{}, false
}

// discoverFor answers server/discover from what a session server has said of itself.
func discoverFor(conn *upstream.Conn) Answer {
	meta := wire.Splice(nil, wire.Edit{Key: wire.MetaServerInfo, Value: wire.Get(conn.Greeting, "serverInfo")})
	capabilities := wire.Get(conn.Greeting, "capabilities")
	if capabilities == nil {
		capabilities = []byte("{}")
	}
	return Answer{Result: wire.Splice(nil,
		wire.Edit{Key: "resultType", Value: resultMarks},
		wire.Edit{Key: "supportedVersions", Value: []byte(`["` + strings.Join(wire.Versions, `","`) + `"]`)},
		wire.Edit{Key: "capabilities", Value: capabilities},
		wire.Edit{Key: "instructions", Value: wire.Get(conn.Greeting, "instructions")},
		wire.Edit{Key: "ttlMs", Value: []byte("0")}, wire.Edit{Key: "cacheScope", Value: []byte(`"private"`)},
		wire.Edit{Key: "_meta", Value: meta})}
}

// fit gives a result the members that the client's era has and the server's has not.
func (h relayed) fit(a Answer, modern bool, conn *upstream.Conn) Answer {
	if a.Result == nil || modern == conn.Modern() {
		return a
	}
	kind := wire.Get(a.Result, "resultType")
	if modern && kind == nil {
		a.Result = wire.Splice(a.Result, wire.Edit{Key: "resultType", Value: resultMarks})
	}
	if !modern && wire.String(kind) == "input_required" {
		return failed(&wire.Error{Code: wire.CodeInternal,
			Message: "the server asks for input in a way that your protocol version does not have: connect with 2026-07-28"})
	}
	return a
}

// cacheable adds the caching hints that the stateless era demands (MCP 2026-07-28, Caching). What a server says that
// anybody may keep was said to the hub, whose clients see it by the hub's rules.
func cacheable(a Answer, method string, modern bool) Answer {
	if !modern || a.Result == nil {
		return a
	}
	switch method {
	case wire.ToolsList, wire.PromptsList, wire.ResourcesList, wire.ResourceTemplates, wire.ResourcesRead:
	default:
		return a
	}
	edits := []wire.Edit{{Key: "cacheScope", Value: []byte(`"private"`)}}
	if wire.Get(a.Result, "ttlMs") == nil {
		edits = append(edits, wire.Edit{Key: "ttlMs", Value: []byte("0")})
	}
	a.Result = wire.Splice(a.Result, edits...)
	return a
}

// forClient gives a subscription's notification the id that the client knows it by.
func forClient(m wire.Message, id []byte) []byte {
	if wire.Path(m.Params, "_meta", wire.MetaSubscriptionID) == nil {
		return m.Raw
	}
	return wire.AppendNotification(nil, m.Method, subscriptionTo(m.Params, id))
}

// subscriptionTo replaces the subscription id in the _meta of obj, where there is one.
func subscriptionTo(obj, id []byte) []byte {
	meta := wire.Get(obj, "_meta")
	if wire.Get(meta, wire.MetaSubscriptionID) == nil {
		return obj
	}
	return wire.Splice(obj, wire.Edit{Key: "_meta", Value: wire.Splice(meta, wire.Edit{Key: wire.MetaSubscriptionID, Value: id})})
}
