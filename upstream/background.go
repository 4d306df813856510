package upstream

import (
	"cmp"
	"context"
	"sync"
	"time"

	"mcphub/config"
	"mcphub/wire"
)

// prefetch connects with nobody asking, trying again for as long as it takes: to get the first offer, and at the start of a
// server that is to be connected then.
func prefetch(s *Server) {
	eager := s.cfg.Lifecycle == config.LifecycleEager || s.cfg.Lifecycle == config.LifecycleKeepAlive
	for n := 1; eager || s.offer.Load() == nil; n++ {
		free, ok := s.opt.takeStart(s.ctx)
		if !ok {
			return
		}
		_, err := s.acquire(s.ctx)
		if err == nil {
			eager = false
			select {
			case <-s.first:
			case <-s.ctx.Done():
			}
		}
		free()
		if !eager && s.offer.Load() != nil || !sleep(s.ctx, pauseAfter(n, err)) {
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

// rejoinMost is how often a server is connected to anew for its lists alone.
const rejoinMost = 10

// rejoin connects anew without a call where the server is to be kept connected, or where somebody is subscribed to a
// resource: changes of it are not to be missed. always does so for a while even where neither holds.
func rejoin(s *Server, pause time.Duration, always bool) {
	kept := s.cfg.Lifecycle == config.LifecycleKeepAlive
	for n := 1; (kept || s.wish.any() || always && n <= rejoinMost) && sleep(s.ctx, pause); n++ {
		_, err := s.acquire(s.ctx)
		if err == nil {
			return
		}
		pause = pauseAfter(n, err)
	}
}

// pauseAfter is how long to wait after n attempts in a row, of which the last met err. While a server is suspended nothing
// is tried, and trying again begins with its probe.
func pauseAfter(n int, err error) time.Duration {
	if err != nil && asError(err).Kind == Suspended {
		return max(backoffFirst, asError(err).RetryAfter)
	}
	return backoff(n)
}

// pingEvery is the time between two pings of a server that is kept connected.
const pingEvery = 30 * time.Second

// keepAlive pings a server for as long as the connection lives, and ends one that is dead.
func keepAlive(s *Server, conn *Conn) {
	every := cmp.Or(s.opt.PingEvery, pingEvery)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-conn.Done():
			return
		case <-s.ctx.Done():
			return
		}
		if use := conn.use(); use.active > 0 || time.Since(use.last) < every {
			continue // calls tell more than pings do, and a program that does one thing at a time answers no ping meanwhile
		}
		call := &Call{Method: wire.Ping, own: true, Timeout: s.cfg.RequestTimeout}
		if conn.Modern() { // that era has no ping
			call.Method, call.Params = wire.Discover, []byte(`{}`)
		}
		_, err := conn.Call(s.ctx, call)
		note(s, conn, err)
		if err != nil && dead(asError(err)) && conn.use().active == 0 {
			conn.fail(fault(Lost, err, "a ping was not answered"))
		}
	}
}

// dead says whether a ping's failure means that the connection is of no more use. Any answer, also a refusal, is a sign of life.
func dead(e *Error) bool { return e.Kind == Unavailable || e.Kind == Lost || e.Kind == Timeout }

// awaitIdle has it looked in a while whether the shared connection is idle.
func (k *keeper) awaitIdle(in time.Duration) {
	if k.s.cfg.IdleTimeout > 0 && k.s.cfg.Lifecycle != config.LifecycleKeepAlive {
		k.idle = time.After(in)
	}
}

// lookIdle shuts the shared connection down where nobody has used it for idleTimeoutMin. What is offered stays published.
func (k *keeper) lookIdle() {
	s := k.s
	limit := s.cfg.IdleTimeout
	last := k.since
	if used := s.LastUsed(); used.After(last) {
		last = used
	}
	if left := limit - time.Since(last); left > 0 {
		k.awaitIdle(left)
	} else if !k.lapse("idle for " + limit.String() + "; the next call reconnects") {
		k.awaitIdle(limit)
	}
}

// lapse shuts the shared connection down where nobody has use for it, and says whether it did. Subscriptions and
// connections of clients' own are use.
func (k *keeper) lapse(reason string) bool {
	s := k.s
	conn := s.conn.Load()
	if conn == nil || conn.Err() != nil || k.listing || s.wish.any() || s.owned() > 0 || !conn.lapse(closedByUs()) {
		return false
	}
	k.drop(0)
	s.setStatus(Status{State: StateIdle, Reason: reason})
	return true
}
