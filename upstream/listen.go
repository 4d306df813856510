package upstream

import (
	"context"
	"slices"
	"time"

	"mcphub/wire"
)

// ackTime is how long a stateless server may take to acknowledge a subscription before it counts as subscribed.
const ackTime = 2 * time.Second

// listening is one subscriptions/listen to a stateless server.
type listening struct {
	cancel context.CancelFunc
	acked  chan struct{} // closed when the server has acknowledged it
	ended  chan struct{} // closed when it is over
	answer Answer        // then
}

// listen keeps a subscription to all that is wanted for as long as the connection lives: another one after every
// change of the wishes and, with growing pauses, one after every end.
func (w *Wishes) listen(conn *Conn) {
	_, apart := conn.link.(*httpLink) // every request has a stream of its own, so the next can begin before the last ends
	var last *listening
	defer func() {
		if last != nil {
			last.cancel()
		}
	}()
	for failures := 0; conn.Err() == nil; {
		uris, _, news := w.now()
		if last != nil && !apart { // go-sdk's servers drop what the next one wants if they end this one after it
			last.cancel()
			<-last.ended
		}
		asked := time.Now()
		next := w.startListening(conn, listenFilter(wire.Get(conn.Greeting, "capabilities"), uris))
		w.acknowledged(next, uris)
		if last != nil {
			last.cancel()
		}
		last = next
		select {
		case <-news:
			failures = 0
			continue
		case <-conn.Done():
			return
		case <-next.ended:
		}
		if failures++; time.Since(asked) > longLived {
			failures = 1
		}
		if code, _ := wire.ErrorOf(next.answer.Error); code == wire.CodeMethodNotFound || !sleep(w.s.ctx, backoff(failures)) {
			return
		}
		w.s.unclaimed(conn, wire.Message{Method: wire.ToolsChanged}) // one may have been missed
	}
}

// startListening subscribes. A nil filter subscribes to nothing, which never ends.
func (w *Wishes) startListening(conn *Conn, filter []byte) *listening {
	ctx, cancel := context.WithCancel(w.s.ctx)
	l := &listening{cancel: cancel, acked: make(chan struct{}), ended: make(chan struct{})}
	if filter == nil {
		close(l.acked)
		context.AfterFunc(ctx, func() { close(l.ended) })
		return l
	}
	acked := false
	sink := notices(func(m wire.Message) {
		switch {
		case m.Method != wire.Acknowledged:
			w.s.unclaimed(conn, m)
		case !acked:
			acked = true
			close(l.acked)
		}
	})
	w.s.tasks.Go(func() {
		defer close(l.ended)
		l.answer, _ = conn.Call(ctx, &Call{Method: wire.Listen, Params: filter, Sink: sink, own: true})
	})
	return l
}

// acknowledged waits until the server has heard of l, and lets those know who wait for that.
func (w *Wishes) acknowledged(l *listening, uris []string) {
	timer := time.NewTimer(ackTime)
	defer timer.Stop()
	select {
	case <-l.acked:
	case <-l.ended:
	case <-timer.C:
	case <-w.s.ctx.Done():
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acked = uris
	close(w.heard)
	w.heard = make(chan struct{})
}

// awaitAck returns when a stateless server has acknowledged a subscription to uri, or does not in time.
func (w *Wishes) awaitAck(ctx context.Context, conn *Conn, uri string) {
	timer := time.NewTimer(ackTime)
	defer timer.Stop()
	for {
		w.mu.Lock()
		known, heard := slices.Contains(w.acked, uri), w.heard
		w.mu.Unlock()
		if known {
			return
		}
		select {
		case <-heard:
		case <-timer.C:
			return
		case <-conn.Done():
			return
		case <-ctx.Done():
			return
		}
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
