package hub

import (
	"context"
	"iter"
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
		h.announce(s.Name(), m.Method)
	case wire.ResourceUpdated:
		h.updated(s, m)
	case wire.TaskStatus:
		h.news(s, ofTask, wire.Get(m.Params, "taskId"), m)
	case wire.ElicitationComplete:
		h.news(s, elicitationOf(s), wire.Get(m.Params, "elicitationId"), m)
	case wire.LogMessage:
		if conn.Serves() == 0 { // else it is about one of those calls, and there is no telling which
			logs(h).background(m)
		}
	case wire.Progress, wire.Cancelled, wire.Acknowledged: // of something that is over
	default:
		h.unknown(m)
	}
}

// subscribe has a session hear of changes of a resource.
func (h subscriptions) subscribe(ctx context.Context, r *Request) Answer {
	return h.subscribeTo(ctx, r.Client, wire.String(wire.Get(r.Msg.Params, "uri")))
}

func (h subscriptions) subscribeTo(ctx context.Context, c *Client, uri string) Answer {
	at, ok := merged(h).locateLate(ctx, uri)
	if !ok {
		return notFound(uri, false)
	}
	c.mu.Lock()
	if c.left {
		c.mu.Unlock()
		return Answer{Result: []byte("{}")}
	}
	if c.subs == nil {
		c.subs = map[string]route{}
	}
	_, known := c.subs[uri]
	c.subs[uri] = at
	c.mu.Unlock()
	if known {
		return Answer{Result: []byte("{}")}
	}
	answer := apartness(h).subscribe(ctx, c, at)
	if answer.Error != nil {
		c.mu.Lock()
		delete(c.subs, uri)
		c.mu.Unlock()
	}
	return answer
}

func (h subscriptions) unsubscribe(ctx context.Context, r *Request) Answer {
	uri := wire.String(wire.Get(r.Msg.Params, "uri"))
	r.Client.mu.Lock()
	at, known := r.Client.subs[uri]
	delete(r.Client.subs, uri)
	r.Client.pending = slices.DeleteFunc(r.Client.pending, func(p string) bool { return p == uri })
	r.Client.mu.Unlock()
	if !known {
		return Answer{Result: []byte("{}")}
	}
	return apartness(h).unsubscribe(ctx, r.Client, at)
}

// release takes one subscription back when nobody waits for that.
func (h subscriptions) release(at route) {
	ctx, cancel := context.WithTimeout(context.Background(), at.server.Config().RequestTimeout)
	defer cancel()
	_, _ = at.server.Wishes().Unsubscribe(ctx, at.own)
}

// covers says whether a subscription to own is one to uri too: servers may tell of a part of what was
// subscribed (MCP 2025-11-25, Resources, Subscriptions).
func covers(own, uri string) bool {
	return own == uri || strings.HasPrefix(uri, strings.TrimSuffix(own, "/")+"/")
}

// updated tells those who subscribed to a resource that it has changed, by the URIs that they know.
func (h subscriptions) updated(s *upstream.Server, m wire.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for client := range h.clients {
		h.updatedFor(client, s, m)
	}
	for w := range h.watchers {
		for params := range h.updates(w.subs, s, m) {
			w.tell(news{m.Method, params})
		}
	}
}

// updatedFor tells one session.
func (h subscriptions) updatedFor(c *Client, s *upstream.Server, m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Push == nil {
		return
	}
	for params := range h.updates(c.subs, s, m) {
		c.Push(wire.AppendNotification(nil, m.Method, params))
	}
}

// updates are the params of a notification that a server's resource has changed, for somebody with these
// subscriptions: one for each URI by which it is known there.
func (h subscriptions) updates(subs map[string]route, s *upstream.Server, m wire.Message) iter.Seq[[]byte] {
	uri := wire.String(wire.Get(m.Params, "uri"))
	return func(yield func([]byte) bool) {
		for published, at := range subs {
			if at.server != s || !covers(at.own, uri) {
				continue
			}
			if at.own != uri { // a part of what was subscribed
				published = h.catalog.Load().publishedURI(route{s, uri})
			}
			params := wire.Splice(m.Params, wire.Edit{Key: "uri", Value: wire.Quote(published)})
			if meta := wire.Get(params, "_meta"); wire.Get(meta, wire.MetaSubscriptionID) != nil {
				params = wire.Splice(params, wire.Edit{Key: "_meta", Value: wire.Splice(meta, wire.Edit{Key: wire.MetaSubscriptionID})})
			}
			if !yield(params) {
				return
			}
		}
	}
}
