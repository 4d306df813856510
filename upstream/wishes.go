package upstream

import (
	"context"
	"slices"
	"sync"

	"mcphub/wire"
)

// Wishes are what the hub's clients want of a server beyond calls. They outlive its connections.
type Wishes struct {
	s *Server

	mu    sync.Mutex // guards the rest
	uris  map[string]*wish
	level string        // lowest level of log messages that somebody wants; "" for no wish
	news  chan struct{} // closed and replaced when other resources are wanted
	acked []string      // what a stateless server has last been asked to tell of, and has acknowledged
	heard chan struct{} // closed and replaced when it acknowledges
}

// wish is a resource whose changes somebody wants to hear of, or whose subscription is being ended.
type wish struct {
	subscribers int
	told        bool          // the server knows of it
	busy        chan struct{} // closed when whoever is telling the server has done so; nil: nobody is
}

func newWishes(s *Server) *Wishes {
	return &Wishes{s: s, uris: map[string]*wish{}, news: make(chan struct{}), heard: make(chan struct{})}
}

// Subscribe has the server tell of changes of a resource, and returns when it does. Every success must be met by one
// Unsubscribe.
func (w *Wishes) Subscribe(ctx context.Context, uri string) (Answer, error) {
	w.count(uri, 1)
	answer, err := w.settle(ctx, uri)
	if err != nil || answer.Error != nil {
		w.count(uri, -1)
	}
	return answer, err
}

// Unsubscribe takes one Subscribe back.
func (w *Wishes) Unsubscribe(ctx context.Context, uri string) (Answer, error) {
	w.count(uri, -1)
	return w.settle(ctx, uri)
}

// count counts subscribers in or out.
func (w *Wishes) count(uri string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	it := w.uris[uri]
	if it == nil {
		it = &wish{}
		w.uris[uri] = it
	}
	before := it.subscribers
	it.subscribers = max(before+n, 0)
	if before == 0 || it.subscribers == 0 {
		close(w.news)
		w.news = make(chan struct{})
	}
	w.drop(uri, it)
}

// drop forgets a wish that nobody has and of which the server does not know; mu is held.
func (w *Wishes) drop(uri string, it *wish) {
	if it.subscribers == 0 && !it.told && it.busy == nil {
		delete(w.uris, uri)
	}
}

// settle returns when the server knows whether somebody wants to hear of uri. It is told by one at a time, so that
// what it hears last is what holds.
func (w *Wishes) settle(ctx context.Context, uri string) (Answer, error) {
	for {
		w.mu.Lock()
		it := w.uris[uri]
		if it == nil || it.busy == nil && it.told == (it.subscribers > 0) {
			w.mu.Unlock()
			return Answer{Result: []byte("{}")}, nil
		}
		if busy := it.busy; busy != nil {
			w.mu.Unlock()
			select {
			case <-busy:
			case <-ctx.Done():
				return Answer{}, w.s.dial.named(stopped(ctx))
			}
			continue
		}
		it.busy = make(chan struct{})
		wanted := it.subscribers > 0
		w.mu.Unlock()
		answer, err := w.tell(ctx, uri, wanted)
		w.mu.Lock()
		// A server that could not be told of an end is not told again; what it says then is for nobody.
		it.told = wanted && err == nil && answer.Error == nil
		close(it.busy)
		it.busy = nil
		w.drop(uri, it)
		w.mu.Unlock()
		return answer, err
	}
}

// tell tells a session server. A stateless one hears it by the next subscriptions/listen.
func (w *Wishes) tell(ctx context.Context, uri string, wanted bool) (Answer, error) {
	conn, err := w.s.Connect(ctx)
	switch {
	case err != nil:
		return Answer{}, err
	case conn.Modern():
		if wanted {
			w.awaitAck(ctx, conn, uri)
		}
		return Answer{Result: []byte("{}")}, nil
	}
	method := wire.ResourceUnsubscribe
	if wanted {
		method = wire.ResourcesSubscribe
	}
	sink := notices(func(m wire.Message) { w.s.unclaimed(conn, m) })
	return w.s.Call(ctx, &Call{Method: method, Sink: sink, Params: wire.Splice(nil, wire.Edit{Key: "uri", Value: wire.Quote(uri)})})
}

// now returns the present wishes and what is closed when other resources are wanted.
func (w *Wishes) now() (uris []string, level string, news <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uri, it := range w.uris {
		if it.subscribers > 0 {
			uris = append(uris, uri)
		}
	}
	slices.Sort(uris)
	return uris, w.level, w.news
}

// any says whether somebody is subscribed to anything.
func (w *Wishes) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, it := range w.uris {
		if it.subscribers > 0 {
			return true
		}
	}
	return false
}

// Level is the level that was last asked for, "" before.
func (w *Wishes) Level() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.level
}

// SetLevel asks the server for log messages from that level on, now and after every reconnect. A server
// that has no logging is not asked.
func (w *Wishes) SetLevel(ctx context.Context, level string) {
	w.mu.Lock()
	w.level = level
	w.mu.Unlock()
	if conn := w.s.conn.Load(); conn != nil && conn.Err() == nil {
		w.tellLevel(ctx, conn, level)
	}
}

func (w *Wishes) tellLevel(ctx context.Context, conn *Conn, level string) {
	if level == "" || conn.Modern() || wire.IsNull(wire.Path(conn.Greeting, "capabilities", "logging")) {
		return
	}
	_, _ = conn.Call(ctx, &Call{Method: wire.SetLevel, own: true, Timeout: w.s.cfg.RequestTimeout,
		Params: wire.Splice(nil, wire.Edit{Key: "level", Value: wire.Quote(level)})})
}

// restore brings a new connection up to the wishes, and keeps up a stateless server's subscription.
func (w *Wishes) restore(conn *Conn) {
	if conn.Modern() {
		w.listen(conn)
		return
	}
	uris, level, _ := w.now()
	w.tellLevel(w.s.ctx, conn, level)
	for _, uri := range uris {
		_, _ = conn.Call(w.s.ctx, &Call{Method: wire.ResourcesSubscribe, own: true, Timeout: w.s.cfg.RequestTimeout,
			Params: wire.Splice(nil, wire.Edit{Key: "uri", Value: wire.Quote(uri)})})
	}
}
