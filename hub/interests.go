package hub

import (
	"context"
	"maps"
	"slices"
	"sync"

	"mcphub/upstream"
)

// interests are the resources that a session or a stream of changes is subscribed to, by the URI that its client gave.
type interests struct {
	client *Client // nil for a stream

	mu    sync.Mutex // guards the rest
	over  bool
	byURI map[string]*interest
}

// interest is one subscription at a server. Whoever takes it out of the table ends it at the server; while the server
// is being told of it, that falls to whoever tells.
type interest struct {
	route
	with subscriber
	told bool // the server knows of it
}

// subscriber tells a server of interests: on the connection that all share, or on one of a session's own.
type subscriber interface {
	Subscribe(ctx context.Context, uri string) (upstream.Answer, error)
	Unsubscribe(ctx context.Context, uri string) (upstream.Answer, error)
}

// interestIn is a new interest of in.
func (h apartness) interestIn(at route, in *interests) *interest {
	if in.client != nil && h.keeps(in.client, at.server) {
		return &interest{route: at, with: h.connOf(in.client, at.server)}
	}
	return &interest{route: at, with: at.server.Wishes()}
}

// uris are those that in is subscribed to.
func (in *interests) uris() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Sorted(maps.Keys(in.byURI))
}

// names are the URIs, each once, by which in knows what has changed at a server, as told on one connection. Of a part
// of what was subscribed that is the published one.
func (in *interests) names(from subscriber, at route, published string) (names []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, it := range in.byURI {
		switch {
		case it.with != from || !covers(it.own, at.own):
			continue
		case it.own != at.own:
			name = published
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// watch subscribes in to uri, which leads to at. What it led to before is let go.
func (h subscriptions) watch(ctx context.Context, in *interests, uri string, at route) (upstream.Answer, error) {
	it := apartness(h).interestIn(at, in)
	in.mu.Lock()
	old := in.byURI[uri]
	if in.over || old != nil && old.route == at {
		in.mu.Unlock()
		return upstream.Answer{Result: []byte("{}")}, nil
	}
	if in.byURI == nil {
		in.byURI = map[string]*interest{}
	}
	in.byURI[uri] = it
	h.drop(old)
	in.mu.Unlock()
	return h.tell(ctx, in, uri, it)
}

// tell tells a server of an interest that is in the table.
func (h subscriptions) tell(ctx context.Context, in *interests, uri string, it *interest) (upstream.Answer, error) {
	answer, err := it.with.Subscribe(ctx, it.own)
	ok := err == nil && answer.Error == nil
	in.mu.Lock()
	wanted := in.byURI[uri] == it
	it.told = ok && wanted
	if wanted && !ok {
		delete(in.byURI, uri)
	}
	in.mu.Unlock()
	if ok && !wanted {
		h.release(it)
	}
	return answer, err
}

// drop ends what has been taken out of the table; in.mu is held, and nobody waits for the end.
func (h subscriptions) drop(it *interest) {
	if it != nil && it.told {
		h.tasks.Go(func() { h.release(it) })
	}
}

// release takes one subscription at a server back.
func (h subscriptions) release(it *interest) {
	ctx, cancel := context.WithTimeout(context.Background(), it.server.Config().RequestTimeout)
	defer cancel()
	_, _ = it.with.Unsubscribe(ctx, it.own)
}

// end ends all subscriptions of a client that goes.
func (h subscriptions) end(in *interests) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.over = true
	for _, it := range in.byURI {
		h.drop(it)
	}
	in.byURI = nil
}

// follow moves subscriptions to where their URIs lead by this catalog: a server that comes late may have what was read
// from another until then.
func (h subscriptions) follow(c *catalog, in *interests) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for uri, old := range in.byURI {
		at, ok := c.locate(uri)
		if !ok || at == old.route {
			continue
		}
		h.move(in, uri, at)
	}
}

// part moves what sessions are subscribed to at a server to connections of their own, because they do not share one any
// more.
func (h subscriptions) part(s *upstream.Server) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		in := &c.subs
		in.mu.Lock()
		for uri, it := range in.byURI {
			if it.server == s {
				h.move(in, uri, it.route)
			}
		}
		in.mu.Unlock()
	}
}

// move has another connection or server hold a subscription; in.mu is held.
func (h subscriptions) move(in *interests, uri string, to route) {
	it := apartness(h).interestIn(to, in)
	h.drop(in.byURI[uri])
	in.byURI[uri] = it
	h.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), to.server.Config().RequestTimeout)
		defer cancel()
		_, _ = h.tell(ctx, in, uri, it)
	})
}
