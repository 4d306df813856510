package upstream

import (
	"cmp"
	"context"
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
	OnNotice func(*Server, *Conn, wire.Message)
	// OnAsk gets a request on the shared connection whose call cannot be made out, and says whether it
	// will answer. It must not block.
	OnAsk func(*Server, *Conn, wire.Message) bool
	// Starts bounds how many servers are connected in the background at once; nil means no bound.
	Starts chan struct{}
}

func (o *Options) maxMessage() int { return cmp.Or(o.MaxMessage, 64<<20) }

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
	cfg  *config.Server
	opt  *Options
	log  *ring
	dial *dialer

	conn   atomic.Pointer[Conn]
	status atomic.Pointer[Status]
	offer  atomic.Pointer[Offer]

	// Unattributed counts the server's questions that the hub declined because they could have been for several clients.
	Unattributed atomic.Int64

	started   atomic.Int64 // in Unix nanoseconds; 0 before Start
	troubled  atomic.Bool  // the state is what a call has met, until another one meets better
	refreshAt atomic.Int64 // when the lists have to be read again though nobody has said so, in Unix nanoseconds; 0: never

	first  chan struct{} // closed when the first offer, or the first failure to get one, is known
	settle func()        // closes first, once

	wants chan want
	stale chan struct{} // a list has changed; holds one token
	begin sync.Once     // starts the goroutine, or sees that it never will
	ended chan struct{} // closed when the goroutine has ended
	ctx   context.Context
	stop  context.CancelFunc
	tasks tasks
	wish  *Wishes

	mu    sync.Mutex // guards extra
	extra map[*Conn]struct{}
}

// NewServer prepares a server; Start starts its goroutine.
func NewServer(cfg *config.Server, opt *Options) *Server {
	redact := newRedactor(cfg.Secrets)
	s := &Server{
		cfg: cfg, opt: opt, log: &ring{redact: redact}, first: make(chan struct{}), extra: map[*Conn]struct{}{},
		wants: make(chan want), stale: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	s.wish = newWishes(s)
	s.settle = sync.OnceFunc(func() { close(s.first) })
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.dial = &dialer{cfg: cfg, opt: opt, log: s.log, redact: redact, tasks: &s.tasks}
	if cfg.Type != config.TypeStdio {
		s.dial.endpoint = newEndpoint(cfg, opt, s.log)
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
		s.settle()
	}
	return s
}

// Name is the server's name in the configuration.
func (s *Server) Name() string { return s.cfg.Name }

// Config is the server's entry.
func (s *Server) Config() *config.Server { return s.cfg }

// Status is the server's present state.
func (s *Server) Status() Status { return *s.status.Load() }

// Wishes takes what clients want of the server beyond calls.
func (s *Server) Wishes() *Wishes { return s.wish }

// Offer is what the server offers, nil before it was first read.
func (s *Server) Offer() *Offer { return s.offer.Load() }

// Settled is closed once the server's first offer is known, or getting it has failed once.
func (s *Server) Settled() <-chan struct{} { return s.first }

// Logs returns up to n of the last lines that the server printed outside the protocol.
func (s *Server) Logs(n int) []string { return s.log.last(n) }

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
	if reason != "" {
		event.Str("reason", reason)
	}
	event.Str("server", s.cfg.Name).Str("state", string(state)).Msg("server")
	s.opt.changed(s)
}

func (o *Options) changed(s *Server) {
	if o.OnChange != nil {
		o.OnChange(s)
	}
}

// Started is when Start was called, the zero time before.
func (s *Server) Started() time.Time {
	if at := s.started.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// Start starts the server's goroutine and reads its offer in the background.
func (s *Server) Start() {
	s.begin.Do(func() {
		s.started.Store(time.Now().UnixNano())
		if s.unusable() != nil {
			close(s.ended)
			return
		}
		k := &keeper{s: s, results: make(chan dialed), offers: make(chan offered)}
		go k.run()
		s.tasks.Go(k.prefetch)
	})
}

// acquire returns the shared connection, connecting where there is none.
func (s *Server) acquire(ctx context.Context) (*Conn, error) {
	if c := s.conn.Load(); c != nil && c.Err() == nil {
		return c, nil
	}
	if err := s.unusable(); err != nil {
		return nil, err
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

// unusable says why the configuration keeps the server from running, nil where it may run.
func (s *Server) unusable() *Error {
	if s.cfg.Enabled && len(s.cfg.Failed) == 0 {
		return nil
	}
	return &Error{Kind: Removed, Text: fmt.Sprintf("is %s: %s", s.Status().State, s.Status().Reason), NotSent: true}
}

// unclaimed takes the messages of a shared connection that belong to no call.
func (s *Server) unclaimed(conn *Conn, m wire.Message) {
	if s.opt.OnNotice != nil && m.IsNotification() {
		s.opt.OnNotice(s, conn, m)
	}
	switch {
	case m.Method == wire.ToolsChanged, m.Method == wire.PromptsChanged, m.Method == wire.ResourcesChanged:
		s.Refresh(true)
	case m.IsRequest():
		if s.opt.OnAsk == nil || !s.opt.OnAsk(s, conn, m) {
			conn.Refuse(m)
		}
	}
}

// Refresh has the server's lists read again, in the background and not too often: now, because they may have changed, or
// only where the server does not tell of changes and they are older than they may be. A server that is not connected is
// left alone.
func (s *Server) Refresh(now bool) {
	if !now {
		at := s.refreshAt.Load()
		if at == 0 || time.Now().UnixNano() < at || !s.refreshAt.CompareAndSwap(at, 0) {
			return
		}
	}
	if c := s.conn.Load(); c != nil && c.Err() == nil {
		select {
		case s.stale <- struct{}{}:
		default:
		}
	}
}

// Close ends the server: its connections, its children, its goroutines.
func (s *Server) Close() {
	s.stop()
	s.begin.Do(func() { close(s.ended) })
	<-s.ended
	var closing sync.WaitGroup
	if c := s.conn.Load(); c != nil {
		closing.Go(c.Close)
	}
	s.mu.Lock()
	for c := range s.extra {
		closing.Go(c.Close)
	}
	s.mu.Unlock()
	closing.Wait()
	s.tasks.end()
	if ep := s.dial.endpoint; ep != nil {
		ep.transport.CloseIdleConnections()
	}
}
