package upstream

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcphub/wire"
)

// keeper is a server's goroutine and what only that touches: it makes the shared connection when that is
// wanted, sees it end, and keeps the offer.
type keeper struct {
	s       *Server
	results chan dialed
	offers  chan offered

	waiting    []want
	connecting bool
	failures   int // to connect, in a row
	retryAt    time.Time
	lastErr    error
	since      time.Time       // when the shared connection was made
	drops      int             // connections that did not live long, in a row
	gone       <-chan struct{} // closed when the shared connection is done; nil where there is none

	listing  bool
	stale    bool             // the list may have changed since it was last asked for
	unlisted int              // times in a row that it could not be read
	pause    <-chan time.Time // it is not asked for before this fires; nil: it may be now
}

// want is a caller that waits for the shared connection.
type want struct{ reply chan dialed }

type dialed struct {
	conn *Conn
	err  error
}

type offered struct {
	conn  *Conn
	offer *Offer
	err   error
}

// listPause is the least time between two readings of a list that is said to change.
const listPause = 500 * time.Millisecond

func (k *keeper) run() {
	defer close(k.s.ended)
	for {
		select {
		case w := <-k.s.wants:
			k.wanted(w)
		case d := <-k.results:
			k.connected(d)
		case <-k.gone:
			k.disconnected()
		case <-k.s.stale:
			k.stale = true
			k.list()
		case <-k.pause:
			k.pause = nil
			k.list()
		case got := <-k.offers:
			k.listed(got)
		case <-k.s.ctx.Done():
			for _, w := range k.waiting {
				w.reply <- dialed{err: shutDown()}
			}
			return
		}
	}
}

func shutDown() *Error { return &Error{Kind: Removed, Text: "is shut down", NotSent: true} }

// prefetch gets the first offer, trying again for as long as it takes.
func (k *keeper) prefetch() {
	s := k.s
	for n := 1; s.offer.Load() == nil; n++ {
		free, ok := s.opt.takeStart(s.ctx)
		if !ok {
			return
		}
		_, err := s.acquire(s.ctx)
		if err == nil {
			select {
			case <-s.first:
			case <-s.ctx.Done():
			}
		}
		free()
		if s.offer.Load() != nil || !sleep(s.ctx, backoff(n)) {
			return
		}
	}
}

// startTime is how long a server that starts may keep the others from starting. One that takes longer is
// mostly waiting.
const startTime = 3 * time.Second

// takeStart waits for the right to connect in the background. It is given back by free, or after startTime.
func (o *Options) takeStart(ctx context.Context) (free func(), ok bool) {
	if o.Starts == nil {
		return func() {}, true
	}
	select {
	case o.Starts <- struct{}{}:
		give := sync.OnceFunc(func() { <-o.Starts })
		timer := time.AfterFunc(startTime, give)
		return func() {
			timer.Stop()
			give()
		}, true
	case <-ctx.Done():
		return nil, false
	}
}

func (k *keeper) wanted(w want) {
	s := k.s
	if c := s.conn.Load(); c != nil && c.Err() == nil {
		w.reply <- dialed{conn: c}
		return
	}
	if k.gone != nil {
		k.disconnected()
	}
	if !k.connecting && time.Now().Before(k.retryAt) {
		w.reply <- dialed{err: k.lastErr}
		return
	}
	k.waiting = append(k.waiting, w)
	if k.connecting {
		return
	}
	k.connecting = true
	s.setStatus(Status{State: StateConnecting})
	s.tasks.Go(func() {
		conn, err := s.dial.shared(s.ctx, s.unclaimed)
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
	s := k.s
	k.connecting = false
	if d.err != nil {
		e := asError(d.err)
		k.failures++
		k.lastErr, k.retryAt = e, time.Now().Add(max(backoff(k.failures), e.RetryAfter))
		s.setStatus(unconnected(e))
		s.settle()
	} else {
		k.failures, k.retryAt = 0, time.Time{}
		k.since = time.Now()
		k.gone = d.conn.Done()
		s.conn.Store(d.conn)
		s.setStatus(Status{State: StateReady})
		s.tasks.Go(func() { s.wish.restore(d.conn) })
		k.stale, k.pause = true, nil
		k.list()
	}
	for _, w := range k.waiting {
		w.reply <- d
	}
	k.waiting = nil
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

func (k *keeper) disconnected() {
	s := k.s
	conn := s.conn.Load()
	s.forget(conn)
	s.conn.Store(nil)
	k.gone = nil
	s.tasks.Go(func() { conn.retire(s.ctx) })
	s.setStatus(Status{State: StateIdle, Reason: s.dial.named(conn.Err()).Text + "; the next call reconnects"})
	if k.drops++; time.Since(k.since) > longLived {
		k.drops = 1
	}
	pause := backoff(k.drops)
	// Where a stream told that the session is gone, the server may have changed, and no call tells of that.
	always := errors.Is(conn.Err(), errSessionLost)
	s.tasks.Go(func() { s.rejoin(pause, always) })
}

// rejoinMost is how often a server is connected to anew for its lists alone.
const rejoinMost = 10

// rejoin connects anew without a call where somebody is subscribed to a resource: changes of it are not to be missed.
// always does so for a while even where nobody is.
func (s *Server) rejoin(pause time.Duration, always bool) {
	for n := 1; (s.wish.any() || always && n <= rejoinMost) && sleep(s.ctx, pause); n++ {
		if _, err := s.acquire(s.ctx); err == nil {
			return
		}
		pause = backoff(n)
	}
}

// list reads the server's offer where it may have changed and enough time has passed.
func (k *keeper) list() {
	s := k.s
	conn := s.conn.Load()
	if conn == nil || k.listing || !k.stale || k.pause != nil {
		return
	}
	k.listing, k.stale = true, false
	s.tasks.Go(func() {
		offer, err := readOffer(s.ctx, &reader{conn: conn, timeout: s.cfg.RequestTimeout, left: s.opt.maxMessage(), before: s.offer.Load()})
		select {
		case k.offers <- offered{conn, offer, err}:
		case <-s.ctx.Done():
		}
	})
}

func (k *keeper) listed(got offered) {
	s := k.s
	k.listing = false
	current := s.conn.Load() == got.conn
	switch {
	case got.err == nil:
		if got.offer.partial {
			k.unlisted++
			k.stale, k.pause = true, time.After(backoff(k.unlisted))
		} else {
			k.unlisted, k.pause = 0, time.After(listPause)
		}
		s.offer.Store(got.offer)
		if age := got.offer.age(); age > 0 {
			s.refreshAt.Store(time.Now().Add(age).UnixNano())
		}
		if current {
			s.setStatus(Status{State: StateReady})
		}
		s.opt.changed(s)
	case current:
		k.unlisted++
		k.stale, k.pause = true, time.After(backoff(k.unlisted))
		s.setStatus(Status{State: StateDegraded, Reason: "connected, but its tools cannot be listed: " + s.dial.named(got.err).Text})
	}
	s.settle()
	k.list()
}

// notices is a sink for a call of the hub's own.
type notices func(wire.Message)

// Notice passes a notification on.
func (n notices) Notice(m wire.Message) { n(m) }

// Ask refuses.
func (notices) Ask(*Conn, wire.Message) bool { return false }

// Prime does nothing: the hub's own subscription is opened anew.
func (notices) Prime(time.Duration) {}
