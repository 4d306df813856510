package hub

import (
	"context"

	"mcphub/wire"
)

// Serve answers one request. Where ctx has ended, nobody waits for the answer any more.
func (h *Hub) Serve(ctx context.Context, r *Request) Answer {
	switch {
	case r.Client.Server != "":
		return relayed{h}.relay(ctx, r)
	}
	m := merged{h, h.viewOf(r.Client)}
	if r.modern() {
		return m.serveModern(ctx, r)
	}
	switch r.Msg.Method {
	case wire.Initialize:
		return m.initialize(ctx, r)
	case wire.Ping:
		return Answer{Result: []byte("{}")}
	case wire.SetLevel:
		return logs{h}.setLevel(ctx, r)
	case wire.ResourcesSubscribe:
		return subscriptions{h}.subscribe(ctx, r)
	case wire.ResourceUnsubscribe:
		return subscriptions{h}.unsubscribe(ctx, r)
	case wire.Discover:
		return m.discover(ctx, r)
	}
	return m.serveBoth(ctx, r)
}

// merged answers for all servers of a view as one.
type merged struct {
	*Hub
	*view
}

// serveModern answers what only the stateless era has; what only sessions have is unknown to it.
func (h merged) serveModern(ctx context.Context, r *Request) Answer {
	switch r.Msg.Method {
	case wire.Discover:
		return h.discover(ctx, r)
	case wire.Listen:
		return subscriptions{h.Hub}.listen(ctx, r)
	case wire.Initialize, wire.Ping, wire.SetLevel, wire.ResourcesSubscribe, wire.ResourceUnsubscribe:
		return unknownMethod(r.Msg.Method)
	}
	return h.serveBoth(ctx, r)
}

// serveBoth answers what both eras have.
func (h merged) serveBoth(ctx context.Context, r *Request) Answer {
	if r.Msg.Method != wire.ToolsCall { // which waits for its own server only
		h.settle(ctx)
	}
	switch r.Msg.Method {
	case wire.ToolsList, wire.PromptsList, wire.ResourcesList, wire.ResourceTemplates:
		for _, s := range h.servers() {
			s.Refresh(false)
		}
		answer := h.listFor(r.Client, r.Msg.Method).answer(r.Msg.Params, r.modern())
		if r.Msg.Method == wire.ToolsList {
			answer.Result = ring{h.Hub}.mark(r, h.view, answer.Result)
		}
		return answer
	case wire.ToolsCall:
		return h.callTool(ctx, r)
	case wire.PromptsGet:
		return h.getPrompt(ctx, r)
	case wire.ResourcesRead:
		return h.readResource(ctx, r)
	case wire.CompletionComplete:
		return h.complete(ctx, r)
	}
	return h.pass(ctx, r)
}

func unknownMethod(method string) Answer {
	return failed(&wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found: " + method})
}
