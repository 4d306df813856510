package upstream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/wire"
)

// Options are what all servers of a hub share.
type Options struct {
	Log        zerolog.Logger
	Version    string  // the hub's own version
	MaxMessage int     // bytes of one message; 0 means 64 MiB
	Reaper     *Reaper // nil: children are ended by the hub itself only

	// OnChange is told that a server's offer or state has changed. It must not block.
	OnChange func(*Server)
	// OnNotice is told of a notification on the shared connection that belongs to no call. It must not block.
	OnNotice func(*Server, wire.Message)
	// Starts bounds how many servers are connected in the background at once; nil means no bound.
	Starts chan struct{}
}

// State is where a server stands, as status shows it.
type State string

// The states (SPEC names; those of later lifecycle stages come with them).
const (
	StateIdle       State = "idle"
	StateConnecting State = "connecting"
	StateReady      State = "ready"
	StateDegraded   State = "degraded"
	StateNeedsAuth  State = "needs_auth"
	StateDisabled   State = "disabled"
	StateFailed     State = "failed"
)

// Status is a server's state, why, and since when. It is never changed once published.
type Status struct {
	State  State
	Reason string
	Since  time.Time
}

// Server is one configured server. Its goroutine owns the shared connection; everything that others
// read is published by atomic pointer.
type Server struct {
	cfg      *config.Server
	opt      *Options
	log      *ring
	endpoint *endpoint // nil for stdio
	era      atomic.Int32

	conn   atomic.Pointer[Conn]
	status atomic.Pointer[Status]
	offer  atomic.Pointer[Offer]
	first  chan struct{} // closed when the first offer, or the first failure to get one, is known
	once   sync.Once

	wants   chan want
	results chan dialed
	stale   chan struct{} // a list has changed; holds one token
	offers  chan offered
	stop    context.CancelFunc
	ctx     context.Context
	tasks   sync.WaitGroup
	ended   chan struct{}

	mu    sync.Mutex // guards extra
	extra map[*Conn]struct{}
}

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

// NewServer prepares a server; Start starts its goroutine.
func NewServer(cfg *config.Server, opt *Options) *Server {
	if opt.MaxMessage == 0 {
		opt.MaxMessage = 64 << 20
	}
	s := &Server{
		cfg: cfg, opt: opt, log: &ring{}, first: make(chan struct{}), extra: map[*Conn]struct{}{},
		wants: make(chan want), results: make(chan dialed), stale: make(chan struct{}, 1), offers: make(chan offered),
		ended: make(chan struct{}),
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if cfg.Type != config.TypeStdio {
		s.endpoint = newEndpoint(cfg, opt, s.log)
	}
	state, reason := StateIdle, ""
	switch {
	case len(cfg.Failed) > 0:
		state, reason = StateFailed, cfg.Failed[0].Message
	case !cfg.Enabled:
		state, reason = StateDisabled, "enabled is false"
	}
	s.setStatus(state, reason)
	if state != StateIdle {
		s.settled()
	}
	return s
}

// Name is the server's name in the configuration.
func (s *Server) Name() string { return s.cfg.Name }

// Config is the server's entry.
func (s *Server) Config() *config.Server { return s.cfg }

// Status is the server's present state.
func (s *Server) Status() Status { return *s.status.Load() }

// Offer is what the server offers, nil before it was first read.
func (s *Server) Offer() *Offer { return s.offer.Load() }

// Settled is closed once the server's first offer is known, or getting it has failed once.
func (s *Server) Settled() <-chan struct{} { return s.first }

// Logs returns up to n of the last lines that the server printed outside the protocol.
func (s *Server) Logs(n int) []string { return s.log.last(n) }

// usable says whether the configuration lets the server run.
func (s *Server) usable() bool { return s.cfg.Enabled && len(s.cfg.Failed) == 0 }

func (s *Server) settled() { s.once.Do(func() { close(s.first) }) }

func (s *Server) setStatus(state State, reason string) {
	old := s.status.Load()
	if old != nil && old.State == state && old.Reason == reason {
		return
	}
	s.status.Store(&Status{State: state, Reason: reason, Since: time.Now()})
	if old == nil {
		return
	}
	event := s.opt.Log.Info()
	if state == StateDegraded || state == StateNeedsAuth {
		event = s.opt.Log.Warn()
	}
	event.Str("server", s.cfg.Name).Str("state", string(state)).Str("reason", reason).Msg("server")
	s.changed()
}

func (s *Server) changed() {
	if s.opt.OnChange != nil {
		s.opt.OnChange(s)
	}
}

// Start starts the server's goroutine and, once, reads its offer in the background.
func (s *Server) Start() {
	if !s.usable() {
		close(s.ended)
		return
	}
	go s.run()
	s.tasks.Go(s.prefetch)
}

// prefetch gets the first offer, trying again for as long as it takes.
func (s *Server) prefetch() {
	for n := 1; s.offer.Load() == nil; n++ {
		if !s.startSlot() {
			return
		}
		_, err := s.acquire(s.ctx)
		if err == nil {
			select {
			case <-s.first:
			case <-s.ctx.Done():
			}
		}
		s.freeSlot()
		if s.offer.Load() != nil || !sleep(s.ctx, backoff(n)) {
			return
		}
	}
}

func (s *Server) startSlot() bool {
	if s.opt.Starts == nil {
		return true
	}
	select {
	case s.opt.Starts <- struct{}{}:
		return true
	case <-s.ctx.Done():
		return false
	}
}

func (s *Server) freeSlot() {
	if s.opt.Starts != nil {
		<-s.opt.Starts
	}
}

// acquire returns the shared connection, connecting where there is none.
func (s *Server) acquire(ctx context.Context) (*Conn, error) {
	if c := s.conn.Load(); c != nil && c.Err() == nil {
		return c, nil
	}
	if !s.usable() {
		return nil, s.unusable()
	}
	w := want{reply: make(chan dialed, 1)}
	select {
	case s.wants <- w:
	case <-s.ended:
		return nil, &Error{Kind: Removed, Text: "is shut down", NotSent: true}
	case <-ctx.Done():
		return nil, stopped(ctx)
	}
	select {
	case d := <-w.reply:
		return d.conn, d.err
	case <-ctx.Done():
		e := stopped(ctx)
		e.NotSent = true
		return nil, e
	}
}

func (s *Server) unusable() *Error {
	return &Error{Kind: Removed, Text: fmt.Sprintf("is %s: %s", s.Status().State, s.Status().Reason), NotSent: true}
}

// owned is what only the server's goroutine touches.
type owned struct {
	waiting    []want
	connecting bool
	listing    bool
	relist     bool // the list changed while it was being read
	failures   int
	retryAt    time.Time
	lastErr    error
	connDone   <-chan struct{}
}

// run is the server's goroutine.
func (s *Server) run() {
	defer close(s.ended)
	var o owned
	for {
		select {
		case w := <-s.wants:
			s.wanted(&o, w)
		case d := <-s.results:
			s.connected(&o, d)
		case <-o.connDone:
			s.disconnected(&o)
		case <-s.stale:
			s.relist(&o)
		case got := <-s.offers:
			s.listed(&o, got)
		case <-s.ctx.Done():
			for _, w := range o.waiting {
				w.reply <- dialed{err: &Error{Kind: Removed, Text: "is shut down", NotSent: true}}
			}
			return
		}
	}
}

func (s *Server) wanted(o *owned, w want) {
	if c := s.conn.Load(); c != nil && c.Err() == nil {
		w.reply <- dialed{conn: c}
		return
	}
	if o.connDone != nil {
		s.disconnected(o)
	}
	if !o.connecting && time.Now().Before(o.retryAt) {
		w.reply <- dialed{err: o.lastErr}
		return
	}
	o.waiting = append(o.waiting, w)
	if o.connecting {
		return
	}
	o.connecting = true
	s.setStatus(StateConnecting, "")
	s.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(s.ctx, s.cfg.ConnectTimeout)
		defer cancel()
		conn, err := s.dial(ctx)
		if err != nil && ctx.Err() != nil && s.ctx.Err() == nil {
			err = &Error{Kind: Unavailable, NotSent: true, Err: err, Text: fmt.Sprintf(
				"did not finish the MCP handshake within %v: raise connectTimeoutMs if it needs longer%s", s.cfg.ConnectTimeout, s.lastLine())}
		}
		select {
		case s.results <- dialed{conn, err}:
		case <-s.ctx.Done():
			if conn != nil {
				conn.Close()
			}
		}
	})
}

func (s *Server) lastLine() string {
	if lines := s.log.last(1); len(lines) > 0 {
		return "; it last wrote: " + lines[0]
	}
	return ""
}

func (s *Server) connected(o *owned, d dialed) {
	o.connecting = false
	if d.err != nil {
		e := asError(d.err, s.cfg.Name)
		e.NotSent = true
		d.err = e
		o.failures++
		o.lastErr, o.retryAt = e, time.Now().Add(backoff(o.failures))
		state := StateDegraded
		if e.Kind == NeedsAuth {
			state = StateNeedsAuth
		}
		s.setStatus(state, e.Text)
		s.settled()
	} else {
		o.failures, o.retryAt = 0, time.Time{}
		o.connDone = d.conn.Done()
		s.conn.Store(d.conn)
		s.setStatus(StateReady, "")
		s.watch(d.conn)
		s.relist(o)
	}
	for _, w := range o.waiting {
		w.reply <- d
	}
	o.waiting = nil
}

func (s *Server) disconnected(o *owned) {
	conn := s.conn.Swap(nil)
	o.connDone = nil
	reason := asError(conn.Err(), "").Text
	s.tasks.Go(conn.Close)
	s.setStatus(StateIdle, reason+"; the next call reconnects")
	s.settled()
}

// relist reads the server's offer anew, once more where it changes meanwhile.
func (s *Server) relist(o *owned) {
	conn := s.conn.Load()
	if conn == nil {
		return
	}
	if o.listing {
		o.relist = true
		return
	}
	o.listing = true
	s.tasks.Go(func() {
		offer, err := s.offerOf(s.ctx, conn)
		select {
		case s.offers <- offered{conn, offer, err}:
		case <-s.ctx.Done():
		}
	})
}

func (s *Server) listed(o *owned, got offered) {
	o.listing = false
	if got.err != nil {
		if !errors.Is(got.err, context.Canceled) && s.conn.Load() == got.conn {
			s.setStatus(StateDegraded, "connected, but its tools cannot be listed: "+asError(got.err, "").Text)
		}
	} else {
		s.offer.Store(got.offer)
		s.setStatus(StateReady, "")
		s.changed()
	}
	s.settled()
	if o.relist {
		o.relist = false
		s.relist(o)
	}
}

// unclaimed takes the messages of the shared connection that belong to no call.
func (s *Server) unclaimed(m wire.Message) {
	if s.opt.OnNotice != nil && m.IsNotification() {
		s.opt.OnNotice(s, m)
	}
	switch {
	case m.Method == wire.ToolsChanged:
		select {
		case s.stale <- struct{}{}:
		default:
		}
	case m.IsRequest():
		if c := s.conn.Load(); c != nil {
			c.refuse(m)
		}
	}
}

// watch keeps a subscription to a stateless server's list changes.
func (s *Server) watch(conn *Conn) {
	if !conn.Modern() || string(wire.Path(conn.Greeting, "capabilities", "tools", "listChanged")) != "true" {
		return
	}
	s.tasks.Go(func() {
		ctx, cancel := context.WithCancel(s.ctx)
		defer cancel()
		for n := 1; conn.Err() == nil; n++ {
			answer, _ := conn.Call(ctx, &Call{
				Method: wire.Listen, Params: []byte(`{"notifications":{"toolsListChanged":true}}`), Sink: notices(s.unclaimed),
			})
			if answer.Error != nil || !sleepUntil(ctx, conn.Done(), backoff(n)) {
				return
			}
			s.unclaimed(wire.Message{Method: wire.ToolsChanged}) // one may have been missed
		}
	})
}

// notices is a sink for a call of the hub's own.
type notices func(wire.Message)

// Notice passes a notification on.
func (n notices) Notice(m wire.Message) { n(m) }

// Ask refuses.
func (notices) Ask(wire.Message) bool { return false }

// Prime does nothing: the hub's own subscription is opened anew.
func (notices) Prime(time.Duration) {}

func sleepUntil(ctx context.Context, done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-done:
	}
	return false
}

// Close ends the server: its connections, its children, its goroutines.
func (s *Server) Close() {
	s.stop()
	<-s.ended
	if c := s.conn.Load(); c != nil {
		c.Close()
	}
	s.mu.Lock()
	extra := make([]*Conn, 0, len(s.extra))
	for c := range s.extra {
		extra = append(extra, c)
	}
	s.mu.Unlock()
	var closing sync.WaitGroup
	for _, c := range extra {
		closing.Go(c.Close)
	}
	closing.Wait()
	s.tasks.Wait()
	if s.endpoint != nil {
		s.endpoint.client.CloseIdleConnections()
	}
}
