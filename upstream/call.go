package upstream

import (
	"context"
	"errors"

	"mcphub/config"
	"mcphub/wire"
)

// Call sends a request over the shared connection, connecting where needed. It is sent again only
// where the server has surely not run it: its session was unknown, or the connection was already gone.
func (s *Server) Call(ctx context.Context, call *Call) (Answer, error) {
	if call.Timeout == 0 && call.Method != wire.Listen {
		call.Timeout = s.cfg.RequestTimeout
	}
	if call.Max == 0 && call.Timeout > 0 {
		call.Max = max(s.cfg.MaxRequestTimeout, call.Timeout)
	}
	for again := false; ; again = true {
		conn, err := s.acquire(ctx)
		if err != nil {
			return Answer{}, asError(err, s.cfg.Name)
		}
		answer, err := conn.Call(ctx, call)
		s.note(err)
		if err == nil {
			return answer, nil
		}
		var e *Error
		if again || !errors.As(err, &e) || !e.NotSent || conn.Err() == nil {
			return Answer{}, asError(err, s.cfg.Name)
		}
	}
}

// note keeps the state in step with what calls meet: an HTTP server can go and come back without
// its connection being any wiser.
func (s *Server) note(err error) {
	state := s.status.Load().State
	if err == nil {
		if state != StateReady {
			s.setStatus(StateReady, "")
		}
		return
	}
	switch e := asError(err, ""); e.Kind {
	case NeedsAuth:
		s.setStatus(StateNeedsAuth, e.Text)
	case Unavailable:
		s.setStatus(StateDegraded, e.Text)
	}
}

// Connect returns the connection that all clients share, making it where there is none.
func (s *Server) Connect(ctx context.Context) (*Conn, error) {
	conn, err := s.acquire(ctx)
	if err != nil {
		return nil, asError(err, s.cfg.Name)
	}
	return conn, nil
}

// Open makes a connection of one client's own: initialize is sent with the client's params, and
// nothing else is. unclaimed gets what belongs to no call. Where the server answers with an error,
// there is no connection. The caller closes one by [Server.Release].
func (s *Server) Open(ctx context.Context, params []byte, unclaimed func(wire.Message)) (*Conn, Answer, error) {
	if !s.usable() {
		return nil, Answer{}, asError(s.unusable(), s.cfg.Name)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.ConnectTimeout)
	defer cancel()
	conn, err := s.dialOwn(ctx, unclaimed)
	if err != nil {
		return nil, Answer{}, asError(err, s.cfg.Name)
	}
	answer, err := initialize(ctx, conn, params)
	if err != nil || answer.Error != nil {
		conn.Close()
		if err != nil {
			err = asError(err, s.cfg.Name)
		}
		return nil, answer, err
	}
	s.mu.Lock()
	s.extra[conn] = struct{}{}
	s.mu.Unlock()
	return conn, answer, nil
}

func (s *Server) dialOwn(ctx context.Context, unclaimed func(wire.Message)) (*Conn, error) {
	if s.cfg.Type == config.TypeStdio {
		return dialStdio(s.cfg, s.opt, s.log, unclaimed)
	}
	shared := s.conn.Load()
	if s.cfg.Type == config.TypeSSE || shared != nil && shared.isSSE() {
		return dialSSE(ctx, s.endpoint, unclaimed)
	}
	return newHTTPConn(s.endpoint, unclaimed), nil
}

func (c *Conn) isSSE() bool {
	_, ok := c.link.(*sseLink)
	return ok
}

// Release closes a connection that Open made.
func (s *Server) Release(conn *Conn) {
	s.mu.Lock()
	delete(s.extra, conn)
	s.mu.Unlock()
	conn.Close()
}
