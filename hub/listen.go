package hub

import (
	"context"
	"slices"
	"sync"

	"mcphub/wire"
)

// listenKinds are the changes that a stateless client may subscribe to, by the filter's member.
var listenKinds = []struct{ member, method string }{
	{"toolsListChanged", wire.ToolsChanged},
	{"promptsListChanged", wire.PromptsChanged},
	{"resourcesListChanged", wire.ResourcesChanged},
}

// watcher is one open subscriptions/listen stream.
type watcher struct {
	client *Client         // of this one request
	wants  map[string]bool // by notification method
	subs   interests
	news   chan news
}

// news is a notification for a watcher, without the subscription's id.
type news struct {
	method string
	params []byte
}

// watcherQueue is how many notifications wait for a client that reads slowly; more are lost.
const watcherQueue = 64

func (w *watcher) tell(n news) {
	select {
	case w.news <- n:
	default:
	}
}

// listen holds a subscription of a stateless client until it goes or the hub ends
// (MCP 2026-07-28, Subscriptions).
func (h subscriptions) listen(ctx context.Context, r *Request) Answer {
	if !r.modern() || r.Out == nil {
		return unknownMethod(r.Msg.Method)
	}
	w := &watcher{client: r.Client, wants: map[string]bool{}, news: make(chan news, watcherQueue)}
	granted := h.grant(ctx, w, wire.Get(r.Msg.Params, "notifications"))
	h.mu.Lock()
	h.watchers[w] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.watchers, w)
		h.mu.Unlock()
		h.end(&w.subs)
	}()
	if r.Client.Server == "" {
		h.follow(h.viewOf(r.Client).catalog.Load(), &w.subs) // which may have changed while servers were asked
	}
	id := wire.Edit{Key: wire.MetaSubscriptionID, Value: r.Msg.ID}
	tell := func(method string, params []byte) {
		meta := wire.Splice(wire.Get(params, "_meta"), id)
		r.send(wire.AppendNotification(nil, method, wire.Splice(params, wire.Edit{Key: "_meta", Value: meta})))
	}
	tell(wire.Acknowledged, wire.Splice(nil, wire.Edit{Key: "notifications", Value: granted}))
	for {
		select {
		case n := <-w.news:
			tell(n.method, n.params)
		case <-ctx.Done():
			return Answer{}
		case <-h.quiet:
			return Answer{Result: wire.Splice(nil,
				wire.Edit{Key: "resultType", Value: resultMarks}, wire.Edit{Key: "_meta", Value: wire.Splice(nil, id)})}
		}
	}
}

// grant subscribes to what the hub can tell of, and says what that is.
func (h subscriptions) grant(ctx context.Context, w *watcher, filter []byte) []byte {
	var granted []wire.Edit
	for _, kind := range listenKinds {
		if string(wire.Get(filter, kind.member)) == "true" {
			w.wants[kind.method] = true
			granted = append(granted, wire.Edit{Key: kind.member, Value: []byte("true")})
		}
	}
	wanted := wire.Get(filter, "resourceSubscriptions")
	h.watchAll(ctx, w, wanted)
	var uris []byte
	known := w.subs.uris()
	for raw := range wire.Elements(wanted) {
		if slices.Contains(known, wire.String(raw)) {
			uris = append(append(uris, ','), raw...)
		}
	}
	if uris != nil {
		uris[0] = '['
		granted = append(granted, wire.Edit{Key: "resourceSubscriptions", Value: append(uris, ']')})
	}
	return wire.Splice(nil, granted...)
}

// watchAll subscribes to resources of a view side by side: servers may be starting.
func (h subscriptions) watchAll(ctx context.Context, w *watcher, wanted []byte) {
	var asking sync.WaitGroup
	for raw := range wire.Elements(wanted) {
		asking.Go(func() {
			uri := wire.String(raw)
			at, ok := route{h.Server(w.client.Server), uri}, uri != ""
			if w.client.Server == "" {
				at, ok = h.viewOf(w.client).locateLate(ctx, uri)
			}
			if ok {
				_, _ = h.watch(ctx, &w.subs, uri, at) // what fails is not granted
			}
		})
	}
	asking.Wait()
}
