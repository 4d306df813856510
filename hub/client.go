package hub

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// Client is a client as the hub sees it: one session, or a single request of a client without one.
type Client struct {
	Door
	Version string // protocol version; "" before initialize and for requests of no version at all

	// Params is the raw params of the session's initialize, nil without a session.
	Params []byte
	// Push sends a message outside of any request. It must not block. nil: the client cannot be reached.
	Push func(msg []byte)
	// Reachable says whether somebody takes what is pushed at present: news may wait for that, a question must
	// not. nil: always.
	Reachable func() bool

	own    *ownConn // relayed sessions only
	lastID atomic.Int64
	subs   interests

	unsaved atomic.Bool // State is another than when it was last asked for

	mu       sync.Mutex           // guards the rest
	revealed []string             // the skills that it has read
	level    string               // of log messages, "" before logging/setLevel
	asked    map[string]*question // open ones by id
	left     bool                 // the session is over
	mute     bool                 // nothing comes from the client any more

	pending []string // resources that it was subscribed to in the hub's last process, until it is again
	conns   map[*upstream.Server]*ownConn
}

// Request is one request of a client.
type Request struct {
	Client *Client
	Msg    wire.Message

	// Headers holds the Mcp-Param headers that came with the request, by lower-case name behind the
	// prefix. nil: the transport has no headers.
	Headers map[string]string
	// Out is the request's own stream; nil: the client takes nothing but the answer.
	Out Outlet
}

// Outlet is the stream of a request, ahead of its answer.
type Outlet interface {
	// Send sends a message.
	Send(msg []byte)
	// Prime makes the stream resumable, if the client can; retry 0 asks for no certain time.
	Prime(retry time.Duration)
}

func (r *Request) send(msg []byte) {
	if r.Out != nil {
		r.Out.Send(msg)
	}
}

func (r *Request) prime(retry time.Duration) {
	if r.Out != nil {
		r.Out.Prime(retry)
	}
}

// modern says whether the request is of the stateless era.
func (r *Request) modern() bool { return wire.Modern(r.Client.Version) }

// capabilities is what the request's client says that it can do.
func (r *Request) capabilities() []byte {
	if r.modern() {
		return wire.Path(r.Msg.Params, "_meta", wire.MetaCapabilities)
	}
	return wire.Get(r.Client.Params, "capabilities")
}

// Answer is either a raw result or a raw error object.
type Answer struct {
	Result, Error []byte
}

func failed(e *wire.Error) Answer { return Answer{Error: e.Raw()} }

func invalid(text string) Answer {
	return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: text})
}

// Join registers a session, so that it hears of changes. Leave ends what Join and initialize began.
func (h *Hub) Join(c *Client) {
	c.subs.client = c
	h.mu.Lock()
	h.clients[c] = struct{}{}
	h.mu.Unlock()
	h.scopes.enter(c.Scope, 1, h.opt.ScopeGrace)
	subscriptions{h}.restore(c)
}

// Leave forgets a session, ends its subscriptions and closes the connections that were its own.
func (h *Hub) Leave(c *Client) {
	h.mu.Lock()
	_, joined := h.clients[c]
	delete(h.clients, c)
	h.mu.Unlock()
	if joined {
		h.scopes.enter(c.Scope, -1, h.opt.ScopeGrace)
	}
	c.mu.Lock()
	conns := c.conns
	c.conns, c.left = nil, true
	c.mu.Unlock()
	subscriptions{h}.end(&c.subs)
	logs{h}.lowerLevel()
	// A program may take seconds to end; nobody waits for that but Close.
	for _, own := range conns {
		h.tasks.Go(own.close)
	}
	if c.own != nil {
		h.tasks.Go(c.own.close)
	}
}

func (c *Client) push(msg []byte) {
	if c.Push != nil {
		c.Push(msg)
	}
}

// errGone is the error for a question that nobody is there to answer.
var errGone = errors.New("the client cannot be asked")

// process makes the ids of questions this process's own: a session that outlives a restart has answers to older ones
// (MCP 2025-11-25, Base Protocol, Requests: no id is used twice in a session).
var process = rand.Text()[:8]

// question is a request to a client that has been sent.
type question struct {
	c      *Client
	id     string
	answer chan wire.Message // closed when none will come
	token  []byte            // by which the client may tell of its progress, raw; nil: nobody wants to know
	from   *upstream.Conn    // which does
}

// ask sends a server's request to the client, on out where that is given. from gets the client's progress; nil: nobody.
func (c *Client) ask(out Outlet, method string, params []byte, from *upstream.Conn) (*question, error) {
	q := &question{
		c: c, id: "mcphub-" + process + "-" + strconv.FormatInt(c.lastID.Add(1), 10), answer: make(chan wire.Message, 1),
		token: wire.Path(params, "_meta", "progressToken"), from: from,
	}
	msg := wire.AppendRequest(nil, wire.Quote(q.id), method, params)
	c.mu.Lock()
	if c.mute {
		c.mu.Unlock()
		return nil, errGone
	}
	if c.asked == nil {
		c.asked = map[string]*question{}
	}
	c.asked[q.id] = q
	c.mu.Unlock()
	if !c.reach(out, msg) {
		q.forget()
		return nil, errGone
	}
	return q, nil
}

// reach sends the client a server's request, on out where that is given, and says whether there was a way to it.
func (c *Client) reach(out Outlet, msg []byte) bool {
	switch {
	case out != nil:
		out.Send(msg)
	case c.Push != nil && (c.Reachable == nil || c.Reachable()):
		c.Push(msg)
	default:
		return false
	}
	return true
}

func (q *question) forget() {
	q.c.mu.Lock()
	delete(q.c.asked, q.id)
	q.c.mu.Unlock()
}

// wait returns the client's answer, or what ended the wait.
func (q *question) wait(ctx context.Context) (wire.Message, error) {
	defer q.forget()
	select {
	case m, ok := <-q.answer:
		if !ok {
			return m, errGone
		}
		return m, nil
	case <-ctx.Done():
		return wire.Message{}, context.Cause(ctx)
	}
}

// answered hands an answer to whoever asked, and says whether somebody did.
func (c *Client) answered(m wire.Message) bool {
	c.mu.Lock()
	waiting := c.asked[wire.String(m.ID)]
	delete(c.asked, wire.String(m.ID))
	c.mu.Unlock()
	if waiting != nil {
		waiting.answer <- m
	}
	return waiting != nil
}

// Mute declines a client's open questions and all later ones: it sends nothing any more, but its calls go on.
func (c *Client) Mute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mute = true
	for _, q := range c.asked {
		close(q.answer)
	}
	c.asked = nil
}

// Respond takes a session's answer to a request that was sent to it.
func (h *Hub) Respond(ctx context.Context, c *Client, m wire.Message) {
	if !c.answered(m) && c.own != nil {
		c.own.post(ctx, m.Raw)
	}
}

// Notify takes a notification of a session.
func (h *Hub) Notify(ctx context.Context, c *Client, m wire.Message) {
	if c.own != nil {
		c.own.notify(ctx, m)
		return
	}
	switch m.Method {
	case wire.Initialized:
	case wire.Progress:
		c.progress(m)
	case wire.RootsChanged:
		c.tellOwn(ctx, m)
	default:
		extensions{h}.notify(c, m)
	}
}

// progress tells a server how far the client is with a question of it. Where servers have used the same token at the
// same time, there is no telling whose it is.
func (c *Client) progress(m wire.Message) {
	token := wire.Get(m.Params, "progressToken")
	var from []*upstream.Conn
	c.mu.Lock()
	for _, q := range c.asked {
		if q.token != nil && bytes.Equal(q.token, token) && q.from != nil {
			from = append(from, q.from)
		}
	}
	c.mu.Unlock()
	if len(from) == 1 {
		from[0].Reply(m.Raw)
	}
}

// tellOwn passes a notification to the servers with which the client has connections of its own.
func (c *Client) tellOwn(ctx context.Context, m wire.Message) {
	c.mu.Lock()
	conns := make([]*ownConn, 0, len(c.conns))
	for _, own := range c.conns {
		conns = append(conns, own)
	}
	c.mu.Unlock()
	for _, own := range conns {
		own.post(ctx, m.Raw)
	}
}
