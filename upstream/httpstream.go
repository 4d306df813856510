package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"mcphub/wire"
)

const (
	resumeWait  = time.Second // where the server asks for no other time
	resumeTries = 5           // attempts in a row that brought nothing before the answer is given up
	getWaitMax  = time.Minute
	longLived   = 10 * time.Second // a stream that lived so long ended for no fault of its server
)

// reading is how far the event stream of a call has been read.
type reading struct {
	lastID string
	wait   time.Duration // before it is resumed
	news   bool          // something came since it was last resumed
	held   bool          // the server has given the stream before
}

func (r *reading) note(ev wire.Event) {
	if ev.ID != "" && ev.ID != r.lastID {
		r.lastID, r.news = ev.ID, true
	}
	if ev.Retry > 0 {
		r.wait = ev.Retry
	}
	r.news = r.news || len(ev.Data) > 0
}

// events reads the event stream of x up to its answer, resuming it where the server allows that: it may
// end a stream at any time and go on with another (MCP 2025-11-25, Sending Messages, point 6).
func (l *httpLink) events(ctx context.Context, x *exchange, resp *http.Response) (wire.Message, bool, error) {
	r := reading{wait: resumeWait}
	m, got, err := l.untilAnswer(x, resp.Body, &r)
	for tries := 0; !got; {
		var refused *Error
		switch {
		case errors.As(err, &refused):
			return m, false, refused
		case errors.Is(err, wire.ErrTooLong):
			return m, false, tooLarge(l.max)
		case r.lastID == "" || tries == resumeTries:
			return m, false, fault(Lost, nil, "the event stream ended before the answer")
		case !sleep(ctx, r.wait<<tries):
			return m, false, stopped(ctx)
		}
		r.news = false
		m, got, err = l.resume(ctx, x, &r)
		if tries++; r.news {
			tries = 0
		}
	}
	return m, false, nil
}

// untilAnswer handles events until the answer to x or the end of the body. Events that are no messages are
// noise and do no harm.
func (l *httpLink) untilAnswer(x *exchange, body io.Reader, r *reading) (wire.Message, bool, error) {
	er := wire.NewEventReader(body, l.max)
	defer er.Close()
	for {
		ev, err := er.Next()
		if err != nil {
			return wire.Message{}, false, err
		}
		r.note(ev)
		if len(ev.Data) == 0 {
			if x.call.Sink != nil {
				x.call.Sink.Prime(ev.Retry)
			}
			continue
		}
		if m, ok := l.eventMessages(x, ev); ok {
			return m, true, nil
		}
	}
}

// eventMessages handles the messages of one event and returns the answer to x if it is there.
func (l *httpLink) eventMessages(x *exchange, ev wire.Event) (wire.Message, bool) {
	if ev.Type != "" && ev.Type != "message" {
		return wire.Message{}, false
	}
	for _, text := range messages(ev.Data) {
		m, err := wire.Scan(text)
		if err != nil {
			l.log.add(append([]byte("event stream: "), text...))
			continue
		}
		if l.take(x, m) {
			return m, true
		}
	}
	return wire.Message{}, false
}

// resume reads the rest of a stream that ended early (MCP 2025-11-25, Resumability and Redelivery). The
// error is an *[Error] where the server refuses that.
func (l *httpLink) resume(ctx context.Context, x *exchange, r *reading) (wire.Message, bool, error) {
	resp, err := l.stream(ctx, r.lastID)
	if err != nil {
		return wire.Message{}, false, err
	}
	defer resp.Body.Close()
	if !isStream(resp) {
		return wire.Message{}, false, fault(Lost, nil, "the event stream ended before the answer; resuming it was refused with HTTP %d", resp.StatusCode)
	}
	return l.untilAnswer(x, resp.Body, r)
}

// stream asks for an event stream by GET, from lastID on where that is not "".
func (l *httpLink) stream(ctx context.Context, lastID string) (*http.Response, error) {
	req := l.request(ctx, http.MethodGet, nil)
	if lastID != "" {
		req.Header[wire.HeaderLastID] = []string{lastID}
	}
	return l.transport.RoundTrip(req)
}

func isStream(resp *http.Response) bool {
	return resp.StatusCode == http.StatusOK && mediaType(resp) == "text/event-stream"
}

// sleep waits for d and says whether ctx let it.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// openWait is how long the first call of a session waits for the GET stream: some servers send their questions
// there, and lose them while there is none.
const openWait = 300 * time.Millisecond

// startListening opens the GET stream and waits until the server has answered to that, or took too long.
func (l *httpLink) startListening(ctx context.Context) {
	answered := make(chan struct{})
	if !l.conn.tasks.Go(func() { l.listen(sync.OnceFunc(func() { close(answered) })) }) {
		return
	}
	timer := time.NewTimer(openWait)
	defer timer.Stop()
	select {
	case <-answered:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// listen holds the session's GET stream, on which a server sends what belongs to no call. It is a
// convenience: a server without one loses nothing but those messages. answered is called once the server
// has said whether there is one.
func (l *httpLink) listen(answered func()) {
	defer answered()
	r := reading{wait: resumeWait}
	for idle := 0; ; idle++ {
		opened := time.Now()
		r.news = false
		if !l.getStream(&r, answered) {
			return
		}
		if r.news || time.Since(opened) > longLived {
			idle = 0
		}
		if !sleep(l.conn.ctx, min(r.wait<<min(idle, 8), getWaitMax)) {
			return
		}
	}
}

// refusalMost is how much of a refusal is looked at.
const refusalMost = 4 << 10

// getStream reads one GET stream to its end and says whether another one is worth a try.
func (l *httpLink) getStream(r *reading, answered func()) bool {
	resp, err := l.stream(l.conn.ctx, r.lastID)
	answered()
	if err != nil {
		return true
	}
	defer resp.Body.Close()
	if !isStream(resp) {
		body, _ := io.ReadAll(io.LimitReader(resp.Body, refusalMost))
		if r.held && sessionGone(resp.StatusCode, body) { // it has started anew
			l.conn.fail(&Error{Kind: Lost, Text: errSessionLost.Error(), Status: resp.StatusCode, Err: errSessionLost})
			return false
		}
		return resp.StatusCode >= 500 || resp.StatusCode == http.StatusConflict || resp.StatusCode == http.StatusTooManyRequests
	}
	r.held = true
	er := wire.NewEventReader(resp.Body, l.max)
	defer er.Close()
	for {
		ev, err := er.Next()
		if err != nil {
			return true
		}
		r.note(ev)
		for _, text := range messages(ev.Data) {
			if m, err := wire.Scan(text); err == nil {
				l.conn.dispatch(m)
			}
		}
	}
}
