package hub

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"sync/atomic"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// ownConn is a connection that one session has for itself.
type ownConn struct {
	server    atomic.Pointer[upstream.Server]
	tasks     *sync.WaitGroup // of the hub
	params    []byte          // of initialize
	unclaimed func(wire.Message)

	mu      sync.Mutex // guards the rest; held while the connection is opened, so that it is opened once
	conn    *upstream.Conn
	ready   bool // notifications/initialized has been sent
	closed  bool
	lasting map[string]lasting

	subscribers map[string]int // of the merged view, by URI: a session may know one by several names
}

// lasting is a request whose effect lasts as long as a connection does, so that it is made again on the next one.
type lasting struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// about is what a lasting request replaces others about; ok is false for requests of other methods.
func (l lasting) about() (about string, ok bool) {
	switch l.Method {
	case wire.SetLevel:
		return "", true
	case wire.ResourcesSubscribe, wire.ResourceUnsubscribe:
		return wire.String(wire.Get(l.Params, "uri")), true
	}
	return "", false
}

// ownOf prepares a connection of a session with s.
func (h apartness) ownOf(s *upstream.Server, params []byte, unclaimed func(wire.Message)) *ownConn {
	o := &ownConn{tasks: &h.tasks, params: params, unclaimed: unclaimed, subscribers: map[string]int{}}
	o.server.Store(s)
	return o
}

// follow has the connection be one with s, which has taken the place of an earlier server of its name. Calls in flight
// end on the earlier one.
func (o *ownConn) follow(s *upstream.Server) {
	if o.server.Load() == s {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.server.Store(s)
	o.conn = nil
}

// get returns the session's connection, opening it anew where the server has lost it.
func (o *ownConn) get(ctx context.Context) (*upstream.Conn, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, &upstream.Error{Kind: upstream.Removed, Server: o.server.Load().Name(), Text: "the session has ended"}
	}
	if o.conn != nil && o.conn.Err() == nil {
		return o.conn, nil
	}
	if o.conn != nil {
		lost := o.conn
		o.tasks.Go(func() { o.server.Load().Release(lost) })
		o.conn = nil
	}
	conn, answer, err := o.server.Load().Open(ctx, o.params, o.unclaimed)
	if err != nil {
		return nil, err
	}
	if answer.Error != nil {
		_, text := wire.ErrorOf(answer.Error)
		return nil, &upstream.Error{Kind: upstream.Unavailable, Server: o.server.Load().Name(), Text: "refused initialize: " + text}
	}
	o.conn = conn
	if o.ready {
		err = conn.Post(ctx, wire.AppendNotification(nil, wire.Initialized, nil))
	}
	for _, l := range o.lasting {
		if l.Method != wire.SetLevel || !wire.IsNull(wire.Path(conn.Greeting, "capabilities", "logging")) {
			_, _ = conn.Call(ctx, o.request(l)) // a call that needs it fails by itself
		}
	}
	return conn, err
}

func (o *ownConn) request(l lasting) *upstream.Call {
	cfg := o.server.Load().Config()
	if upstream.Endless(l.Method) {
		return &upstream.Call{Method: l.Method, Params: l.Params}
	}
	return &upstream.Call{Method: l.Method, Params: l.Params, Timeout: cfg.RequestTimeout, Max: cfg.MaxRequestTimeout}
}

// call makes a request of the session.
func (o *ownConn) call(ctx context.Context, call *upstream.Call) (upstream.Answer, error) {
	conn, err := o.get(ctx)
	if err != nil {
		return upstream.Answer{}, err
	}
	answer, err := conn.Call(ctx, call)
	if e := new(upstream.Error); errors.As(err, &e) {
		named := *e
		named.Server = o.server.Load().Name()
		return answer, &named
	}
	if answer.Error == nil {
		o.remember(lasting{call.Method, call.Params})
	}
	return answer, nil
}

// remember keeps a request whose effect lasts.
func (o *ownConn) remember(l lasting) {
	about, ok := l.about()
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.Method == wire.ResourceUnsubscribe {
		delete(o.lasting, about)
		return
	}
	if o.lasting == nil {
		o.lasting = map[string]lasting{}
	}
	o.lasting[about] = l
}

// kept is a copy of what has to be asked for again.
func (o *ownConn) kept() map[string]lasting {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.lasting)
}

// Subscribe has the server tell the session of changes of a resource.
func (o *ownConn) Subscribe(ctx context.Context, uri string) (upstream.Answer, error) {
	o.mu.Lock()
	o.subscribers[uri]++
	first := o.subscribers[uri] == 1
	o.mu.Unlock()
	if !first {
		return upstream.Answer{Result: []byte("{}")}, nil
	}
	answer, err := o.call(ctx, o.request(subscription(wire.ResourcesSubscribe, uri)))
	if err != nil || answer.Error != nil {
		o.mu.Lock()
		o.subscribers[uri]--
		o.mu.Unlock()
	}
	return answer, err
}

// Unsubscribe takes one Subscribe back. It opens no connection for that.
func (o *ownConn) Unsubscribe(ctx context.Context, uri string) (upstream.Answer, error) {
	l := subscription(wire.ResourceUnsubscribe, uri)
	o.mu.Lock()
	o.subscribers[uri]--
	last, conn := o.subscribers[uri] <= 0, o.conn
	if last {
		delete(o.subscribers, uri)
	}
	o.mu.Unlock()
	if !last {
		return upstream.Answer{Result: []byte("{}")}, nil
	}
	o.remember(l)
	if conn == nil || conn.Err() != nil {
		return upstream.Answer{Result: []byte("{}")}, nil
	}
	return conn.Call(ctx, o.request(l))
}

func subscription(method, uri string) lasting {
	return lasting{method, wire.Splice(nil, wire.Edit{Key: "uri", Value: wire.Quote(uri)})}
}

// notify passes a session's notification on. Cancellations never come here: they end a request's context.
func (o *ownConn) notify(ctx context.Context, m wire.Message) {
	if m.Method == wire.Initialized {
		o.mu.Lock()
		o.ready = true
		o.mu.Unlock()
	}
	o.post(ctx, m.Raw)
}

func (o *ownConn) post(ctx context.Context, msg []byte) {
	o.mu.Lock()
	conn := o.conn
	o.mu.Unlock()
	if conn != nil && conn.Err() == nil {
		_ = conn.Post(ctx, msg) // a notification has no answer to carry an error
	}
}

func (o *ownConn) close() {
	o.mu.Lock()
	conn := o.conn
	o.conn, o.closed = nil, true
	o.mu.Unlock()
	if conn != nil {
		o.server.Load().Release(conn)
	}
}

// apartness decides which servers give each client a connection of its own.
type apartness struct{ *Hub }

// apart says whether a server gives each client a connection of its own, because it asks questions that
// cannot be told apart on a shared one.
func (h apartness) apart(s *upstream.Server) bool {
	if offer := s.Offer(); offer != nil && wire.Modern(offer.Version) {
		return false // it has no sessions to be kept apart
	}
	switch s.Config().Session {
	case config.SessionShared:
		return false
	case config.SessionClient, config.SessionCall:
		return true
	}
	return s.Unattributed.Load() > 0
}

// orphan takes a server's request whose call cannot be made out: it declines, and from then on the server
// gets one connection per client. What a server asks while it works for nobody, as many ask for the roots once
// they are initialized, is only declined.
func (h apartness) orphan(s *upstream.Server, conn *upstream.Conn, m wire.Message) bool {
	if conn.Serves() == 0 {
		return decline(conn, m)
	}
	if s.Unattributed.Add(1) == 1 && s.Config().Session == config.SessionAuto {
		h.opt.Log.Warn().Str("server", s.Name()).Str("method", m.Method).
			Msg("asked a question that could be for several clients; each client gets a connection of its own from now on")
		subscriptions(h).part(s)
	}
	return decline(conn, m)
}

// keeps says whether a client keeps a connection of its own with a server.
func (h apartness) keeps(c *Client, s *upstream.Server) bool {
	return h.apart(s) && c.Params != nil && s.Config().Session != config.SessionCall
}

// connFor returns the connection on which a client speaks with a server outside of calls.
func (h apartness) connFor(ctx context.Context, c *Client, s *upstream.Server) (*upstream.Conn, error) {
	if h.keeps(c, s) {
		return h.connOf(c, s).get(ctx)
	}
	return s.Connect(ctx)
}

// connOf returns the connection that a client's session has with a server, making it where there is none.
func (h apartness) connOf(c *Client, s *upstream.Server) *ownConn {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.left:
		own := h.ownOf(s, nil, nil)
		own.closed = true
		return own
	case c.conns == nil:
		c.conns = map[*upstream.Server]*ownConn{}
	}
	own := c.conns[s]
	if own == nil {
		own = h.ownOf(s, ownParams(c), func(m wire.Message) { logs(h).ownNotice(c, s, m) })
		own.ready = true
		if c.level != "" {
			own.remember(levelRequest(c.level))
		}
		c.conns[s] = own
	}
	return own
}

// ownParams opens a session that is one client's: it declares exactly what that client can do.
func ownParams(c *Client) []byte {
	capabilities := wire.Get(c.Params, "capabilities")
	if capabilities == nil {
		capabilities = []byte("{}")
	}
	info := wire.Get(c.Params, "clientInfo")
	if info == nil {
		info = upstream.ClientInfo
	}
	return wire.Splice(nil, wire.Edit{Key: "protocolVersion", Value: wire.Quote(wire.V20251125)},
		wire.Edit{Key: "capabilities", Value: capabilities}, wire.Edit{Key: "clientInfo", Value: info})
}
