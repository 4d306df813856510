package upstream

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mcphub/config"
	"mcphub/wire"
)

const (
	// probeTime is how long server/discover may stay unanswered before initialize is sent. Many programs
	// take longer to start, so a late answer still counts.
	probeTime = 2 * time.Second
	// hedgeTime is when a program that has answered neither gets a second process beside it that never
	// sees server/discover: some old servers break on it.
	hedgeTime = 5 * time.Second
)

// clientInfo is how the hub names itself to servers.
var clientInfo = []byte(`{"name":"mcphub","version":"1"}`)

// initializeParams opens a session. The hub can answer nothing on a session that many clients share,
// so it declares no capabilities on it.
var initializeParams = wire.Splice(nil,
	wire.Edit{Key: "protocolVersion", Value: wire.Quote(wire.V20251125)},
	wire.Edit{Key: "capabilities", Value: []byte("{}")},
	wire.Edit{Key: "clientInfo", Value: clientInfo})

// era is what a server was found to speak, remembered so that it is asked once.
type era int

const (
	eraUnknown era = iota
	eraSession
	eraModern
)

// dial opens the connection that all clients share, in the newest era that the server speaks.
func (s *Server) dial(ctx context.Context) (*Conn, error) {
	switch s.cfg.Type {
	case config.TypeStdio:
		return s.dialProgram(ctx)
	case config.TypeSSE:
		return s.dialEvents(ctx)
	}
	conn := newHTTPConn(s.endpoint, s.unclaimed)
	err := s.greet(ctx, conn)
	if err == nil {
		return conn, nil
	}
	conn.Close()
	if !legacyTransport(err) || ctx.Err() != nil {
		return nil, err
	}
	if conn, sseErr := s.dialEvents(ctx); sseErr == nil {
		return conn, nil
	}
	return nil, err
}

// legacyTransport says whether a refusal may come from a server of the HTTP+SSE transport
// (MCP 2026-07-28, Streamable HTTP, Backward Compatibility).
func legacyTransport(err error) bool {
	var e *Error
	if !errors.As(err, &e) {
		return false
	}
	return e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound || e.Status == http.StatusMethodNotAllowed
}

func (s *Server) dialEvents(ctx context.Context) (*Conn, error) {
	conn, err := dialSSE(ctx, s.endpoint, s.unclaimed)
	if err != nil {
		return nil, err
	}
	if err := openSession(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// dialProgram starts the program and greets it. Where it stays mute, a second process that is not
// probed runs beside it, and the first of the two to answer is kept.
func (s *Server) dialProgram(ctx context.Context) (*Conn, error) {
	type result struct {
		conn *Conn
		err  error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan result, 2)
	launch := func(known era) {
		conn, err := dialStdio(s.cfg, s.opt, s.log, s.unclaimed)
		if err == nil {
			err = s.greetAs(ctx, conn, known)
		}
		if err != nil && conn != nil {
			conn.Close()
			conn = nil
		}
		results <- result{conn, err}
	}
	known := era(s.era.Load())
	running := 1
	s.tasks.Go(func() { launch(known) })
	hedge := time.NewTimer(min(hedgeTime, s.cfg.ConnectTimeout/3))
	defer hedge.Stop()
	for {
		select {
		case <-hedge.C:
			if known == eraUnknown {
				running++
				s.tasks.Go(func() { launch(eraSession) })
			}
		case r := <-results:
			running--
			if r.err != nil && running > 0 {
				continue
			}
			if running > 0 {
				s.tasks.Go(func() { // the other one has lost; cancel ends its greeting
					if r := <-results; r.conn != nil {
						r.conn.Close()
					}
				})
			}
			return r.conn, r.err
		}
	}
}

// greet finds the server's era and opens a session where it has sessions.
func (s *Server) greet(ctx context.Context, conn *Conn) error {
	return s.greetAs(ctx, conn, era(s.era.Load()))
}

func (s *Server) greetAs(ctx context.Context, conn *Conn, known era) error {
	asked := time.Now()
	if known != eraSession {
		modern, err := discover(ctx, conn, probeTime)
		if err != nil {
			return err
		}
		if modern {
			s.era.Store(int32(eraModern))
			return nil
		}
	}
	mute := known != eraSession && time.Since(asked) >= probeTime
	err := openSession(ctx, conn)
	if err == nil {
		s.era.Store(int32(eraSession))
		return nil
	}
	if mute && ctx.Err() == nil { // slow to start, and now it is up
		if modern, _ := discover(ctx, conn, s.cfg.ConnectTimeout); modern {
			s.era.Store(int32(eraModern))
			return nil
		}
	}
	return err
}

// discover asks a server for the stateless era. An error means that the connection is of no use.
func discover(ctx context.Context, conn *Conn, patience time.Duration) (bool, error) {
	conn.setVersion(wire.V20260728)
	probe, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	answer, err := conn.Call(probe, &Call{Method: wire.Discover, Params: []byte(`{}`)})
	if err == nil && supports(answer.Result, wire.V20260728) {
		conn.Greeting = answer.Result
		return true, nil
	}
	conn.setVersion("")
	if ctx.Err() != nil {
		return false, stopped(ctx)
	}
	var e *Error
	if errors.As(err, &e) && (e.Kind == NeedsAuth || e.Kind == Unavailable || conn.Err() != nil) {
		return false, err
	}
	return false, nil
}

func supports(discovered []byte, version string) bool {
	for v := range wire.Elements(wire.Get(discovered, "supportedVersions")) {
		if wire.String(v) == version {
			return true
		}
	}
	return false
}

// openSession does the initialize handshake with the hub's own parameters.
func openSession(ctx context.Context, conn *Conn) error {
	answer, err := initialize(ctx, conn, initializeParams)
	if err != nil {
		return err
	}
	if answer.Error != nil {
		code, text := wire.ErrorOf(answer.Error)
		return fault(Garbled, nil, "refused initialize (%d): %s", code, text)
	}
	return conn.Post(ctx, wire.AppendNotification(nil, wire.Initialized, nil))
}

// initialize sends params, which may be a client's own, and keeps what was agreed on.
func initialize(ctx context.Context, conn *Conn, params []byte) (Answer, error) {
	answer, err := conn.Call(ctx, &Call{Method: wire.Initialize, Params: params})
	if err != nil || answer.Error != nil {
		return answer, err
	}
	version := wire.String(wire.Get(answer.Result, "protocolVersion"))
	if !wire.Known(version) || wire.Modern(version) {
		return answer, fault(Garbled, nil, "offers protocol version %q, which has no session the hub knows", version)
	}
	conn.setVersion(version)
	conn.Greeting = answer.Result
	return answer, nil
}
