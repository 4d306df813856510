package hub

import (
	"context"
	"slices"
	"strings"

	"mcphub/upstream"
	"mcphub/wire"
)

// subscriptions tell clients of changes.
type subscriptions struct{ *Hub }

// notice takes what a server tells on the connection that all share and that belongs to no call.
func (h subscriptions) notice(s *upstream.Server, conn *upstream.Conn, m wire.Message) {
	switch m.Method {
	case wire.ToolsChanged, wire.PromptsChanged, wire.ResourcesChanged:
		herald(h).announceFor(s.Name(), m.Method)
	case wire.ResourceUpdated:
		herald(h).updated(s, m)
	case wire.TaskStatus:
		extensions(h).news(s, ofTask, wire.Get(m.Params, "taskId"), m)
	case wire.ElicitationComplete:
		extensions(h).news(s, elicitationOf(s), wire.Get(m.Params, "elicitationId"), m)
	case wire.LogMessage:
		if conn.Serves() == 0 { // else it is about one of those calls, and there is no telling which
			logs(h).background(s, m)
		}
	case wire.Progress, wire.Cancelled, wire.Acknowledged: // of something that is over
	default:
		extensions(h).unknown(s, m)
	}
}

// subscribe has a session hear of changes of a resource.
func (h subscriptions) subscribe(ctx context.Context, r *Request) Answer {
	return h.subscribeTo(ctx, r.Client, wire.String(wire.Get(r.Msg.Params, "uri")))
}

func (h subscriptions) subscribeTo(ctx context.Context, c *Client, uri string) Answer {
	at, ok := h.viewOf(c).locateLate(ctx, uri)
	if !ok {
		return notFound(uri, false)
	}
	answer := answerOf(h.watch(ctx, &c.subs, uri, at))
	h.follow(h.viewOf(c).catalog.Load(), &c.subs) // which may have changed since uri was looked up
	return answer
}

func (h subscriptions) unsubscribe(ctx context.Context, r *Request) Answer {
	uri, c := wire.String(wire.Get(r.Msg.Params, "uri")), r.Client
	c.mu.Lock()
	c.pending = slices.DeleteFunc(c.pending, func(p string) bool { return p == uri })
	c.mu.Unlock()
	c.subs.mu.Lock()
	it := c.subs.byURI[uri]
	delete(c.subs.byURI, uri)
	told := it != nil && it.told
	c.subs.mu.Unlock()
	if !told {
		return Answer{Result: []byte("{}")}
	}
	return answerOf(it.with.Unsubscribe(ctx, it.own))
}

// covers says whether a subscription to own is one to uri too: servers may tell of a part of what was
// subscribed (MCP 2025-11-25, Resources, Subscriptions).
func covers(own, uri string) bool {
	return own == uri || strings.HasPrefix(uri, strings.TrimSuffix(own, "/")+"/")
}

// publishedURI is what a client knows a resource by.
func (h subscriptions) publishedURI(c *Client, at route) string {
	if c.Server != "" { // the server's own view
		return at.own
	}
	return h.viewOf(c).catalog.Load().publishedURI(at)
}

// updatedFor tells the session what its own connection with a server tells.
func (h subscriptions) updatedFor(c *Client, s *upstream.Server, m wire.Message) {
	at := route{s, wire.String(wire.Get(m.Params, "uri"))}
	for _, name := range c.subs.names(apartness(h).connOf(c, s), at, h.publishedURI(c, at)) {
		c.push(wire.AppendNotification(nil, m.Method, renamed(m, name)))
	}
}

// renamed are the params of a notification about a resource, by another name and without its subscription.
func renamed(m wire.Message, uri string) []byte {
	params := wire.Splice(m.Params, wire.Edit{Key: "uri", Value: wire.Quote(uri)})
	if meta := wire.Get(params, "_meta"); wire.Get(meta, wire.MetaSubscriptionID) != nil {
		if meta = wire.Splice(meta, wire.Edit{Key: wire.MetaSubscriptionID}); string(meta) == "{}" {
			meta = nil
		}
		params = wire.Splice(params, wire.Edit{Key: "_meta", Value: meta})
	}
	return params
}

// followAll moves the subscriptions of everybody who sees a view.
func (h subscriptions) followAll(v *view, c *catalog) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for client := range h.clients {
		if client.Server == "" && h.viewOf(client) == v {
			h.follow(c, &client.subs)
		}
	}
	for w := range h.watchers {
		if w.client.Server == "" && h.viewOf(w.client) == v {
			h.follow(c, &w.subs)
		}
	}
}
