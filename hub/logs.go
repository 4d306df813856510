package hub

import (
	"context"
	"slices"
	"sync"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// levels of log messages, lowest first (RFC 5424 by MCP, Logging).
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// logs keeps the levels of log messages that clients want.
type logs struct{ *Hub }

// setLevel keeps a session's level and asks the servers for the lowest that any session wants.
func (h logs) setLevel(ctx context.Context, r *Request) Answer {
	level := wire.String(wire.Get(r.Msg.Params, "level"))
	if !slices.Contains(levels, level) {
		return invalid("logging/setLevel: unknown level " + level)
	}
	r.Client.mu.Lock()
	r.Client.level = level
	var telling sync.WaitGroup
	for _, own := range r.Client.conns {
		telling.Go(func() { own.setLevel(level) })
	}
	r.Client.mu.Unlock()
	told := h.lowerLevel()
	all := make(chan struct{})
	h.tasks.Go(func() {
		telling.Wait()
		<-told
		close(all)
	})
	timer := time.NewTimer(levelWait)
	defer timer.Stop()
	select {
	case <-all:
	case <-timer.C:
	case <-ctx.Done():
	}
	return Answer{Result: []byte("{}")}
}

// levelWait is how long logging/setLevel waits for the servers to know, so that the next call is logged as
// wanted. One that is slower hears of it later.
const levelWait = 500 * time.Millisecond

// setLevel has the server log for the session from a level on, now or when it is connected to.
func (o *ownConn) setLevel(level string) {
	l := levelRequest(level)
	o.remember(l)
	o.mu.Lock()
	conn := o.conn
	o.mu.Unlock()
	if conn != nil {
		_, _ = conn.Call(context.Background(), o.request(l)) // a server that has no logging refuses
	}
}

func levelRequest(level string) lasting {
	return lasting{wire.SetLevel, wire.Splice(nil, wire.Edit{Key: "level", Value: wire.Quote(level)})}
}

// lowerLevel tells the servers in the background the lowest level that any session wants. What it returns is
// closed when all of them have been told.
func (h logs) lowerLevel() <-chan struct{} {
	told := make(chan struct{})
	lowest := ""
	h.mu.Lock()
	for c := range h.clients {
		c.mu.Lock()
		if c.level != "" && (lowest == "" || slices.Index(levels, c.level) < slices.Index(levels, lowest)) {
			lowest = c.level
		}
		c.mu.Unlock()
	}
	h.mu.Unlock()
	if old := h.level.Swap(&lowest); lowest == "" || old != nil && *old == lowest {
		close(told)
		return told
	}
	var telling sync.WaitGroup
	for _, s := range fleet(h).everyone() {
		telling.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), s.Config().RequestTimeout)
			defer cancel()
			s.Wishes().SetLevel(ctx, lowest)
		})
	}
	h.tasks.Go(func() {
		telling.Wait()
		close(told)
	})
	return told
}

// lowerFor has a session server log from the level that a stateless request asks for. Other requests are not told more
// than they ask for.
func (h logs) lowerFor(ctx context.Context, r *Request, s *upstream.Server, conn *upstream.Conn) {
	if !r.modern() || conn.Modern() {
		return
	}
	level := wire.String(wire.Path(r.Msg.Params, "_meta", wire.MetaLogLevel))
	if least := slices.Index(levels, level); least >= 0 {
		if now := s.Wishes().Level(); now == "" || least < slices.Index(levels, now) {
			s.Wishes().SetLevel(ctx, level)
		}
	}
}

// logLevel is what the session asked for by logging/setLevel, "" before.
func (c *Client) logLevel() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.level
}

// wantsLog says whether a call's client wants a log message. A stateless client says so in each request.
func (r *Request) wantsLog(m wire.Message) bool {
	level := wire.String(wire.Path(r.Msg.Params, "_meta", wire.MetaLogLevel))
	if !r.modern() {
		if level = r.Client.logLevel(); level == "" {
			return true
		}
	} else if level == "" {
		return false
	}
	least := slices.Index(levels, level)
	return least >= 0 && slices.Index(levels, wire.String(wire.Get(m.Params, "level"))) >= least
}

// background passes on what a server logs while it works for nobody, to the sessions that have asked for logs.
func (h logs) background(s *upstream.Server, m wire.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if r := (&Request{Client: c}); h.sees(c, s) && c.logLevel() != "" && r.wantsLog(m) {
			c.push(m.Raw)
		}
	}
}

// ownNotice takes what belongs to no call on a connection that is one client's.
func (h logs) ownNotice(c *Client, s *upstream.Server, m wire.Message) {
	r := &Request{Client: c}
	switch {
	case m.IsRequest():
		// The connection has one client, so there is no doubt whom it asks. That one may have left meanwhile.
		own := apartness(h).connOf(c, s)
		h.tasks.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), s.Config().RequestTimeout)
			defer cancel()
			conn, err := own.get(ctx)
			if err != nil {
				return // the question has gone with its connection
			}
			if carry := (&callSink{h: h.Hub, r: r, s: s, ctx: ctx}).put(conn, m); carry != nil {
				carry()
			} else if !decline(conn, m) {
				conn.Refuse(m)
			}
		})
	case m.Method == wire.ToolsChanged, m.Method == wire.PromptsChanged, m.Method == wire.ResourcesChanged:
		s.Refresh(true)
	case m.Method == wire.ResourceUpdated:
		subscriptions(h).updatedFor(c, s, m)
	case m.Method == wire.LogMessage && !r.wantsLog(m) || c.Push == nil:
	case m.Method == wire.LogMessage, m.Method == wire.TaskStatus, m.Method == wire.ElicitationComplete:
		c.Push(m.Raw)
	}
}
