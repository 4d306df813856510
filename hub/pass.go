package hub

import (
	"bytes"
	"context"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"mcphub/upstream"
	"mcphub/wire"
)

// claimsKept is how many tasks and elicitations the hub remembers the owners of.
const claimsKept = 10_000

// claim says whose something is that a server made an id for: a task, or an elicitation by URL.
type claim struct {
	server *upstream.Server // nil: several servers have made the same id
	client *Client
}

// claims keeps them by kind and id.
type claims struct {
	*lru.Cache[string, claim]
}

const ofTask = "task/" // clients name a task by its id alone

func elicitationOf(s *upstream.Server) string { return "elicitation/" + s.Name() + "/" }

func newClaims() claims {
	cache, err := lru.New[string, claim](claimsKept)
	if err != nil {
		panic(err) // the size is positive
	}
	return claims{cache}
}

// add notes whose a new task is. Whoever asks for another's task later does not become its owner.
func (b claims) add(id []byte, s *upstream.Server, c *Client) {
	if !wire.IsString(id) {
		return
	}
	key := ofTask + wire.String(id)
	old, known, _ := b.PeekOrAdd(key, claim{s, c})
	if known && old.server != s {
		b.Add(key, claim{})
	}
}

// addElicitation notes who has been sent to a URL.
func (b claims) addElicitation(id []byte, s *upstream.Server, c *Client) {
	if wire.IsString(id) {
		b.Add(elicitationOf(s)+wire.String(id), claim{s, c})
	}
}

// read notes the ids that an answer tells of.
func (b claims) read(r *Request, s *upstream.Server, a Answer) {
	if bytes.Contains(a.Result, []byte(`"taskId"`)) { // most results are long and have none
		b.add(taskOf(a.Result), s, r.Client)
	}
	for e := range wire.Elements(wire.Path(a.Error, "data", "elicitations")) { // URLElicitationRequiredError
		b.addElicitation(wire.Get(e, "elicitationId"), s, r.Client)
	}
}

// taskOf is the raw id of the task that a result begins or describes.
func taskOf(result []byte) []byte {
	if id := wire.Path(result, "task", "taskId"); id != nil {
		return id
	}
	return wire.Get(result, "taskId")
}

// extensions pass on what the hub itself has no part in.
type extensions struct{ *Hub }

// news passes a notification on to the client whose the id in it is, and to nobody else.
func (h extensions) news(s *upstream.Server, kind string, id []byte, m wire.Message) {
	mine, ok := h.claims.Get(kind + wire.String(id))
	if !ok || mine.server != s {
		return
	}
	h.mu.Lock()
	_, here := h.clients[mine.client]
	h.mu.Unlock()
	if here && mine.client.Push != nil {
		mine.client.Push(m.Raw)
	}
}

// unknown passes on a notification that the hub does not know, where only one session can be meant.
func (h extensions) unknown(s *upstream.Server, m wire.Message) {
	var only *Client
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if c.Push == nil || !h.sees(c, s) {
			continue
		}
		if only != nil {
			return
		}
		only = c
	}
	if only != nil {
		only.Push(m.Raw)
	}
}

// notify carries a notification of an extension to the one server there is for it.
func (h extensions) notify(c *Client, m wire.Message) {
	owners := h.viewOf(c).owners(m.Method)
	if len(owners) != 1 {
		return
	}
	h.tasks.Go(func() { // it may have to be connected to
		s := owners[0]
		ctx, cancel := context.WithTimeout(context.Background(), s.Config().RequestTimeout)
		defer cancel()
		if conn, err := apartness(h).connFor(ctx, c, s); err == nil {
			conn.Reply(m.Raw)
		}
	})
}

// pass carries a request of an extension to the one server that can own it. Which one that is, the hub
// does not guess.
func (h merged) pass(ctx context.Context, r *Request) Answer {
	h.awaitAll(ctx) // the only one that is there now need not be the owner
	owners := h.owners(r.Msg.Method)
	if id := wire.Get(r.Msg.Params, "taskId"); id != nil {
		if t, ok := h.claims.Get(ofTask + wire.String(id)); ok && t.server != nil {
			owners = []*upstream.Server{t.server}
		} else if !ok && len(owners) > 1 {
			if owners = knowing(ctx, owners, id); owners == nil {
				return invalid("no server knows the task " + wire.String(id))
			}
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

// knowing are those of the servers that know a task, which may be older than the hub's process.
func knowing(ctx context.Context, servers []*upstream.Server, id []byte) (those []*upstream.Server) {
	params := wire.Splice(nil, wire.Edit{Key: "taskId", Value: id})
	known := make([]bool, len(servers))
	var asking sync.WaitGroup
	for i, s := range servers {
		asking.Go(func() {
			answer, err := s.Call(ctx, &upstream.Call{Method: wire.TasksGet, Params: params, Sink: quiet{}})
			known[i] = err == nil && bytes.Equal(taskOf(answer.Result), id)
		})
	}
	asking.Wait()
	for i, s := range servers {
		if known[i] {
			those = append(those, s)
		}
	}
	return those
}

// owners are the servers that may know an extension's method.
func (v *view) owners(method string) (owners []*upstream.Server) {
	family, _, _ := strings.Cut(strings.TrimPrefix(method, "notifications/"), "/")
	for _, s := range v.servers() {
		if offer := s.Offer(); offer != nil && (family != "tasks" || hasTasks(offer)) {
			owners = append(owners, s)
		}
	}
	return owners
}

// hasTasks says whether a server has tasks, which 2025-11-25 has as a capability and 2026-07-28 as an extension.
func hasTasks(offer *upstream.Offer) bool {
	return offer.Has("tasks") || !wire.IsNull(wire.Path(offer.Capabilities(), "extensions", "io.modelcontextprotocol/tasks"))
}
