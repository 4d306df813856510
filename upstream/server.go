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
	// Accept says why a server may not be used that offers this, for good; nil: all may.
	Accept func(*Offer) error
	// OnNotice is told of a notification on the shared connection that belongs to no call. It must not block.
	OnNotice func(*Server, *Conn, wire.Message)
	// OnAsk gets a request on the shared connection whose call cannot be made out, and says whether it
	// will answer. It must not block.
	OnAsk func(*Server, *Conn, wire.Message) bool
	// Starts bounds how many servers are connected in the background at once; nil means no bound.
	Starts chan struct{}

	// Processes bounds the programs that live at a time; nil means no bound.
	Processes *Processes
	// CatalogDir is the directory that keeps what servers offer, made where it is missing; "" keeps nothing.
	CatalogDir string

	// PingEvery is the time between two pings of a keep-alive server; 0 means 30 s.
	PingEvery time.Duration
	// CoolDown is how long a suspended server is left alone before it is tried again; 0 means a minute.
	CoolDown time.Duration
}

func (o *Options) maxMessage() int { return cmp.Or(o.MaxMessage, 64<<20) }

// Server is one configured server. Its goroutine owns the shared connection; everything that others
// read is published by atomic pointer.
type Server struct {
	*ring // what it printed outside the protocol
	connections

	cfg    *config.Server
	opt    *Options
	dial   *dialer
	status atomic.Pointer[Status]
	offer  atomic.Pointer[Offer]
	file   catalogFile            // keeps it
	barred atomic.Pointer[Status] // what the server offers is not accepted

	// Unattributed counts the server's questions that the hub declined because they could have been for several clients.
	Unattributed atomic.Int64

	troubled  atomic.Bool  // the state is what a call has met, until another one meets better
	refreshAt atomic.Int64 // when the lists have to be read again though nobody has said so, in Unix nanoseconds; 0: never

	first  chan struct{} // closed when the first offer, or the first failure to get one, is known
	settle func()        // closes first, once

	wants  chan want
	yields chan yielding
	stale  chan struct{}        // a list has changed; holds one token
	reads  chan chan<- struct{} // told, by being closed, when no list is being read
	begin  sync.Once            // starts the goroutine, or sees that it never will
	ended  chan struct{}        // closed when the goroutine has ended
	ctx    context.Context
	stop   context.CancelFunc
	tasks  tasks
	wish   *Wishes
}

// NewServer prepares a server; Start starts its goroutine.
func NewServer(cfg *config.Server, opt *Options) *Server {
	redact := newRedactor(cfg.Secrets)
	s := &Server{
		cfg: cfg, opt: opt, ring: &ring{redact: redact}, first: make(chan struct{}), connections: connections{extra: map[*Conn]struct{}{}},
		wants: make(chan want), yields: make(chan yielding), stale: make(chan struct{}, 1), reads: make(chan chan<- struct{}), ended: make(chan struct{}),
	}
	s.wish = newWishes(s)
	s.settle = sync.OnceFunc(func() { close(s.first) })
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.dial = &dialer{cfg: cfg, opt: opt, log: s.ring, redact: redact, tasks: &s.tasks}
	if cfg.Type != config.TypeStdio {
		s.dial.endpoint = newEndpoint(cfg, opt, s.ring)
	}
	if state, reason := standstill(cfg); state != "" {
		s.setStatus(Status{State: state, Reason: reason})
		s.settle()
		return s
	}
	s.setStatus(Status{State: StateIdle})
	recall(s)
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

func (o *Options) changed(s *Server) {
	if o.OnChange != nil {
		o.OnChange(s)
	}
}

// Start starts the server's goroutine and connects in the background where the offer is not known, or lifecycle asks for it.
func (s *Server) Start() {
	s.begin.Do(func() {
		s.started.Store(time.Now().UnixNano())
		if s.unusable() != nil {
			close(s.ended)
			return
		}
		k := &keeper{s: s, results: make(chan dialed), offers: make(chan offered), breaker: breaker{cool: s.opt.CoolDown}}
		s.opt.Processes.join(s)
		go k.run()
		s.tasks.Go(func() { prefetch(s) })
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
	return s.want(ctx, false)
}

// want waits for the shared connection, anew for another one than there is.
func (s *Server) want(ctx context.Context, anew bool) (*Conn, error) {
	w := want{reply: make(chan dialed, 1), anew: anew}
	select {
	case s.wants <- w:
	case <-s.ended:
		return nil, shutDown()
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

// Reconnect ends the shared connection, forgets what has failed before, and connects at once. Calls in flight have a short
// while to end. The error, an *[Error], says what came of it, or why the server may not run.
func (s *Server) Reconnect(ctx context.Context) error {
	s.barred.Store(nil)
	if err := s.unusable(); err != nil {
		return s.dial.named(err)
	}
	if _, err := s.want(ctx, true); err != nil {
		return s.dial.named(err)
	}
	return nil
}

// unusable says why the configuration keeps the server from running, and what mends that; nil where it may run.
func (s *Server) unusable() *Error {
	if state, _ := standstill(s.cfg); state == "" && s.barred.Load() == nil {
		return nil
	}
	st := s.Status()
	return &Error{Kind: Removed, Text: fmt.Sprintf("is %s: %s; next: %s", st.State, st.Reason, st.Fix), NotSent: true}
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
	s.opt.Processes.leave(s)
	var closing sync.WaitGroup
	for _, c := range s.all() {
		closing.Go(c.Close)
	}
	closing.Wait()
	s.tasks.end()
	if ep := s.dial.endpoint; ep != nil {
		ep.transport.CloseIdleConnections()
	}
}
