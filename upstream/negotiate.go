package upstream

import (
	"context"
	"errors"
	"time"

	"mcphub/wire"
)

const (
	// probeTime is how long server/discover may stay unanswered before initialize is sent. Many programs
	// take longer to start; they are asked once more where they refuse initialize.
	probeTime = 2 * time.Second
	// lateProbeTime is how long they may take then.
	lateProbeTime = 15 * time.Second
)

// clientInfo is how the hub names itself to servers.
var clientInfo = []byte(`{"name":"mcphub","version":"1"}`)

// initializeParams opens a session that many clients share. It declares all that the hub can carry to
// some client; where a call's own client cannot answer, the server gets a clean decline.
var initializeParams = wire.Splice(nil,
	wire.Edit{Key: "protocolVersion", Value: wire.Quote(wire.V20251125)},
	wire.Edit{Key: "capabilities", Value: []byte(`{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`)},
	wire.Edit{Key: "clientInfo", Value: clientInfo})

// era is what a server was found to speak, remembered so that it is asked once.
type era int32

const (
	eraUnknown era = iota
	eraSession     // initialize
	eraModern      // server/discover
	eraEvents      // initialize, over the HTTP+SSE transport
)

// greet opens conn in the newest era that the server speaks, and says which one that is. A server known to
// be of the session era is not asked for another.
func greet(ctx context.Context, conn *Conn, known era) (era, error) {
	mute := false
	if known != eraSession {
		asked := time.Now()
		modern, err := discover(ctx, conn, probeTime)
		switch {
		case err != nil:
			return eraUnknown, err
		case modern:
			return eraModern, nil
		}
		mute = time.Since(asked) >= probeTime
	}
	err := openSession(ctx, conn)
	if err != nil && mute && ctx.Err() == nil { // slow to start, and now it is up
		if modern, _ := discover(ctx, conn, lateProbeTime); modern {
			return eraModern, nil
		}
	}
	return eraSession, err
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
