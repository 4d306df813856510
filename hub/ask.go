package hub

import (
	"context"
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

// callSink passes on what a server sends for one call.
type callSink struct {
	h   *Hub
	r   *Request
	ctx context.Context // of the call
	own bool            // the connection is the client's own
}

// Notice passes a notification to the client whose call it belongs to.
func (s *callSink) Notice(m wire.Message) {
	if m.Method == wire.LogMessage && !s.r.wantsLog(m) {
		return
	}
	s.r.send(m.Raw)
}

// Prime makes the client's stream resumable.
func (s *callSink) Prime(retry time.Duration) { s.r.prime(retry) }

// Ask carries a server's request to the client of the call, and the answer back.
func (s *callSink) Ask(conn *upstream.Conn, m wire.Message) bool {
	if s.r.Client.Params == nil || !able(s.r.capabilities(), m) {
		return decline(conn, m)
	}
	q, err := s.r.Client.ask(s.r.Out, m.Method, m.Params)
	if err != nil {
		return decline(conn, m)
	}
	s.h.tasks.Go(func() {
		answer, err := q.wait(s.ctx)
		switch {
		case err != nil:
			decline(conn, m)
		case answer.Error != nil:
			conn.Reply(wire.AppendError(nil, m.ID, answer.Error))
		default:
			conn.Reply(wire.AppendResult(nil, m.ID, answer.Result))
		}
	})
	return true
}
