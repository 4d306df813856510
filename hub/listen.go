package hub

import (
	"context"

	"mcphub/wire"
)

// listenKinds are the changes that a stateless client may subscribe to, by the filter's member.
var listenKinds = []struct{ member, method string }{
	{"toolsListChanged", wire.ToolsChanged},
	{"promptsListChanged", wire.PromptsChanged},
	{"resourcesListChanged", wire.ResourcesChanged},
}

// listen holds a subscription of a stateless client until it goes or the hub ends
// (MCP 2026-07-28, Subscriptions).
func (h *Hub) listen(ctx context.Context, r *Request) Answer {
	if !wire.Modern(r.Client.Version) || r.Out == nil {
		return unknownMethod(r.Msg.Method)
	}
	filter := wire.Get(r.Msg.Params, "notifications")
	w := &watcher{server: r.Client.Server, wants: map[string]bool{}, news: make(chan string, len(listenKinds))}
	var granted []wire.Edit
	for _, kind := range listenKinds {
		if string(wire.Get(filter, kind.member)) == "true" && h.announces(r.Client.Server, kind.method) {
			w.wants[kind.method] = true
			granted = append(granted, wire.Edit{Key: kind.member, Value: []byte("true")})
		}
	}
	h.mu.Lock()
	h.watchers[w] = struct{}{}
	h.mu.Unlock()
	defer func() {
		h.mu.Lock()
		delete(h.watchers, w)
		h.mu.Unlock()
	}()
	meta := wire.Splice(nil, wire.Edit{Key: wire.MetaSubscriptionID, Value: r.Msg.ID})
	tell := func(method string, more ...wire.Edit) {
		params := wire.Splice(nil, append([]wire.Edit{{Key: "_meta", Value: meta}}, more...)...)
		r.send(wire.AppendNotification(nil, method, params))
	}
	tell(wire.Acknowledged, wire.Edit{Key: "notifications", Value: wire.Splice(nil, granted...)})
	for {
		select {
		case method := <-w.news:
			tell(method)
		case <-ctx.Done():
			return Answer{}
		case <-h.stop:
			return Answer{Result: wire.Splice(nil,
				wire.Edit{Key: "resultType", Value: resultMarks}, wire.Edit{Key: "_meta", Value: meta})}
		}
	}
}

// announces says whether a view ever sends such a change: the merged one has tools only.
func (h *Hub) announces(server, method string) bool {
	return server != "" || method == wire.ToolsChanged
}
