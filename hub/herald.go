package hub

import (
	"mcphub/upstream"
	"mcphub/wire"
)

// herald tells clients what has changed.
type herald struct{ *Hub }

// announce tells everybody who sees a view that one of its lists has changed.
func (h herald) announce(v *view, method string) {
	h.tellAll(method, func(c *Client) bool { return c.Server == "" && h.viewOf(c) == v })
}

// announceFor tells everybody who is relayed to a server, on the connection that all share, that one of its lists has changed.
func (h herald) announceFor(server, method string) {
	h.tellAll(method, func(c *Client) bool { return c.Server == server && c.own == nil })
}

// tellAll sends a notification to the clients that are meant.
func (h herald) tellAll(method string, meant func(*Client) bool) {
	msg := wire.AppendNotification(nil, method, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if meant(c) {
			c.push(msg)
		}
	}
	for w := range h.watchers {
		if meant(w.client) && w.wants[method] {
			w.tell(news{method: method})
		}
	}
}

// updated tells those who subscribed to a resource that it has changed, by every URI that they know it by.
func (h herald) updated(s *upstream.Server, m wire.Message) {
	at := route{s, wire.String(wire.Get(m.Params, "uri"))}
	h.mu.Lock()
	defer h.mu.Unlock()
	for client := range h.clients {
		for _, name := range client.subs.names(s.Wishes(), at, subscriptions(h).publishedURI(client, at)) {
			client.push(wire.AppendNotification(nil, m.Method, renamed(m, name)))
		}
	}
	for w := range h.watchers {
		for _, name := range w.subs.names(s.Wishes(), at, subscriptions(h).publishedURI(w.client, at)) {
			w.tell(news{m.Method, renamed(m, name)})
		}
	}
}
