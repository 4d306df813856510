package upstream

import (
	"time"

	"mcphub/wire"
)

type offered struct {
	conn  *Conn
	offer *Offer
	err   error
}

// listPause is the least time between two readings of a list that is said to change.
const listPause = 500 * time.Millisecond

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
		if err == nil && s.opt.Accept != nil {
			if why := s.opt.Accept(offer); why != nil {
				err = &Error{Kind: Removed, Text: why.Error()}
			}
		}
		if err == nil {
			keep(s, offer)
		}
		select {
		case k.offers <- offered{conn, offer, err}:
		case <-s.ctx.Done():
		}
	})
}

// keep writes an offer into the server's file.
func keep(s *Server, offer *Offer) {
	if err := s.file.store(offer); err != nil {
		s.opt.Log.Warn().Str("server", s.cfg.Name).Err(err).Msg("the catalog cannot be kept; --data-dir names another directory")
	}
}

func (k *keeper) listed(got offered) {
	s := k.s
	k.listing = false
	conn := s.conn.Load()
	current := conn == got.conn
	switch {
	case got.err == nil && !current && conn != nil: // what is connected now is read next
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
	case current && asError(got.err).Kind == Removed:
		k.bar(asError(got.err).Text)
	case current:
		k.unlisted++
		k.stale, k.pause = true, time.After(backoff(k.unlisted))
		s.setStatus(Status{State: StateDegraded, Reason: "connected, but its tools cannot be listed: " + s.dial.named(got.err).Text})
	}
	s.settle()
	k.list()
}

// tell lets those go on who wait for the reading of the list to end.
func (k *keeper) tell() {
	if k.listing {
		return
	}
	for _, r := range k.readers {
		close(r)
	}
	k.readers = nil
}

// bar ends the use of a server whose offer is not accepted. What it offered before goes too.
func (k *keeper) bar(why string) {
	s := k.s
	st := Status{State: StateFailed, Reason: why, Fix: fix("mcphub remove NAME", s.cfg)}
	s.barred.Store(&st)
	s.offer.Store(nil)
	k.drop(restartGrace)
	s.setStatus(st)
	s.opt.changed(s)
}

// notices is a sink for a call of the hub's own.
type notices func(wire.Message)

// Notice passes a notification on.
func (n notices) Notice(m wire.Message) { n(m) }

// Ask refuses.
func (notices) Ask(*Conn, wire.Message) bool { return false }

// Prime does nothing: the hub's own subscription is opened anew.
func (notices) Prime(time.Duration) {}
