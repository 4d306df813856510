package front

import (
	"net/http"
	"time"

	"mcphub/hub"
	"mcphub/wire"
)

// get opens a session's stream for messages outside of requests, or takes up a request's stream again.
func (f web) get(w http.ResponseWriter, r *http.Request, at hub.Door) {
	s := f.named(w, r, at)
	if s == nil {
		return
	}
	defer s.use()()
	last := r.Header.Get(wire.HeaderLastID)
	p, of := parsePosition(last)
	switch st := s.find(p.stream); {
	case of && st != nil && !st.over(p.at):
		f.replay(w, r, s, st, p.at)
	case of && st == nil && len(p.id) > 0:
		f.lost(w, p)
	case of, last != "" && s.holds():
		// A client that got this as the session's stream would have two of them, and each would take over from the other.
		w.Header().Set("Allow", "POST")
		http.Error(w, "there is nothing more to come behind Last-Event-ID "+last, http.StatusMethodNotAllowed)
	default:
		f.hold(w, r, s)
	}
}

// lost tells a client who comes back for a request's stream that its answer will not come any more.
func (f web) lost(w http.ResponseWriter, p position) {
	e := &wire.Error{Code: wire.CodeInternal, Message: "the stream of this request is lost, as by a restart of the hub: whether the request was carried out is not known"}
	msg := wire.AppendError(nil, p.id, e.Raw())
	if _, err := wire.Scan(msg); err != nil { // the hub has not made this event id
		http.Error(w, "Last-Event-ID is none of this hub", http.StatusBadRequest)
		return
	}
	_ = f.startEvents(w).Event(position{stream: p.stream, at: p.at + 1}.String(), "message", msg) // nobody else wants it
}

// named finds the session that a request is about; nil where the request has been answered. The stateless
// era has neither streams without a request nor sessions (MCP 2026-07-28, Earlier Streamable HTTP Revisions).
func (f web) named(w http.ResponseWriter, r *http.Request, at hub.Door) *session {
	id := r.Header.Get(wire.HeaderSession)
	if id == "" || wire.Modern(r.Header.Get(wire.HeaderVersion)) {
		w.Header().Set("Allow", "POST")
		http.Error(w, "the request names no session: POST initialize first", http.StatusMethodNotAllowed)
		return nil
	}
	s := f.lookup(id, at)
	if s == nil {
		http.Error(w, "session not found: send initialize again", http.StatusNotFound)
	}
	return s
}

// hold is the life of a GET stream. A newer one takes over: the older may hang on a dead connection.
func (f web) hold(w http.ResponseWriter, r *http.Request, s *session) {
	over := make(chan struct{})
	s.mu.Lock()
	if s.takeover != nil {
		close(s.takeover)
	}
	s.takeover = over
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		if s.takeover == over {
			s.takeover = nil
		}
		s.mu.Unlock()
	}()
	events := f.startEvents(w)
	if events.Comment("ok") == nil {
		f.pump(r, s, events, over)
	}
}

// pump sends what comes into the session's outbox until the stream is over.
func (f web) pump(r *http.Request, s *session, events *wire.EventWriter, over <-chan struct{}) {
	f.follow(r, s, events, over, func() (<-chan struct{}, bool) {
		for _, msg := range s.out.take() {
			if events.Event("", "message", msg) != nil {
				return nil, false
			}
		}
		return s.out.wake, true
	})
}

// follow keeps a stream open. It calls send at once, and again whenever the channel that send returned says that
// there is more, until send has had enough or the stream is over.
func (f web) follow(r *http.Request, s *session, events *wire.EventWriter, over <-chan struct{}, send func() (more <-chan struct{}, on bool)) {
	beat := time.NewTicker(f.opt.Heartbeat)
	defer beat.Stop()
	for {
		more, on := send()
		if !on {
			return
		}
		select {
		case <-more:
		case <-beat.C:
			if events.Comment("beat") != nil {
				return
			}
		case <-over:
			return
		case <-s.ended:
			return
		case <-f.stopping:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// replay sends what the client has missed of a request's stream, and the rest as it comes. It begins with where
// the client is: one that loses this connection too would come back without an event id otherwise.
func (f web) replay(w http.ResponseWriter, r *http.Request, s *session, st *stream, have int) {
	events := f.startEvents(w)
	if events.Priming(st.eventID(have), 0) != nil {
		return
	}
	f.follow(r, s, events, nil, func() (<-chan struct{}, bool) {
		msgs, done, grown := st.after(have)
		for _, msg := range msgs {
			have++
			if msg != nil && events.Event(st.eventID(have), "message", msg) != nil {
				return nil, false
			}
		}
		return grown, !done
	})
}

// delete ends a session at its client's wish.
func (f web) delete(w http.ResponseWriter, r *http.Request, at hub.Door) {
	if s := f.named(w, r, at); s != nil {
		f.quit(s)
		w.WriteHeader(http.StatusNoContent)
	}
}
