package upstream

import (
	"context"
	"time"

	"mcphub/wire"
)

const (
	// probeTime is how long server/discover may stay unanswered before initialize is sent after it. Many
	// programs take longer to start, so a late answer still counts.
	probeTime = 2 * time.Second
	// lateTime is how much later than that to initialize it may come.
	lateTime = 200 * time.Millisecond
)

// ClientInfo is how the hub names itself to servers, raw. It is not to be changed.
var ClientInfo = []byte(`{"name":"mcphub","version":"1"}`)

// capabilities are all that the hub can carry to some client; where a call's own client cannot answer, the server gets a
// clean decline. Some servers publish tools with pages only to those who can show them (MCP Apps, Capability Negotiation).
var capabilities = []byte(`{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}},` +
	`"extensions":{"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}}}`)

// initializeParams opens a session that many clients share.
var initializeParams = wire.Splice(nil,
	wire.Edit{Key: "protocolVersion", Value: wire.Quote(wire.V20251125)},
	wire.Edit{Key: "capabilities", Value: capabilities},
	wire.Edit{Key: "clientInfo", Value: ClientInfo})

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
	if known == eraSession {
		return eraSession, openSession(ctx, conn)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the request that has lost
	conn.setVersion(wire.V20260728)
	probe := ask(ctx, conn, wire.Discover, []byte(`{}`))
	patience := time.NewTimer(probeTime)
	defer patience.Stop()
	select {
	case r := <-probe:
		if lists(wire.Path(r.Error, "data", "supported"), wire.V20260728) {
			r = <-ask(ctx, conn, wire.Discover, []byte(`{}`)) // it refused the version, and then names it
		}
		if modern, err := discovered(conn, r); modern || err != nil {
			return eraModern, err
		}
		return eraSession, openSession(ctx, conn)
	case <-patience.C:
		return greetMute(ctx, conn, probe)
	}
}

// greetMute sends initialize to a server that is slow, or silent about what it does not know, and takes the
// better of its answers.
func greetMute(ctx context.Context, conn *Conn, probe <-chan reply) (era, error) {
	conn.setVersion("")
	session := ask(ctx, conn, wire.Initialize, initializeParams)
	select {
	case r := <-probe:
		if modern, err := discovered(conn, r); modern || err != nil {
			return eraModern, err
		}
		return eraSession, begin(ctx, conn, <-session)
	case r := <-session:
		wait := lateTime // it is up now, so its other answer comes at once or never
		if r.err != nil || r.Error != nil {
			wait = probeTime
		}
		late := time.NewTimer(wait)
		defer late.Stop()
		select {
		case p := <-probe:
			if modern, err := discovered(conn, p); modern || err != nil {
				return eraModern, err
			}
		case <-late.C:
		}
		return eraSession, begin(ctx, conn, r)
	}
}

// reply is what came of a request.
type reply struct {
	Answer
	err error
}

// ask sends a request in the background.
func ask(ctx context.Context, conn *Conn, method string, params []byte) <-chan reply {
	replies := make(chan reply, 1)
	started := conn.tasks.Go(func() {
		answer, err := conn.Call(ctx, &Call{Method: method, Params: params, Capabilities: capabilities, own: true})
		replies <- reply{answer, err}
	})
	if !started {
		replies <- reply{err: conn.Err()}
	}
	return replies
}

// discovered says whether the answer to server/discover begins the stateless era. An error means that the
// connection is of no use.
func discovered(conn *Conn, r reply) (bool, error) {
	if r.err == nil && lists(wire.Get(r.Result, "supportedVersions"), wire.V20260728) {
		conn.setVersion(wire.V20260728)
		conn.Greeting = r.Result
		return true, nil
	}
	if r.err == nil {
		return false, nil
	}
	switch e := asError(r.err); {
	case e.Kind == NeedsAuth, e.Kind == Unavailable, e.Kind == Cancelled, conn.Err() != nil:
		return false, e
	}
	return false, nil
}

// lists says whether a raw array of versions has this one.
func lists(versions []byte, version string) bool {
	for v := range wire.Elements(versions) {
		if wire.String(v) == version {
			return true
		}
	}
	return false
}

// openSession does the initialize handshake with the hub's own parameters.
func openSession(ctx context.Context, conn *Conn) error {
	conn.setVersion("")
	answer, err := conn.Call(ctx, &Call{Method: wire.Initialize, Params: initializeParams, own: true})
	return begin(ctx, conn, reply{answer, err})
}

// begin ends the handshake that the answer to the hub's initialize has opened.
func begin(ctx context.Context, conn *Conn, r reply) error {
	if r.err != nil {
		return r.err
	}
	if r.Error != nil {
		code, text := wire.ErrorOf(r.Error)
		return fault(Garbled, nil, "refused initialize (%d): %s", code, text)
	}
	if err := agree(conn, r.Answer); err != nil {
		return err
	}
	return conn.Post(ctx, wire.AppendNotification(nil, wire.Initialized, nil))
}

// agree keeps what a server has answered to initialize.
func agree(conn *Conn, a Answer) error {
	version := wire.String(wire.Get(a.Result, "protocolVersion"))
	if !wire.Known(version) || wire.Modern(version) {
		return fault(Garbled, nil, "offers protocol version %q, which has no session the hub knows", version)
	}
	conn.setVersion(version)
	conn.Greeting = a.Result
	return nil
}
