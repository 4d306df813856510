package front

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/hub"
	"mcphub/wire"
)

// session is one client's session, of any transport that has them.
type session struct {
	id     string
	at     hub.Door
	client *hub.Client
	self   hub.Client // what client points to
	out    outbox     // what the client is sent outside of its requests

	seen   atomic.Int64 // when it last did something, Unix seconds
	asked  atomic.Int64 // when it was asked whether it is still there, Unix seconds; 0: not since then
	open   atomic.Int32 // streams and requests under way
	ended  chan struct{}
	duplex *postedTo // HTTP+SSE only
	endOne sync.Once

	keeping sync.Mutex // held while the session's record is written or removed

	mu       sync.Mutex // guards the rest
	inflight map[*pending]struct{}
	takeover chan struct{} // closed when another GET stream takes over; nil without one
	streams  []*stream     // resumable ones, oldest first
}

// pending is a request under way. A client may use one id twice at once, so the id is no key.
type pending struct {
	id     []byte // raw
	cancel context.CancelCauseFunc
}

// openMost is how many requests of one session may be under way, those that wait for their turn among them.
const openMost = 4096

// errBusy answers a request of a client that sends far more than it lets be answered.
var errBusy = (&wire.Error{Code: wire.CodeInternal, Message: "too many requests wait for their answers; send more when some have come"}).Raw()

func (s *session) busy() bool { return s.open.Load() >= openMost }

var errByClient = errors.New("cancelled by the client")

// newSession makes a session and its client; neither is known to anybody yet.
func newSession(at hub.Door) *session {
	s := &session{id: randomID(), at: at, ended: make(chan struct{})}
	s.out.wake = make(chan struct{}, 1)
	s.self = hub.Client{Door: at, Push: s.out.push, Reachable: s.holds}
	s.client = &s.self
	s.touch()
	return s
}

// idBytes is how much chance is in a session's id.
const idBytes = 16

func randomID() string {
	var b [idBytes]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program where it could not
	return hex.EncodeToString(b[:])
}

func (s *session) touch() {
	s.seen.Store(time.Now().Unix())
	s.asked.Store(0)
}

// use marks the session as in use until the returned function is called.
func (s *session) use() func() {
	s.open.Add(1)
	return func() {
		s.touch()
		s.open.Add(-1)
	}
}

// passing is the session of a single request whose client wants no handshake. Nobody can find it again.
func passing(at hub.Door, version string) *session {
	s := &session{at: at, self: hub.Client{Door: at, Version: version}}
	s.client = &s.self
	return s
}

// holds says whether the session's own stream is open.
func (s *session) holds() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.takeover != nil
}

// begin gives a request a context that the client's notifications/cancelled ends. finish must be
// called when the request is answered.
func (s *session) begin(ctx context.Context, id []byte) (context.Context, *pending) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &pending{id, cancel}
	s.open.Add(1)
	s.mu.Lock()
	if s.inflight == nil {
		s.inflight = map[*pending]struct{}{}
	}
	s.inflight[p] = struct{}{}
	s.mu.Unlock()
	return ctx, p
}

func (s *session) finish(p *pending) {
	s.mu.Lock()
	delete(s.inflight, p)
	s.mu.Unlock()
	p.cancel(nil)
	s.touch()
	s.open.Add(-1)
}

// cancel ends the requests that a notifications/cancelled names.
func (s *session) cancel(params []byte) {
	id := wire.Get(params, "requestId")
	s.mu.Lock()
	defer s.mu.Unlock()
	for p := range s.inflight {
		if bytes.Equal(p.id, id) {
			p.cancel(errByClient)
		}
	}
}

// sessions are all open sessions by id.
type sessions struct {
	mu   sync.Mutex // guards byID
	byID map[string]*session
}

func (ss *sessions) add(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.byID[s.id] = s
}

// addOnce adds a session, unless there is one of its id already, and returns the one that is there then.
func (ss *sessions) addOnce(s *session) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if old := ss.byID[s.id]; old != nil {
		return old
	}
	ss.byID[s.id] = s
	return s
}

// has says whether a session is open.
func (ss *sessions) has(id string) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	return ss.byID[id] != nil
}

// get finds a session of this view.
func (ss *sessions) get(id string, at hub.Door) *session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if s := ss.byID[id]; s != nil && s.at == at {
		return s
	}
	return nil
}

func (ss *sessions) remove(s *session) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	delete(ss.byID, s.id)
}

func (ss *sessions) all() []*session {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	out := make([]*session, 0, len(ss.byID))
	for _, s := range ss.byID {
		out = append(out, s)
	}
	return out
}

// lookup finds a session of this view, also one from before the hub's last start.
func (f *Front) lookup(id string, at hub.Door) *session {
	if s := f.sessions.get(id, at); s != nil {
		return s
	}
	rec, ok := f.store.load(id)
	if !ok || rec.door() != at || !f.hub.Has(at) {
		return nil
	}
	s := newSession(at)
	s.id, s.client.Version = id, rec.Version
	f.hub.Resume(s.client, rec.State)
	if first := f.sessions.addOnce(s); first != s { // somebody else was quicker
		f.hub.Leave(s.client)
		return first
	}
	f.hub.Join(s.client)
	for _, changed := range []string{wire.ToolsChanged, wire.PromptsChanged, wire.ResourcesChanged} { // perhaps, while the hub was down
		s.out.push(wire.AppendNotification(nil, changed, nil))
	}
	return s
}

// quit ends a session for good. A request of it that is under way writes no record after that.
func (f *Front) quit(s *session) {
	s.keeping.Lock()
	defer s.keeping.Unlock()
	f.store.remove(s.id)
	f.end(s)
}

// end ends a session: its streams, its requests, and what the hub holds for it.
func (f *Front) end(s *session) {
	f.sessions.remove(s)
	s.endOne.Do(func() {
		close(s.ended)
		s.mu.Lock()
		for p := range s.inflight {
			p.cancel(errByClient)
		}
		s.mu.Unlock()
		f.hub.Leave(s.client)
	})
}

// gone says whether nobody is behind a session that has been quiet for long. Where a stream is open, its client is asked
// (MCP 2025-11-25, Ping).
func (s *session) gone(now time.Time, wait time.Duration) bool {
	if s.open.Load() == 0 {
		return true
	}
	s.mu.Lock()
	working := len(s.inflight) > 0
	s.mu.Unlock()
	switch asked := s.asked.Load(); {
	case working:
		return false
	case asked == 0:
		s.asked.Store(now.Unix())
		s.out.push(wire.AppendRequest(nil, wire.Quote("there-"+randomID()), wire.Ping, nil))
		return false
	default:
		return now.Unix()-asked >= int64(wait/time.Second)
	}
}

// sweep ends the sessions that have had neither a request nor an open stream for too long, and those with a stream that do
// not answer a ping then. Clients often go without saying so, and a frozen one leaves its streams open.
func (f *Front) sweep() {
	ticker := time.NewTicker(min(time.Minute, f.opt.SessionIdle))
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			for _, s := range f.sessions.all() {
				if now.Unix()-s.seen.Load() >= int64(f.opt.SessionIdle/time.Second) && s.gone(now, f.opt.PingWait) {
					f.quit(s)
				}
			}
			f.store.sweep(now, f.sessions.has)
		case <-f.stopping:
			return
		}
	}
}
