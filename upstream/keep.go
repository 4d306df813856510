package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"mcphub/config"
)

// keeper is a server's goroutine and what only that touches: it makes the shared connection when that is
// wanted, sees it end, ends it when nobody needs it, and keeps the offer.
type keeper struct {
	s       *Server
	results chan dialed
	offers  chan offered

	waiting    []want
	connecting bool
	cancel     context.CancelFunc // ends the connecting that is under way
	again      bool               // it is to begin anew when it has ended
	retry      <-chan time.Time   // fires when those who wait are connected for; nil: nobody waits for that
	failures   int                // to connect, in a row
	retryAt    time.Time
	lastErr    *Error
	breaker    breaker

	since time.Time        // when the shared connection was made
	drops int              // connections that did not live long, in a row
	gone  <-chan struct{}  // closed when the shared connection is done; nil where there is none
	idle  <-chan time.Time // fires when it may have been idle for too long

	listing  bool
	stale    bool              // the list may have changed since it was last asked for
	unlisted int               // times in a row that it could not be read
	pause    <-chan time.Time  // it is not asked for before this fires; nil: it may be now
	readers  []chan<- struct{} // closed once it is not being read
}

// want is a caller that waits for the shared connection, anew one for another one than there is.
type want struct {
	reply chan dialed
	anew  bool
}

type dialed struct {
	conn *Conn
	err  error
}

func (k *keeper) run() {
	defer close(k.s.ended)
	for {
		select {
		case w := <-k.s.wants:
			k.wanted(w)
		case d := <-k.results:
			k.connected(d)
		case <-k.retry:
			k.retry = nil
			k.connect()
		case <-k.gone:
			k.disconnected()
		case <-k.idle:
			k.lookIdle()
		case y := <-k.s.yields:
			k.yielded(y)
		case <-k.s.stale:
			k.stale = true
			k.list()
		case <-k.pause:
			k.pause = nil
			k.list()
		case got := <-k.offers:
			k.listed(got)
			k.tell()
		case r := <-k.s.reads:
			k.readers = append(k.readers, r)
			k.tell()
		case <-k.s.ctx.Done():
			for _, w := range k.waiting {
				w.reply <- dialed{err: shutDown()}
			}
			return
		}
	}
}

func shutDown() *Error { return &Error{Kind: Removed, Text: "is shut down", NotSent: true} }

// shortPause is how long a call waits for the next attempt to connect; where that is further away it fails at once.
const shortPause = time.Second

func (k *keeper) wanted(w want) {
	s := k.s
	if w.anew {
		k.restart(w)
		return
	}
	if c := s.conn.Load(); c != nil && c.Err() == nil {
		w.reply <- dialed{conn: c}
		return
	}
	if k.gone != nil {
		k.disconnected()
	}
	if k.connecting || k.retry != nil {
		k.waiting = append(k.waiting, w)
		return
	}
	now := time.Now()
	pause := k.retryAt.Sub(now)
	switch {
	case k.breaker.open() && (pause > 0 || !k.breaker.admit(now)):
		w.reply <- dialed{err: k.suspended(now)}
	case pause > shortPause:
		w.reply <- dialed{err: k.lastErr}
	case pause > 0:
		k.waiting = append(k.waiting, w)
		k.retry = time.After(pause)
	default:
		k.waiting = append(k.waiting, w)
		k.connect()
	}
}

// suspended is what a call gets while the breaker is open.
func (k *keeper) suspended(now time.Time) *Error {
	at := k.breaker.probeAt
	if k.retryAt.After(at) {
		at = k.retryAt
	}
	in := at.Sub(now)
	return &Error{Kind: Suspended, NotSent: true, RetryAfter: in, Text: fmt.Sprintf("is suspended after %s; it is tried again in %v, or now by: %s",
		k.troubles(), max(time.Second, in.Round(time.Second)), fix(fixes[StateSuspended], k.s.cfg))}
}

func (k *keeper) troubles() string {
	return fmt.Sprintf("%d failures in %v, the last: %s", breakerMost, breakerWithin, k.lastErr.Text)
}

// restart connects anew, whatever has failed before.
func (k *keeper) restart(w want) {
	k.breaker.succeeded()
	k.failures, k.drops, k.retryAt, k.retry = 0, 0, time.Time{}, nil
	if k.gone != nil {
		k.drop(restartGrace)
		s := k.s
		s.tasks.Go(func() { rejoin(s, backoffFirst, false) }) // should this attempt fail
	}
	k.waiting = append(k.waiting, w)
	if k.connecting {
		k.again = true
		k.cancel()
		return
	}
	k.connect()
}

// restartGrace is how long calls in flight may take to end on a connection that is made anew.
const restartGrace = 5 * time.Second

func (k *keeper) connect() {
	s := k.s
	k.connecting = true
	s.setStatus(Status{State: StateConnecting})
	ctx, cancel := context.WithCancel(s.ctx)
	k.cancel = cancel
	s.tasks.Go(func() {
		conn, err := s.dial.shared(ctx, s.unclaimed)
		select {
		case k.results <- dialed{conn, err}:
		case <-s.ctx.Done():
			if conn != nil {
				conn.Close()
			}
		}
	})
}

func (k *keeper) connected(d dialed) {
	k.connecting = false
	k.cancel()
	again := k.again
	k.again = false
	switch {
	case d.err == nil:
		k.reached(d.conn)
	case again:
		k.connect()
		return
	default:
		k.unreached(asError(d.err))
	}
	for _, w := range k.waiting {
		w.reply <- d
	}
	k.waiting = nil
}

// unreached counts a failure to connect. A server that lacks credentials works, as far as the hub can tell, and so does one
// that there is no room for.
func (k *keeper) unreached(e *Error) {
	now := time.Now()
	switch {
	case e.crowded:
		k.breaker.released()
		k.down(Status{State: StateIdle, Reason: e.Text})
		k.s.settle()
		return
	case e.Kind == NeedsAuth:
		k.breaker.released()
	default:
		k.breaker.failed(now)
	}
	k.failures++
	k.lastErr, k.retryAt = e, now.Add(e.RetryAfter)
	if !k.breaker.open() { // that says when
		k.retryAt = now.Add(max(backoff(k.failures), e.RetryAfter))
	}
	k.down(unconnected(e))
	k.s.settle()
}

// down publishes that there is no connection, which is worse where the breaker is open.
func (k *keeper) down(st Status) {
	if k.breaker.open() {
		st = Status{State: StateSuspended, Reason: k.troubles()}
	}
	k.s.setStatus(st)
}

// unconnected is the status of a server that could not be connected to.
func unconnected(e *Error) Status {
	st := Status{State: StateDegraded, Reason: e.Text}
	switch {
	case e.Kind == NeedsAuth:
		st.State = StateNeedsAuth
	case e.exited:
		st.Fix = fixExited
	}
	return st
}

func (k *keeper) reached(conn *Conn) {
	s := k.s
	k.failures, k.retryAt = 0, time.Time{}
	k.breaker.connected()
	k.since = time.Now()
	k.gone = conn.Done()
	refit(s, conn)
	s.conn.Store(conn)
	s.setStatus(Status{State: StateReady})
	s.tasks.Go(func() { s.wish.restore(conn) })
	if s.cfg.Lifecycle == config.LifecycleKeepAlive {
		s.tasks.Go(func() { keepAlive(s, conn) })
	}
	k.awaitIdle(s.cfg.IdleTimeout)
	k.stale, k.pause = true, nil
	k.list()
}

// disconnected deals with a connection that has ended by itself.
func (k *keeper) disconnected() {
	s := k.s
	conn := k.drop(0)
	k.lastErr = s.dial.named(conn.Err())
	lived := time.Since(k.since)
	switch use := conn.use(); {
	case use.served:
		if !k.breaker.open() {
			k.breaker.succeeded()
		}
	case lived < longLived:
		k.breaker.failed(time.Now())
	}
	st := Status{State: StateIdle, Reason: k.lastErr.Text + "; the next call reconnects"}
	if s.cfg.Lifecycle == config.LifecycleKeepAlive {
		st = unconnected(k.lastErr)
		st.Reason += "; it is being reconnected"
	}
	k.down(st)
	if k.drops++; lived > longLived {
		k.drops = 1
	}
	pause := backoff(k.drops)
	// Where a stream told that the session is gone, the server may have changed, and no call tells of that.
	always := errors.Is(conn.Err(), errSessionLost)
	s.tasks.Go(func() { rejoin(s, pause, always) })
}

// drop takes the shared connection out of use. Calls in flight on it have so long to end; 0: as long as they need.
func (k *keeper) drop(grace time.Duration) *Conn {
	s := k.s
	conn := s.conn.Load()
	s.forget(conn)
	s.conn.Store(nil)
	k.gone, k.idle = nil, nil
	s.tasks.Go(func() {
		ctx := s.ctx
		if grace > 0 {
			timed, cancel := context.WithTimeout(ctx, grace)
			defer cancel()
			ctx = timed
		}
		conn.retire(ctx)
	})
	return conn
}
