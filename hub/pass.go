package hub

import (
	"bytes"
	"context"
	"strings"

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
		id := wire.Path(a.Result, "task", "taskId")
		if id == nil {
			id = wire.Get(a.Result, "taskId")
		}
		b.add(id, s, r.Client)
	}
	for e := range wire.Elements(wire.Path(a.Error, "data", "elicitations")) { // URLElicitationRequiredError
		b.addElicitation(wire.Get(e, "elicitationId"), s, r.Client)
	}
}

// news passes a notification on to the client whose the id in it is, and to nobody else.
func (h subscriptions) news(s *upstream.Server, kind string, id []byte, m wire.Message) {
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

// pass carries a request of an extension to the one server that can own it. Which one that is, the hub
// does not guess.
func (h merged) pass(ctx context.Context, r *Request) Answer {
	if id := wire.Get(r.Msg.Params, "taskId"); id != nil {
		if t, ok := h.claims.Get(ofTask + wire.String(id)); ok && t.server != nil {
			return bridge(h).forward(ctx, r, t.server, &upstream.Call{Method: r.Msg.Method, Params: r.Msg.Params})
		}
	}
	h.awaitAll(ctx) // the only one that is there now need not be the owner
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
		return bridge(h).forward(ctx, r, owners[0], &upstream.Call{Method: r.Msg.Method, Params: r.Msg.Params})
	}
	return failed(&wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found: " + r.Msg.Method +
		" could be for several servers; send it to /servers/<name>/mcp of the one you mean"})
}
