package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// able says whether a client with these capabilities can answer a server's request.
func able(capabilities []byte, m wire.Message) bool {
	var of []byte
	switch m.Method {
	case wire.ElicitationCreate:
		of = wire.Get(capabilities, "elicitation")
		if wire.String(wire.Get(m.Params, "mode")) == "url" {
			return !wire.IsNull(wire.Get(of, "url"))
		}
		// An empty object means forms (MCP 2025-11-25, Elicitation, Capabilities).
		return !wire.IsNull(of) && (!wire.IsNull(wire.Get(of, "form")) || wire.IsNull(wire.Get(of, "url")))
	case wire.SamplingCreate:
		of = wire.Get(capabilities, "sampling")
		return !wire.IsNull(of) && (wire.IsNull(wire.Get(m.Params, "tools")) || !wire.IsNull(wire.Get(of, "tools")))
	case wire.RootsList:
		of = wire.Get(capabilities, "roots")
	}
	return !wire.IsNull(of)
}

// decline answers a server's request in the name of a client that cannot, and says whether it knew how.
func decline(conn *upstream.Conn, m wire.Message) bool {
	result, err := declined(m)
	if result == nil && err == nil {
		return false
	}
	if err != nil {
		conn.Reply(wire.AppendError(nil, m.ID, err.Raw()))
	} else {
		conn.Reply(wire.AppendResult(nil, m.ID, result))
	}
	return true
}

// declined is a "no" that each kind of request has.
func declined(m wire.Message) ([]byte, *wire.Error) {
	switch m.Method {
	case wire.ElicitationCreate:
		return []byte(`{"action":"decline"}`), nil
	case wire.RootsList:
		return []byte(`{"roots":[]}`), nil
	case wire.SamplingCreate:
		return nil, &wire.Error{Code: wire.CodeMethodNotFound, Message: "sampling is not supported by this client"}
	}
	return nil, nil
}

// quiet is the sink of a call that the hub makes for itself: its questions are nobody's.
type quiet struct{}

// Notice drops a notification.
func (quiet) Notice(wire.Message) {}

// Ask declines.
func (quiet) Ask(conn *upstream.Conn, m wire.Message) bool { return decline(conn, m) }

// Prime does nothing: nobody could take the stream up again.
func (quiet) Prime(time.Duration) {}

// callSink passes on what a server sends for one call.
type callSink struct {
	h   *Hub
	r   *Request
	s   *upstream.Server
	ctx context.Context // of the call

	mu   sync.Mutex               // guards open
	open map[string]*openQuestion // by the server's raw id
}

// openQuestion is a question of the server that the client has not answered.
type openQuestion struct {
	id     string // that the client knows it by
	cancel context.CancelCauseFunc
}

// errTakenBack ends the wait for an answer that the server wants no more.
var errTakenBack = errors.New("the server has taken the question back")

// Notice passes a notification to the client whose call it belongs to.
func (s *callSink) Notice(m wire.Message) {
	switch {
	case m.Method == wire.Cancelled:
		s.takeBack(m)
	case m.Method == wire.LogMessage && !s.r.wantsLog(m):
	default:
		s.r.send(m.Raw)
	}
}

// takeBack tells the client that the server needs no answer to a question any more.
func (s *callSink) takeBack(m wire.Message) {
	s.mu.Lock()
	q := s.open[string(wire.Get(m.Params, "requestId"))]
	s.mu.Unlock()
	if q == nil {
		return
	}
	params := wire.Splice(m.Params, wire.Edit{Key: "requestId", Value: wire.Quote(q.id)})
	s.r.send(wire.AppendNotification(nil, m.Method, params))
	q.cancel(errTakenBack)
}

// Prime makes the client's stream resumable.
func (s *callSink) Prime(retry time.Duration) { s.r.prime(retry) }

// Ask carries a server's request to the client of the call, and the answer back.
func (s *callSink) Ask(conn *upstream.Conn, m wire.Message) bool {
	carry := s.put(conn, m)
	if carry == nil {
		return decline(conn, m)
	}
	s.h.tasks.Go(carry)
	return true
}

// put puts a server's request to the client. What it returns waits for the answer and carries it back; nil:
// the client cannot be asked.
func (s *callSink) put(conn *upstream.Conn, m wire.Message) (carry func()) {
	if s.r.Client.Params == nil || !able(s.r.capabilities(), m) {
		return nil
	}
	s.h.claims.addElicitation(wire.Get(m.Params, "elicitationId"), s.s, s.r.Client)
	q, err := s.r.Client.ask(s.r.Out, m.Method, m.Params, conn)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithCancelCause(s.ctx)
	key := string(m.ID)
	s.mu.Lock()
	if s.open == nil {
		s.open = map[string]*openQuestion{}
	}
	s.open[key] = &openQuestion{q.id, cancel}
	s.mu.Unlock()
	return func() {
		answer, err := q.wait(ctx)
		cancel(nil)
		s.mu.Lock()
		delete(s.open, key)
		s.mu.Unlock()
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, errGone):
			decline(conn, m)
		case err != nil: // taken back, or the whole call was cancelled, of which the server is told
		case answer.Error != nil:
			conn.Answer(wire.AppendError(nil, m.ID, answer.Error))
		default:
			conn.Answer(wire.AppendResult(nil, m.ID, answer.Result))
		}
	}
}
