package upstream

import (
	"bytes"
	"context"
	"strconv"
	"sync"
	"time"

	"mcphub/wire"
)

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
	wake    chan struct{} // holds a token when there is news

	mu       sync.Mutex // guards queue, pumping, lost, expired and abort
	queue    []wire.Message
	pumping  bool
	lost     *Error // why no answer will come
	expired  bool
	answered bool      // the answer has come, or nobody waits for it
	open     int       // questions that the server waits for an answer to
	held     time.Time // when the clock was stopped
	abort    func()    // called when the deadline passes

	turn   sync.Mutex // held by whoever hands a message to the sink; guards closed
	closed bool
}

// queueLimit bounds what may wait for the caller to take it; an answer is never dropped.
const queueLimit = 1024

// deliver hands over a message that came outside of the call's own stream. It is false, and the message
// is not taken, where the answer has come already: what follows it belongs to no call.
func (x *exchange) deliver(m wire.Message) bool {
	x.mu.Lock()
	if x.answered && !m.IsResponse() {
		x.mu.Unlock()
		return false
	}
	x.answered = x.answered || m.IsResponse()
	if len(x.queue) < queueLimit || m.IsResponse() {
		x.queue = append(x.queue, m)
	}
	x.mu.Unlock()
	x.poke()
	if x.conn.pumps {
		x.pump()
	}
	return true
}

// hasAnswer says whether the answer has come, though its caller may not have taken it yet.
func (x *exchange) hasAnswer() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.answered
}

// fail ends the wait for an answer that cannot come.
func (x *exchange) fail(why *Error) {
	x.mu.Lock()
	x.lost = why
	x.mu.Unlock()
	x.poke()
}

func (x *exchange) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// take returns what was delivered since it was last called.
func (x *exchange) take() ([]wire.Message, *Error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	queue := x.queue
	x.queue = nil
	return queue, x.lost
}

// await handles delivered messages until the answer is among them or the call or connection ends.
func (x *exchange) await(ctx context.Context) (wire.Message, error) {
	ended := false
	for {
		queue, lost := x.take()
		for _, m := range queue {
			if m.IsResponse() {
				return m, nil
			}
			x.handle(m)
		}
		switch {
		case lost != nil:
			return wire.Message{}, lost
		case ended:
			return wire.Message{}, x.conn.err
		}
		select {
		case <-x.wake:
		case <-ctx.Done():
			return wire.Message{}, stopped(ctx)
		case <-x.late:
			return wire.Message{}, x.over(ctx)
		case <-x.conn.done:
			ended = true // what came before the end may still be in the queue
		}
	}
}

// pump hands delivered messages to the sink, for as long as there are any.
func (x *exchange) pump() {
	x.mu.Lock()
	start := !x.pumping
	x.pumping = true
	x.mu.Unlock()
	if !start {
		return
	}
	x.conn.tasks.Go(func() {
		for {
			x.mu.Lock()
			queue := x.queue
			x.queue, x.pumping = nil, len(queue) > 0
			x.mu.Unlock()
			if len(queue) == 0 {
				return
			}
			for _, m := range queue {
				x.handle(m)
			}
		}
	})
}

// close waits for a message that the sink is taking, and lets it have no more: what is left belongs to no
// call.
func (x *exchange) close() {
	x.turn.Lock()
	x.closed = true
	x.turn.Unlock()
	x.mu.Lock()
	x.answered = true
	left := x.queue
	x.queue = nil
	x.mu.Unlock()
	for _, m := range left {
		if !m.IsResponse() {
			x.handle(m)
		}
	}
}

// handle takes one message that belongs to the call.
func (x *exchange) handle(m wire.Message) {
	if x.conn.answerLocally(m) {
		return
	}
	x.turn.Lock()
	defer x.turn.Unlock()
	if x.closed {
		if m.Method != wire.Progress {
			x.conn.unclaimed(x.conn, m)
		}
		return
	}
	sink := x.call.Sink
	if m.Method == wire.Progress {
		x.extend()
		if x.token == nil {
			return // nobody asked
		}
		params := wire.Splice(m.Params, wire.Edit{Key: "progressToken", Value: x.token})
		m.Params, m.Raw = params, wire.AppendNotification(nil, m.Method, params)
	}
	if m.Method == wire.Cancelled { // of the server's own request, which then waits for no answer
		x.conn.questions.done(wire.Get(m.Params, "requestId"))
	}
	switch {
	case m.IsRequest():
		x.ask(sink, m)
	case m.IsNotification() && sink != nil:
		sink.Notice(m)
	}
}

// ask hands a request of the server to the sink. The clock stands while somebody thinks about it.
func (x *exchange) ask(sink Sink, m wire.Message) {
	if sink == nil {
		x.conn.Refuse(m)
		return
	}
	if !x.conn.questions.asked(m.ID, x) {
		return // its answer, when it comes, answers this one too
	}
	if !sink.Ask(x.conn, m) {
		x.conn.questions.done(m.ID)
		x.conn.Refuse(m)
	}
}

// hold counts the server's open questions; the deadline runs only while there are none.
func (x *exchange) hold(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.timer == nil || x.expired {
		return
	}
	x.open += n
	switch {
	case n > 0 && x.open == 1:
		x.timer.Stop()
		x.held = time.Now()
	case x.open == 0:
		x.started = x.started.Add(time.Since(x.held))
		x.timer.Reset(x.call.Timeout)
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
	if x.timer == nil || x.expired || x.open > 0 {
		return
	}
	if d := x.left(); d > 0 {
		x.timer.Reset(d)
	}
}

// left is how long the server may be silent from now on.
func (x *exchange) left() time.Duration {
	if x.call.Max == 0 {
		return x.call.Timeout
	}
	return min(x.call.Timeout, x.call.Max-time.Since(x.started))
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
	edits := metaEdits(x, meta)
	switch token := wire.Get(meta, "progressToken"); {
	case token == nil:
	case isToken(token):
		x.token = token
		edits = append(edits, wire.Edit{Key: "progressToken", Value: x.rawID})
	default: // nothing could be told by it
		edits = append(edits, wire.Edit{Key: "progressToken"})
	}
	if len(edits) > 0 {
		params = wire.Splice(params, wire.Edit{Key: "_meta", Value: wire.Splice(meta, edits...)})
	}
	// The writer of lines puts an end of line into the spare room.
	x.body = wire.AppendRequest(make([]byte, 0, len(params)+len(x.call.Method)+64), x.rawID, x.call.Method, wire.OneLine(params))
}

// isToken says whether a raw progress token is one: a string or a number.
func isToken(raw []byte) bool {
	return wire.IsString(raw) || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}

var modernKeys = []string{wire.MetaVersion, wire.MetaClientInfo, wire.MetaCapabilities, wire.MetaLogLevel}

// metaEdits changes _meta from the client's era to the connection's: a session server must not see the
// keys of the stateless era, and a stateless server needs them on every request.
func metaEdits(x *exchange, meta []byte) []wire.Edit {
	if x.conn.Modern() {
		if x.call.AsIs && meta != nil {
			return nil
		}
		capabilities := x.call.Capabilities
		if capabilities == nil {
			capabilities = []byte("{}")
		}
		edits := []wire.Edit{
			{Key: wire.MetaVersion, Value: wire.Quote(x.conn.Version())},
			{Key: wire.MetaClientInfo, Value: ClientInfo},
			{Key: wire.MetaCapabilities, Value: capabilities},
		}
		if x.call.LogLevel != "" {
			edits = append(edits, wire.Edit{Key: wire.MetaLogLevel, Value: wire.Quote(x.call.LogLevel)})
		}
		return edits
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

// cancelIfOver tells the server where nobody waits for x any more.
func (x *exchange) cancelIfOver(ctx context.Context) {
	if over := x.over(ctx); over != nil {
		x.cancel(over)
	}
}

// cancel tells the server that nobody waits for x any more. A handshake is never cancelled so (MCP,
// Cancellation, Behavior Requirements).
func (x *exchange) cancel(why *Error) {
	if x.call.Method == wire.Initialize || x.call.Method == wire.Discover {
		return
	}
	params := append([]byte(`{"requestId":`), x.rawID...)
	params = append(params, `,"reason":`...)
	params = append(append(params, wire.Quote(why.Text)...), '}')
	msg := wire.AppendNotification(nil, wire.Cancelled, params)
	if x.call.Method != wire.Listen {
		x.conn.Reply(msg)
		return
	}
	ctx, stop := context.WithTimeout(x.conn.ctx, replyTimeout) // the next subscription must not overtake the end of this one
	defer stop()
	_ = x.conn.link.post(ctx, msg)
}
