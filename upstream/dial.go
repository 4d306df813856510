package upstream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"mcphub/config"
	"mcphub/wire"
)

// dialer opens connections to one server and remembers how that is done.
type dialer struct {
	cfg      *config.Server
	opt      *Options
	log      *ring
	redact   *strings.Replacer
	endpoint *endpoint // nil for stdio
	tasks    *tasks
	era      atomic.Int32
}

// named puts the server's name on an error and takes its secrets out.
func (d *dialer) named(err error) *Error {
	e := *asError(err)
	e.Server, e.Text = d.cfg.Name, d.redact.Replace(e.Text)
	return &e
}

// unopened is the error of a connection that was not made: no request of a client is in doubt.
func (d *dialer) unopened(err error) *Error {
	e := d.named(err)
	e.NotSent = true
	if e.Kind == Lost {
		e.Kind = Unavailable
	}
	return e
}

func (d *dialer) known() era { return era(d.era.Load()) }

// shared opens the connection that all clients share, within connectTimeoutMs.
func (d *dialer) shared(ctx context.Context, unclaimed func(*Conn, wire.Message)) (*Conn, error) {
	timed, cancel := context.WithTimeout(ctx, d.cfg.ConnectTimeout)
	defer cancel()
	from := d.log.here()
	var conn *Conn
	var err error
	if d.cfg.Type == config.TypeStdio {
		conn, err = d.program(timed, unclaimed)
	} else {
		conn, err = d.web(timed, unclaimed)
	}
	if err == nil {
		return conn, nil
	}
	e := d.unopened(err)
	if timed.Err() != nil && ctx.Err() == nil && !e.crowded {
		e.Kind, e.Text = Unavailable, fmt.Sprintf("did not finish the MCP handshake within %v: raise connectTimeoutMs if it needs longer", d.cfg.ConnectTimeout)
		if words := d.log.words(from, lastWords); words != "" {
			e.Text += "; it last wrote: " + words
		}
	}
	return nil, e
}

// web connects to an HTTP server, over the older transport where the server has only that.
func (d *dialer) web(ctx context.Context, unclaimed func(*Conn, wire.Message)) (*Conn, error) {
	if d.cfg.Type == config.TypeSSE {
		return d.events(ctx, unclaimed)
	}
	known := d.known()
	if known == eraEvents {
		if conn, err := d.events(ctx, unclaimed); err == nil {
			return conn, nil
		}
		known = eraUnknown // it may have been replaced by a newer one
	}
	conn := newHTTPConn(d.endpoint, unclaimed)
	found, err := greet(ctx, conn, known)
	if err == nil {
		d.era.Store(int32(found))
		return conn, nil
	}
	conn.Close()
	if !legacyTransport(err) || ctx.Err() != nil {
		return nil, err
	}
	conn, eventsErr := d.events(ctx, unclaimed)
	switch {
	case eventsErr == nil:
		d.era.Store(int32(eraEvents))
		return conn, nil
	case foundEvents(eventsErr):
		return nil, eventsErr
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

// foundEvents says whether there was an event stream, so that what is wrong with it is what is wrong.
func foundEvents(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == 0
}

// events connects over HTTP+SSE.
func (d *dialer) events(ctx context.Context, unclaimed func(*Conn, wire.Message)) (*Conn, error) {
	conn, err := dialSSE(ctx, d.endpoint, unclaimed)
	if err != nil {
		return nil, err
	}
	if err := openSession(ctx, conn); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// hedgeTime is when a program that has answered neither server/discover nor initialize gets a second process
// beside it that never sees server/discover: some old servers break on that.
const hedgeTime = 5 * time.Second

// program starts the program and greets it. Where it stays mute or ends, a second process is not asked for
// the newer era, and the first of the two to answer is kept.
func (d *dialer) program(ctx context.Context, unclaimed func(*Conn, wire.Message)) (*Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the one that has lost
	known := d.known()
	at, err := d.opt.Processes.take(ctx)
	if err != nil {
		return nil, err
	}
	results := make(chan launched)
	d.launch(ctx, known, at, unclaimed, results)
	running, spare := 1, known == eraUnknown
	hedge := time.NewTimer(min(hedgeTime, d.cfg.ConnectTimeout/3))
	defer hedge.Stop()
	for {
		second := false
		select {
		case <-ctx.Done():
			return nil, stopped(ctx)
		case <-hedge.C:
			second = spare
		case r := <-results:
			running--
			second = spare && ended(r.err)
			switch {
			case r.err == nil:
				d.era.Store(int32(r.era))
				return r.conn, nil
			case running == 0 && !second:
				return nil, r.err
			}
		}
		if second {
			running, spare = running+1, false
			d.launch(ctx, eraSession, nil, unclaimed, results)
		}
	}
}

// ended says whether the program came to run and is gone.
func ended(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Kind == Lost
}

type launched struct {
	conn *Conn
	era  era
	err  error
}

// launch starts one process in its place, which is taken where it has none, and greets it. Its connection is closed where
// nobody takes it from results.
func (d *dialer) launch(ctx context.Context, known era, at *place, unclaimed func(*Conn, wire.Message), results chan<- launched) {
	started := d.tasks.Go(func() {
		r := launched{}
		if at == nil {
			at, r.err = d.opt.Processes.take(ctx)
		}
		if r.err == nil {
			r.conn, r.err = dialStdio(d, at, unclaimed)
		}
		if r.err == nil {
			if r.era, r.err = greet(ctx, r.conn, known); r.err != nil {
				r.conn.Close()
			}
		}
		select {
		case results <- r:
		case <-ctx.Done():
			if r.conn != nil {
				r.conn.Close()
			}
		}
	})
	if !started {
		at.free()
	}
}

// own opens a connection for one client, without a greeting.
func (d *dialer) own(ctx context.Context, unclaimed func(*Conn, wire.Message)) (*Conn, error) {
	switch {
	case d.cfg.Type == config.TypeStdio:
		at, err := d.opt.Processes.take(ctx)
		if err != nil {
			return nil, err
		}
		return dialStdio(d, at, unclaimed)
	case d.cfg.Type == config.TypeSSE, d.known() == eraEvents:
		return dialSSE(ctx, d.endpoint, unclaimed)
	}
	return newHTTPConn(d.endpoint, unclaimed), nil
}
