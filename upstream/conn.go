package upstream

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/wire"
)

// Call is one request to a server.
type Call struct {
	Method string
	Params []byte // raw; nil for none

	// Timeout is how long the server may be silent, Max how long the call may take in all; progress
	// starts Timeout anew. 0 means no limit.
	Timeout, Max time.Duration

	// Sink takes what the server sends for this call ahead of the answer. nil drops notifications and
	// refuses requests.
	Sink Sink

	// AsIs sends the _meta of a stateless client as it is to a stateless server, in place of the hub's own.
	AsIs bool

	// Headers mirrors arguments into HTTP headers, as the tool's schema asks (MCP 2026-07-28,
	// Streamable HTTP, Custom Headers). Other transports ignore it.
	Headers map[string]string
}

// Sink takes what a server sends for a call, in order and before the answer, in the goroutine of the call.
type Sink interface {
	// Notice takes a notification.
	Notice(m wire.Message)
	// Ask takes a request, to which [Conn.Post] carries the answer, or says that it will not.
	Ask(m wire.Message) bool
	// Prime is told that the server made the answer's stream resumable; retry is the time it asks for.
	Prime(retry time.Duration)
}

// Answer is what a server answered: either a raw result or a raw error object.
type Answer struct {
	Result, Error []byte
}

// link carries the messages of one connection.
type link interface {
	// roundTrip sends the request of x and returns the server's answer to it.
	roundTrip(ctx context.Context, x *exchange) (wire.Message, error)
	// post sends a notification or a response.
	post(ctx context.Context, msg []byte) error
	// close ends the connection and returns when everything of it is gone.
	close()
}

// Conn is one connection to a server.
type Conn struct {
	// Greeting is the raw result of initialize or server/discover.
	Greeting []byte

	version   atomic.Pointer[string]
	unclaimed func(m wire.Message) // gets the messages that belong to no call; must not block
	link      link
	lastID    atomic.Int64
	strays    atomic.Int64 // answers that nobody waited for

	mu    sync.Mutex // guards calls
	calls map[int64]*exchange

	done     chan struct{}
	failOnce sync.Once
	err      error // why the connection is done; read after done
}

func newConn(unclaimed func(wire.Message)) *Conn {
	c := &Conn{unclaimed: unclaimed, calls: map[int64]*exchange{}, done: make(chan struct{})}
	c.setVersion("")
	return c
}

// Version is the protocol version in use, "" before one was agreed on.
func (c *Conn) Version() string { return *c.version.Load() }

func (c *Conn) setVersion(v string) { c.version.Store(&v) }

// Modern says whether the connection is of the stateless era.
func (c *Conn) Modern() bool { return wire.Modern(c.Version()) }

// Done is closed when the connection is of no more use; Err says why.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection is done, nil before.
func (c *Conn) Err() error {
	select {
	case <-c.done:
		return c.err
	default:
		return nil
	}
}

// fail marks the connection as done; the first reason stays.
func (c *Conn) fail(err error) {
	c.failOnce.Do(func() {
		c.err = err
		close(c.done)
	})
}

// Close ends the connection and everything that belongs to it.
func (c *Conn) Close() {
	c.fail(&Error{Kind: Unavailable, Text: errClosed.Error(), Err: errClosed})
	c.link.close()
}

// Call sends a request and waits for its answer. The error, an *[Error], is for what kept the answer
// away; an error that the server itself answered is in the Answer.
func (c *Conn) Call(ctx context.Context, call *Call) (Answer, error) {
	x := &exchange{conn: c, call: call, id: c.lastID.Add(1), wake: make(chan struct{}, 1), started: time.Now()}
	x.prepare()
	if call.Timeout > 0 {
		x.late = make(chan struct{})
		x.timer = time.AfterFunc(call.Timeout, x.expire)
		defer x.timer.Stop()
	}
	c.mu.Lock()
	c.calls[x.id] = x
	c.mu.Unlock()
	m, err := c.link.roundTrip(ctx, x)
	c.mu.Lock()
	delete(c.calls, x.id)
	c.mu.Unlock()
	if err != nil {
		return Answer{}, err
	}
	return Answer{Result: m.Result, Error: m.Error}, nil
}

// Post sends a notification or an answer to one of the server's requests.
func (c *Conn) Post(ctx context.Context, msg []byte) error { return c.link.post(ctx, msg) }

// dispatch takes a message that came outside of any one call's stream.
func (c *Conn) dispatch(m wire.Message) {
	switch {
	case m.IsResponse():
		if x := c.find(m.ID); x != nil {
			x.deliver(m)
		} else {
			c.strays.Add(1)
		}
	case c.answerLocally(m):
	default:
		if x := c.owner(m); x != nil {
			x.deliver(m)
		} else {
			c.unclaimed(m)
		}
	}
}

// answerLocally answers a ping; the client has no part in the health of this connection.
func (c *Conn) answerLocally(m wire.Message) bool {
	if m.Method != wire.Ping || !m.IsRequest() {
		return false
	}
	c.reply(wire.AppendResult(nil, m.ID, []byte("{}")))
	return true
}

// refuse answers a request that nobody can answer.
func (c *Conn) refuse(m wire.Message) {
	if m.IsRequest() {
		e := &wire.Error{Code: wire.CodeMethodNotFound, Message: m.Method + " is not supported by this client"}
		c.reply(wire.AppendError(nil, m.ID, e.Raw()))
	}
}

// replyTimeout bounds the sending of what nobody waits for: replies to the server, cancellations.
const replyTimeout = 5 * time.Second

// reply sends in the background: whoever reads the connection must not wait for a write to it.
func (c *Conn) reply(msg []byte) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
		defer cancel()
		_ = c.link.post(ctx, msg)
	}()
}

// find looks a call up by the id that an answer carries. Some servers turn 7 into "7".
func (c *Conn) find(rawID []byte) *exchange {
	id, ok := wire.Int(rawID)
	if !ok {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[id]
}

// owner finds the call that a message outside of its stream belongs to: by progress token, by
// subscription, else the only call in flight. With several it is nobody's: the hub never guesses.
func (c *Conn) owner(m wire.Message) *exchange {
	if m.Method == wire.Progress {
		return c.find(wire.Get(m.Params, "progressToken"))
	}
	if c.Modern() {
		return c.find(wire.Path(m.Params, "_meta", wire.MetaSubscriptionID))
	}
	if isListChange(m.Method) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) != 1 {
		return nil
	}
	for _, x := range c.calls {
		return x
	}
	return nil
}

// isListChange says whether a notification is about the server as a whole rather than about a call.
func isListChange(method string) bool {
	switch method {
	case wire.ToolsChanged, wire.PromptsChanged, wire.ResourcesChanged, wire.ResourceUpdated:
		return true
	}
	return false
}

// cancel tells the server that nobody waits for x any more. A handshake is never cancelled so (MCP,
// Cancellation, Behavior Requirements).
func (c *Conn) cancel(x *exchange, why *Error) {
	if x.call.Method == wire.Initialize || x.call.Method == wire.Discover {
		return
	}
	params := append([]byte(`{"requestId":`), x.rawID...)
	params = append(params, `,"reason":`...)
	params = append(append(params, wire.Quote(why.Text)...), '}')
	c.reply(wire.AppendNotification(nil, wire.Cancelled, params))
}

// exchange is a call in flight.
type exchange struct {
	conn    *Conn
	call    *Call
	id      int64
	rawID   []byte // of digits
	digits  [20]byte
	body    []byte // the request as it is sent
	token   []byte // the caller's own progress token, raw; nil for none
	started time.Time
	timer   *time.Timer   // nil without a deadline
	late    chan struct{} // closed when the deadline has passed

	mu      sync.Mutex // guards queue, expired and abort
	queue   []wire.Message
	expired bool
	abort   func() // called when the deadline passes
	wake    chan struct{}
}

// queueLimit bounds what may wait for the caller to take it; an answer is never dropped.
const queueLimit = 1024

// deliver hands a message to the caller's goroutine.
func (x *exchange) deliver(m wire.Message) {
	x.mu.Lock()
	if len(x.queue) < queueLimit || m.IsResponse() {
		x.queue = append(x.queue, m)
	}
	x.mu.Unlock()
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// await handles delivered messages until the answer is among them or the call or connection ends.
func (x *exchange) await(ctx context.Context) (wire.Message, error) {
	for {
		x.mu.Lock()
		queue := x.queue
		x.queue = nil
		x.mu.Unlock()
		for _, m := range queue {
			if m.IsResponse() {
				return m, nil
			}
			x.handle(m)
		}
		if len(queue) > 0 {
			continue
		}
		select {
		case <-x.wake:
		case <-ctx.Done():
			return wire.Message{}, stopped(ctx)
		case <-x.late:
			return wire.Message{}, x.over(ctx)
		case <-x.conn.done:
			if !x.waiting() {
				return wire.Message{}, x.conn.err
			}
		}
	}
}

// awaitAnswer waits for the answer to x, and tells the server when nobody does any more.
func (c *Conn) awaitAnswer(ctx context.Context, x *exchange) (wire.Message, error) {
	m, err := x.await(ctx)
	if err != nil {
		if over := x.over(ctx); over != nil {
			c.cancel(x, over)
		}
	}
	return m, err
}

func (x *exchange) waiting() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.queue) > 0
}

// handle takes one message that belongs to the call.
func (x *exchange) handle(m wire.Message) {
	if x.conn.answerLocally(m) {
		return
	}
	if m.Method == wire.Progress {
		x.extend()
		if x.token == nil {
			return // nobody asked
		}
		params := wire.Splice(m.Params, wire.Edit{Key: "progressToken", Value: x.token})
		m.Params, m.Raw = params, wire.AppendNotification(nil, m.Method, params)
	}
	sink := x.call.Sink
	switch {
	case m.IsRequest() && (sink == nil || !sink.Ask(m)):
		x.conn.refuse(m)
	case m.IsNotification() && sink != nil:
		sink.Notice(m)
	}
}

// expire ends the call because its deadline has passed.
func (x *exchange) expire() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.expired {
		return
	}
	x.expired = true
	close(x.late)
	if x.abort != nil {
		x.abort()
	}
}

// onExpire has f called when the deadline passes, at once where it has.
func (x *exchange) onExpire(f func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.abort = f
	if x.expired {
		f()
	}
}

// over says why nobody waits for the answer any more, nil while somebody does.
func (x *exchange) over(ctx context.Context) *Error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.expired {
		return &Error{Kind: Timeout, Text: "no answer in time", Err: errNoTime}
	}
	if ctx.Err() != nil {
		return stopped(ctx)
	}
	return nil
}

// extend starts the deadline anew, never past the call's maximum.
func (x *exchange) extend() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer == nil || x.expired {
		return
	}
	d := x.call.Timeout
	if x.call.Max > 0 {
		d = min(d, x.call.Max-time.Since(x.started))
	}
	if d > 0 {
		x.timer.Reset(d)
	}
}

// deadline is when the caller stops waiting unless progress comes.
func (x *exchange) deadline() time.Time {
	if x.call.Timeout == 0 {
		return x.started.Add(writeStall)
	}
	return x.started.Add(x.call.Timeout)
}

// prepare writes the request as this server gets it: the hub's id, the hub's progress token, and the
// _meta of the connection's era.
func (x *exchange) prepare() {
	x.rawID = strconv.AppendInt(x.digits[:0], x.id, 10)
	params := x.call.Params
	meta := wire.Get(params, "_meta")
	edits := x.conn.metaEdits(meta, x.call)
	if x.token = wire.Get(meta, "progressToken"); x.token != nil {
		edits = append(edits, wire.Edit{Key: "progressToken", Value: x.rawID})
	}
	if len(edits) > 0 {
		params = wire.Splice(params, wire.Edit{Key: "_meta", Value: wire.Splice(meta, edits...)})
	}
	// The writer of lines puts an end of line into the spare room.
	x.body = wire.AppendRequest(make([]byte, 0, len(params)+len(x.call.Method)+64), x.rawID, x.call.Method, wire.OneLine(params))
}

var modernKeys = []string{wire.MetaVersion, wire.MetaClientInfo, wire.MetaCapabilities, wire.MetaLogLevel}

// metaEdits changes _meta from the client's era to the connection's: a session server must not see the
// keys of the stateless era, and a stateless server needs them on every request.
func (c *Conn) metaEdits(meta []byte, call *Call) []wire.Edit {
	if c.Modern() {
		if call.AsIs && meta != nil {
			return nil
		}
		return []wire.Edit{
			{Key: wire.MetaVersion, Value: wire.Quote(c.Version())},
			{Key: wire.MetaClientInfo, Value: clientInfo},
			{Key: wire.MetaCapabilities, Value: []byte("{}")},
		}
	}
	if !bytes.Contains(meta, []byte("io.modelcontextprotocol/")) {
		return nil
	}
	var edits []wire.Edit
	for _, k := range modernKeys {
		edits = append(edits, wire.Edit{Key: k})
	}
	return edits
}
