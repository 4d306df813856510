package upstream

import (
	"context"
	"slices"
	"sync"
	"time"

	"mcphub/wire"
)

// Wishes are what the hub's clients want of a server beyond calls. They outlive its connections.
type Wishes struct {
	s *Server

	mu    sync.Mutex     // guards the rest
	uris  map[string]int // subscribed resources, with the number of their subscribers
	level string         // lowest level of log messages that somebody wants; "" for no wish
	news  chan struct{}  // closed and replaced when the resources change
}

// Subscribe has the server tell of changes of a resource. Every success must be met by one Unsubscribe.
func (w *Wishes) Subscribe(ctx context.Context, uri string) (Answer, error) {
	if !w.add(uri, 1) {
		return Answer{Result: []byte("{}")}, nil
	}
	answer, err := w.tellSubscription(ctx, wire.ResourcesSubscribe, uri)
	if err != nil || answer.Error != nil {
		w.add(uri, -1)
	}
	return answer, err
}

// Unsubscribe takes one Subscribe back.
func (w *Wishes) Unsubscribe(ctx context.Context, uri string) (Answer, error) {
	if !w.add(uri, -1) {
		return Answer{Result: []byte("{}")}, nil
	}
	return w.tellSubscription(ctx, wire.ResourceUnsubscribe, uri)
}

// tellSubscription tells a session server; a stateless one hears it by the next subscriptions/listen.
func (w *Wishes) tellSubscription(ctx context.Context, method, uri string) (Answer, error) {
	conn, err := w.s.Connect(ctx)
	if err != nil || conn.Modern() {
		return Answer{Result: []byte("{}")}, err
	}
	return w.s.Call(ctx, &Call{Method: method, Params: wire.Splice(nil, wire.Edit{Key: "uri", Value: wire.Quote(uri)})})
}

// add counts a subscriber in or out and says whether that was the first or the last one.
func (w *Wishes) add(uri string, n int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.uris[uri]
	if before+n < 0 {
		return false
	}
	w.uris[uri] = before + n
	if w.uris[uri] == 0 {
		delete(w.uris, uri)
	}
	edge := before == 0 || before+n == 0
	if edge {
		close(w.news)
		w.news = make(chan struct{})
	}
	return edge
}

// now returns the present wishes and what is closed when the resources change.
func (w *Wishes) now() (uris []string, level string, news <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for uri := range w.uris {
		uris = append(uris, uri)
	}
	slices.Sort(uris)
	return uris, w.level, w.news
}

// any says whether somebody is subscribed to anything.
func (w *Wishes) any() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.uris) > 0
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
	_, _ = conn.Call(ctx, &Call{Method: wire.SetLevel, Timeout: w.s.cfg.RequestTimeout,
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
		_, _ = conn.Call(w.s.ctx, &Call{Method: wire.ResourcesSubscribe, Timeout: w.s.cfg.RequestTimeout,
			Params: wire.Splice(nil, wire.Edit{Key: "uri", Value: wire.Quote(uri)})})
	}
}

// listen holds subscriptions/listen open for as long as the connection lives: anew after every change of
// the wishes and, with growing pauses, after every end.
func (w *Wishes) listen(conn *Conn) {
	for failures := 0; conn.Err() == nil; {
		uris, _, news := w.now()
		filter := listenFilter(wire.Get(conn.Greeting, "capabilities"), uris)
		if filter == nil { // there is nothing to listen to yet
			select {
			case <-news:
			case <-conn.Done():
			case <-w.s.ctx.Done():
				return
			}
			continue
		}
		asked := time.Now()
		answer, changed := w.listenOnce(conn, filter, news)
		if changed {
			failures = 0
			continue
		}
		if failures++; time.Since(asked) > longLived {
			failures = 1
		}
		if answer.Error != nil || !sleep(w.s.ctx, backoff(failures)) {
			return
		}
		w.s.unclaimed(conn, wire.Message{Method: wire.ToolsChanged}) // one may have been missed
	}
}

// listenOnce holds one subscription; changed says that it was given up for a change of the wishes.
func (w *Wishes) listenOnce(conn *Conn, filter []byte, news <-chan struct{}) (answer Answer, changed bool) {
	ctx, cancel := context.WithCancel(w.s.ctx)
	defer cancel()
	w.s.tasks.Go(func() {
		select {
		case <-news:
			cancel()
		case <-ctx.Done():
		}
	})
	sink := notices(func(m wire.Message) { w.s.unclaimed(conn, m) })
	answer, _ = conn.Call(ctx, &Call{Method: wire.Listen, Params: filter, Sink: sink})
	select {
	case <-news:
		return answer, true
	default:
		return answer, w.s.ctx.Err() != nil
	}
}

// listenFilter is the params of a subscription to all that the server tells of, nil for nothing.
func listenFilter(capabilities []byte, uris []string) []byte {
	var wanted []wire.Edit
	for _, kind := range []struct{ capability, member string }{
		{"tools", "toolsListChanged"}, {"prompts", "promptsListChanged"}, {"resources", "resourcesListChanged"},
	} {
		if string(wire.Path(capabilities, kind.capability, "listChanged")) == "true" {
			wanted = append(wanted, wire.Edit{Key: kind.member, Value: []byte("true")})
		}
	}
	if len(uris) > 0 {
		list := []byte{'['}
		for i, uri := range uris {
			if i > 0 {
				list = append(list, ',')
			}
			list = append(list, wire.Quote(uri)...)
		}
		wanted = append(wanted, wire.Edit{Key: "resourceSubscriptions", Value: append(list, ']')})
	}
	if wanted == nil {
		return nil
	}
	return wire.Splice(nil, wire.Edit{Key: "notifications", Value: wire.Splice(nil, wanted...)})
}
