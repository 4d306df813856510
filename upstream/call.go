package upstream

import (
	"context"

	"mcphub/config"
	"mcphub/wire"
)

// Endless says whether a request may stay unanswered for as long as it likes: a subscription, and the result of a task
// (MCP 2025-11-25, Tasks, Result Retrieval).
func Endless(method string) bool { return method == wire.Listen || method == wire.TasksResult }

// Call sends a request over the shared connection, connecting where needed. It is sent again only
// where the server has surely not run it: its session was unknown, or the connection was already gone.
func (s *Server) Call(ctx context.Context, call *Call) (Answer, error) {
	if call.Timeout == 0 && !Endless(call.Method) {
		call.Timeout = s.cfg.RequestTimeout
	}
	if call.Max == 0 && call.Timeout > 0 {
		call.Max = max(s.cfg.MaxRequestTimeout, call.Timeout)
	}
	for again := false; ; {
		conn, err := s.acquire(ctx)
		if err != nil {
			return Answer{}, s.dial.named(err)
		}
		answer, err := conn.Call(ctx, call)
		note(s, conn, err)
		if err == nil {
			return answer, nil
		}
		switch e := asError(err); {
		case e.untaken: // the connection was shut down just now, for being idle
		case again || !e.NotSent || conn.Err() == nil:
			return Answer{}, s.dial.named(err)
		default:
			again = true
		}
	}
}

// note keeps the state in step with what calls meet: an HTTP server can go and come back without
// its connection being any wiser.
func note(s *Server, conn *Conn, err error) {
	if conn.Err() != nil {
		return // the server's goroutine says what becomes of it
	}
	if err == nil {
		if s.troubled.Load() && s.troubled.CompareAndSwap(true, false) {
			s.setStatus(Status{State: StateReady})
		}
		return
	}
	switch e := s.dial.named(err); e.Kind {
	case NeedsAuth:
		s.troubled.Store(true)
		s.setStatus(Status{State: StateNeedsAuth, Reason: e.Text})
	case Unavailable:
		s.troubled.Store(true)
		s.setStatus(Status{State: StateDegraded, Reason: e.Text})
	}
}

// Connect returns the connection that all clients share, making it where there is none.
func (s *Server) Connect(ctx context.Context) (*Conn, error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, s.dial.named(err)
	}
	return conn, nil
}

// Open makes a connection of one client's own: initialize is sent with the client's params, and
// nothing else is. unclaimed gets what belongs to no call. Where the server answers with an error,
// there is no connection. The caller closes one by [Server.Release].
func (s *Server) Open(ctx context.Context, params []byte, unclaimed func(wire.Message)) (*Conn, Answer, error) {
	if err := s.unusable(); err != nil {
		return nil, Answer{}, s.dial.named(err)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ConnectTimeout)
	defer cancel()
	switch {
	case s.Status().State == StateSuspended:
		if _, err := s.acquire(ctx); err != nil {
			return nil, Answer{}, s.dial.unopened(err)
		}
	case s.cfg.Type == config.TypeHTTP && s.dial.known() == eraUnknown:
		_, _ = s.acquire(ctx) // finds out which transport it is
	}
	conn, err := s.dial.own(ctx, func(_ *Conn, m wire.Message) { unclaimed(m) })
	if err != nil {
		return nil, Answer{}, s.dial.unopened(err)
	}
	s.own(conn)
	if s.ctx.Err() != nil { // Close may have missed it
		s.Release(conn)
		return nil, Answer{}, s.dial.named(shutDown())
	}
	answer, err := conn.Call(ctx, &Call{Method: wire.Initialize, Params: params})
	if err == nil && answer.Error == nil {
		err = agree(conn, answer)
	}
	switch {
	case err != nil:
		s.Release(conn)
		return nil, Answer{}, s.dial.unopened(err)
	case answer.Error != nil:
		s.Release(conn)
		return nil, answer, nil
	}
	return conn, answer, nil
}

// Release closes a connection that Open made.
func (s *Server) Release(conn *Conn) {
	conn.Close()
	s.forget(conn)
}
