package upstream

import (
	"context"
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

	// Owner is whose call it is, to be compared; nil is nobody else's. A call that its owner has given up may go on at
	// the server, whose questions must then not be taken for those of another's call.
	Owner any
	// Sink takes what the server sends for this call ahead of the answer. nil drops notifications and
	// refuses requests.
	Sink Sink

	// AsIs sends the _meta of a stateless client as it is to a stateless server, in place of the hub's own.
	AsIs bool

	// Capabilities is what the call's client can do, told to a stateless server; nil: nothing.
	Capabilities []byte

	// LogLevel is the lowest level of log messages that a stateless server shall send for the call; "": none.
	LogLevel string

	// own is a call of the hub's own: it is nobody's use of the server, and no sign that the server is of use.
	own bool

	// Headers mirrors arguments into HTTP headers, as the tool's schema asks (MCP 2026-07-28,
	// Streamable HTTP, Custom Headers). Other transports ignore it.
	Headers map[string]string
}

// passive says whether the call can be ended at any time without loss: what the hub listens to and asks for its own
// comfort keeps no connection.
func (c *Call) passive() bool {
	return c.own && (c.Method == wire.Listen || c.Method == wire.Ping || c.Method == wire.Discover)
}

// Sink takes what a server sends for a call: in order, one at a time, and never once the call is over.
type Sink interface {
	// Notice takes a notification.
	Notice(m wire.Message)
	// Ask takes a request that came on conn, to which [Conn.Post] carries the answer, or says that it
	// will not. The call's deadline stands still until then.
	Ask(conn *Conn, m wire.Message) bool
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
	// close ends the connection and returns when all of it is gone but the connection's own tasks.
	close()
}

// Conn is one connection to a server.
type Conn struct {
	// Greeting is the raw result of initialize or server/discover.
	Greeting []byte

	version   atomic.Pointer[string]
	unclaimed func(*Conn, wire.Message) // gets the messages that belong to no call; must not block
	link      link
	made      time.Time
	lastID    atomic.Int64
	strays    atomic.Int64 // answers that nobody waited for

	questions questions
	abandoned abandoned

	flights
	pumps bool // calls read streams of their own, so what comes beside those needs a pump

	done     chan struct{}
	failOnce sync.Once
	err      *Error // why the connection is done; read after done

	ctx     context.Context // ends when the connection is closed
	stop    context.CancelFunc
	tasks   tasks         // all that the connection does in the background
	replies chan struct{} // holds a token for every reply under way
	closing sync.Once
}

func newConn(unclaimed func(*Conn, wire.Message)) *Conn {
	c := &Conn{
		unclaimed: unclaimed, made: time.Now(), flights: newFlights(), questions: questions{open: map[string]*exchange{}},
		done: make(chan struct{}), replies: make(chan struct{}, repliesAtOnce),
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
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

// fail marks the connection as done; the first reason stays. Whether the calls in flight have run is
// unknown then, whatever is known of the message that met the trouble.
func (c *Conn) fail(why *Error) {
	c.failOnce.Do(func() {
		lost := *why
		lost.Kind, lost.NotSent = Lost, false
		c.err = &lost
		close(c.done)
	})
}

// Close ends the connection and everything that belongs to it.
func (c *Conn) Close() {
	c.closing.Do(func() {
		c.fail(closedByUs())
		c.link.close()
		c.stop()
		c.tasks.end()
	})
}

// lapse takes the connection out of use for that reason where no call is in flight, and says whether it did. A call that
// comes later is not taken, so that it can go over another connection.
func (c *Conn) lapse(why *Error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active == 0 {
		c.fail(why)
	}
	return c.active == 0
}

// retire closes a connection that is to take no more calls once those in flight have ended, or ctx has.
func (c *Conn) retire(ctx context.Context) {
	defer c.Close()
	for !c.lapse(closedByUs()) {
		select {
		case <-c.quiet:
		case <-ctx.Done():
			return
		}
	}
}

func closedByUs() *Error { return &Error{Text: errClosed.Error(), Err: errClosed} }

// Call sends a request and waits for its answer. The error, an *[Error], is for what kept the answer
// away; an error that the server itself answered is in the Answer.
func (c *Conn) Call(ctx context.Context, call *Call) (Answer, error) {
	x := &exchange{conn: c, call: call, id: c.lastID.Add(1), wake: make(chan struct{}, 1), started: time.Now()}
	x.prepare()
	if call.Timeout > 0 {
		x.late = make(chan struct{})
		x.timer = time.AfterFunc(x.left(), x.expire)
		defer x.timer.Stop()
	}
	if !c.enter(x) {
		return Answer{}, &Error{Kind: Unavailable, Text: c.err.Text, Err: c.err.Err, NotSent: true, untaken: true, exited: c.err.exited}
	}
	m, err := c.link.roundTrip(ctx, x)
	if err != nil {
		c.abandoned.add(x)
	}
	c.leave(x, err == nil)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Result: m.Result, Error: m.Error}, nil
}

// enter begins x. It is false, and x is not begun, where the connection is done.
func (c *Conn) enter(x *exchange) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.Err() != nil {
		return false
	}
	c.calls[x.id] = x
	if !x.call.passive() {
		c.active++
	}
	return true
}

// leave ends x: nothing is handed to its sink any more.
func (c *Conn) leave(x *exchange, answered bool) {
	now := time.Now()
	c.mu.Lock()
	delete(c.calls, x.id)
	if !x.call.passive() {
		c.active--
	}
	if !x.call.own {
		c.last, c.served = now, c.served || answered
	}
	left := c.active
	c.mu.Unlock()
	c.questions.drop(x)
	x.close()
	if left == 0 {
		select {
		case c.quiet <- struct{}{}:
		default:
		}
	}
}

// Post sends a notification or an answer to one of the server's requests.
func (c *Conn) Post(ctx context.Context, msg []byte) error {
	c.questions.answered(msg)
	return c.link.post(ctx, msg)
}

// dispatch takes a message that came outside of any one call's stream.
func (c *Conn) dispatch(m wire.Message) {
	switch {
	case m.IsResponse():
		if x := c.find(m.ID); x != nil {
			x.deliver(m)
		} else {
			c.strays.Add(1)
		}
		c.abandoned.answered(m.ID)
	case c.answerLocally(m):
	default:
		x := c.owner(m)
		if x != nil && x.deliver(m) || m.Method == wire.Progress {
			return
		}
		c.unclaimed(c, m)
	}
}

// answerLocally answers a ping; the client has no part in the health of this connection.
func (c *Conn) answerLocally(m wire.Message) bool {
	if m.Method != wire.Ping || !m.IsRequest() {
		return false
	}
	c.Reply(wire.AppendResult(nil, m.ID, []byte("{}")))
	return true
}

// Refuse answers a request that nobody can answer.
func (c *Conn) Refuse(m wire.Message) {
	if m.IsRequest() {
		e := &wire.Error{Code: wire.CodeMethodNotFound, Message: m.Method + " is not supported by this client"}
		c.Reply(wire.AppendError(nil, m.ID, e.Raw()))
	}
}

const (
	// replyTimeout bounds the sending of what nobody waits for: replies to the server, cancellations.
	replyTimeout = 5 * time.Second
	// repliesAtOnce bounds how much of it is under way. A server that asks faster than it reads loses
	// answers, and the hub no memory.
	repliesAtOnce = 64
)

// Reply is [Conn.Post] in the background: whoever reads the connection must not wait for a write to it.
func (c *Conn) Reply(msg []byte) {
	c.questions.answered(msg)
	select {
	case c.replies <- struct{}{}:
	default:
		return
	}
	c.tasks.Go(func() {
		defer func() { <-c.replies }()
		send(c, msg)
	})
}

// Answer is Reply for what a client has answered, which is not lost however many others do.
func (c *Conn) Answer(msg []byte) {
	c.questions.answered(msg)
	c.tasks.Go(func() { send(c, msg) })
}

// send posts what nobody waits for.
func send(c *Conn, msg []byte) {
	ctx, cancel := context.WithTimeout(c.ctx, replyTimeout)
	defer cancel()
	_ = c.link.post(ctx, msg)
}

// owner finds the call that a message outside of its stream belongs to: by progress token, by
// subscription, else the only call of a client in flight. With several it is nobody's: the hub never guesses.
func (c *Conn) owner(m wire.Message) *exchange {
	if m.Method == wire.Progress {
		return c.find(wire.Get(m.Params, "progressToken"))
	}
	if id := wire.Path(m.Params, "_meta", wire.MetaSubscriptionID); id != nil && c.Modern() {
		return c.find(id)
	}
	if m.Method == wire.Cancelled {
		if x := c.questions.of(wire.Get(m.Params, "requestId")); x != nil {
			return x
		}
	}
	if isListChange(m.Method) || m.Method == wire.TaskStatus || m.Method == wire.ElicitationComplete {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	only, n := clientCalls(&c.flights)
	if n != 1 || c.abandoned.byOthers(only.call.Owner) {
		return nil
	}
	return only
}

// isListChange says whether a notification is about the server as a whole rather than about a call.
func isListChange(method string) bool {
	switch method {
	case wire.ToolsChanged, wire.PromptsChanged, wire.ResourcesChanged, wire.ResourceUpdated:
		return true
	}
	return false
}
