package hub

import (
	"context"
	"sync"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// Client is a client as the hub sees it: one session, or a single request of a client without one.
type Client struct {
	Server  string // the one server it is relayed to; "" for the merged view
	Version string // protocol version; "" before initialize and for requests of no version at all

	// Push sends a message outside of any request. It must not block. nil: the client cannot be reached.
	Push func(msg []byte)

	own *ownConn // relayed sessions only
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

// Answer is either a raw result or a raw error object.
type Answer struct {
	Result, Error []byte
}

func failed(e *wire.Error) Answer { return Answer{Error: e.Raw()} }

// Join registers a session, so that it hears of changes. Leave ends what Join and initialize began.
func (h *Hub) Join(c *Client) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients[c] = struct{}{}
}

// Leave forgets a session and closes the connection that was its own.
func (h *Hub) Leave(c *Client) {
	h.mu.Lock()
	delete(h.clients, c)
	h.mu.Unlock()
	if c.own != nil {
		c.own.close()
	}
}

// announce tells everybody who sees server, or the merged view for "", that a list has changed.
func (h *Hub) announce(server, method string) {
	msg := wire.AppendNotification(nil, method, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if c.Server == server && c.own == nil && c.Push != nil {
			c.Push(msg)
		}
	}
	for w := range h.watchers {
		if w.server == server {
			w.tell(method)
		}
	}
}

// notice passes a server's change notification to those who are relayed over its shared connection.
func (h *Hub) notice(s *upstream.Server, m wire.Message) {
	switch m.Method {
	case wire.ToolsChanged, wire.PromptsChanged, wire.ResourcesChanged:
		h.announce(s.Name(), m.Method)
	}
}

// watcher is one open subscriptions/listen stream.
type watcher struct {
	server string
	wants  map[string]bool // by notification method
	news   chan string
}

// tell queues a notification; one that is waiting already need not wait twice.
func (w *watcher) tell(method string) {
	if !w.wants[method] {
		return
	}
	select {
	case w.news <- method:
	default:
	}
}

// ownConn is the connection that a relayed session has for itself.
type ownConn struct {
	server    *upstream.Server
	tasks     *sync.WaitGroup // of the hub
	params    []byte // of the client's initialize
	unclaimed func(wire.Message)

	mu     sync.Mutex // guards conn, ready and closed
	conn   *upstream.Conn
	ready  bool // the client has sent notifications/initialized
	closed bool
}

// get returns the session's connection, opening it anew where the server has lost it.
func (o *ownConn) get(ctx context.Context) (*upstream.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, &upstream.Error{Kind: upstream.Removed, Server: o.server.Name(), Text: "the session has ended"}
	}
	if o.conn != nil && o.conn.Err() == nil {
		return o.conn, nil
	}
	if o.conn != nil {
		lost := o.conn
		o.tasks.Go(func() { o.server.Release(lost) })
		o.conn = nil
	}
	conn, answer, err := o.server.Open(ctx, o.params, o.unclaimed)
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		_, text := wire.ErrorOf(answer.Error)
		return nil, &upstream.Error{Kind: upstream.Unavailable, Server: o.server.Name(), Text: "refused initialize: " + text}
	}
	o.conn = conn
	if o.ready {
		err = conn.Post(ctx, wire.AppendNotification(nil, wire.Initialized, nil))
	}
	return conn, err
}

func (o *ownConn) close() {
	o.mu.Lock()
	conn := o.conn
	o.conn, o.closed = nil, true
	o.mu.Unlock()
	if conn != nil {
		o.server.Release(conn)
	}
}
