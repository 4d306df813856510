package hub

import (
	"context"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"mcphub/upstream"
	"mcphub/wire"
)

// tasksKept is how many tasks the hub remembers the owners of.
const tasksKept = 10_000

// task says whose a task is.
type task struct {
	server *upstream.Server
	client *Client
}

// taskBook says whose a task is, by its id.
type taskBook struct{ *lru.Cache[string, task] }

func newTasks() taskBook {
	cache, err := lru.New[string, task](tasksKept)
	if err != nil {
		panic(err) // the size is positive
	}
	return taskBook{cache}
}

// note remembers which server a task runs on, when a result tells of a new one.
func (b taskBook) note(r *Request, s *upstream.Server, result []byte) {
	id := wire.Path(result, "task", "taskId")
	if id == nil {
		id = wire.Get(result, "taskId")
	}
	if id != nil {
		b.Add(wire.String(id), task{s, r.Client})
	}
}

// taskNews tells the client that began a task how it stands.
func (h subscriptions) taskNews(m wire.Message) {
	t, ok := h.tasksOf.Get(wire.String(wire.Get(m.Params, "taskId")))
	if !ok {
		return
	}
	h.mu.Lock()
	_, here := h.clients[t.client]
	h.mu.Unlock()
	if here && t.client.Push != nil {
		t.client.Push(m.Raw)
	}
}

// pass carries a request of an extension to the one server that can own it. Which one that is, the hub
// does not guess.
func (h merged) pass(ctx context.Context, r *Request) Answer {
	if id := wire.Get(r.Msg.Params, "taskId"); id != nil {
		if t, ok := h.tasksOf.Get(wire.String(id)); ok {
			return bridge{h.Hub}.forward(ctx, r, t.server, &upstream.Call{Method: r.Msg.Method, Params: r.Msg.Params})
		}
	}
	family, _, _ := strings.Cut(r.Msg.Method, "/")
	var owners []*upstream.Server
	for _, s := range h.servers {
		if offer := s.Offer(); offer != nil && (family != "tasks" || offer.Has("tasks") || offer.Has("extensions")) {
			owners = append(owners, s)
		}
	}
	switch len(owners) {
	case 0:
		return unknownMethod(r.Msg.Method)
	case 1:
		return bridge{h.Hub}.forward(ctx, r, owners[0], &upstream.Call{Method: r.Msg.Method, Params: r.Msg.Params})
	}
	return failed(&wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found: " + r.Msg.Method +
		" could be for several servers; send it to /servers/<name>/mcp of the one you mean"})
}
