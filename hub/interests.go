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
	mu    sync.Mutex // guards the rest
	over  bool
	byURI map[string]*interest
}

// interest is one subscription at a server. Whoever takes it out of the table ends it at the server; while the server
// is being told of it, that falls to whoever tells.
type interest struct {
	route
	told bool // the server knows of it
}

// uris are those that in is subscribed to.
func (in *interests) uris() []string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Sorted(maps.Keys(in.byURI))
}

// names are the URIs, each once, by which in knows what has changed at a server. Of a part of what was subscribed
// that is the published one.
func (in *interests) names(at route, published string) (names []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for name, it := range in.byURI {
		switch {
		case it.server != at.server || !covers(it.own, at.own):
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
	it := &interest{route: at}
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
	answer, err := it.server.Wishes().Subscribe(ctx, it.own)
	ok := err == nil && answer.Error == nil
	in.mu.Lock()
	wanted := in.byURI[uri] == it
	it.told = ok && wanted
	if wanted && !ok {
		delete(in.byURI, uri)
	}
	in.mu.Unlock()
	if ok && !wanted {
		h.release(it.route)
	}
	return answer, err
}

// drop ends what has been taken out of the table; in.mu is held, and nobody waits for the end.
func (h subscriptions) drop(it *interest) {
	if it != nil && it.told {
		h.tasks.Go(func() { h.release(it.route) })
	}
}

// release takes one subscription at a server back.
func (h subscriptions) release(at route) {
	ctx, cancel := context.WithTimeout(context.Background(), at.server.Config().RequestTimeout)
	defer cancel()
	_, _ = at.server.Wishes().Unsubscribe(ctx, at.own)
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
		it := &interest{route: at}
		in.byURI[uri] = it
		h.drop(old)
		h.tasks.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), at.server.Config().RequestTimeout)
			defer cancel()
			_, _ = h.tell(ctx, in, uri, it)
		})
	}
}
