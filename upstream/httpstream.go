package upstream

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"mcphub/wire"
)

const (
	resumeWait  = time.Second // where the server asks for no other time
	resumeTries = 5           // streams in a row without a message before the answer is given up
	getWaitMax  = time.Minute
	longLived   = 10 * time.Second // a stream that lived so long ended for no fault of its server
)

// events reads the event stream of x up to its answer, resuming it where the server allows that.
func (l *httpLink) events(ctx context.Context, x *exchange, resp *http.Response) (wire.Message, bool, error) {
	lastID, wait := "", resumeWait
	for try := 0; ; try++ {
		er := wire.NewEventReader(resp.Body, l.max)
		m, got, err := l.untilAnswer(x, er, &wait)
		if er.LastID() != "" {
			lastID = er.LastID()
		}
		er.Close()
		switch {
		case got:
			return m, false, nil
		case errors.Is(err, wire.ErrTooLong):
			return m, false, tooLarge(l.max)
		case ctx.Err() != nil:
			return m, false, stopped(ctx)
		case lastID == "" || try == resumeTries:
			return m, false, fault(Lost, nil, "the event stream ended before the answer")
		}
		_ = resp.Body.Close()
		if resp, err = l.resume(ctx, lastID, wait); err != nil {
			return m, false, err
		}
		defer resp.Body.Close()
	}
}

// untilAnswer handles events until the answer to x or the end of the stream. Events that are no
// messages are noise and do no harm.
func (l *httpLink) untilAnswer(x *exchange, er *wire.EventReader, wait *time.Duration) (wire.Message, bool, error) {
	for {
		ev, err := er.Next()
		if err != nil {
			return wire.Message{}, false, err
		}
		if ev.Retry > 0 {
			*wait = ev.Retry
		}
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

// resume asks for the rest of a stream that ended early (MCP 2025-11-25, Resumability and Redelivery).
func (l *httpLink) resume(ctx context.Context, lastID string, wait time.Duration) (*http.Response, error) {
	if !sleep(ctx, wait) {
		return nil, stopped(ctx)
	}
	req, err := l.request(ctx, http.MethodGet, nil)
	if err != nil {
		return nil, err
	}
	req.Header["Accept"] = acceptEvents
	req.Header[headerLastID] = []string{lastID}
	resp, err := l.client.Do(req)
	if err != nil {
		return nil, fault(Lost, nil, "the event stream ended before the answer and could not be resumed")
	}
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		_ = resp.Body.Close()
		return nil, fault(Lost, nil, "the event stream ended before the answer; resuming it was refused with HTTP %d", resp.StatusCode)
	}
	return resp, nil
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

// listen holds the session's GET stream, on which a server sends what belongs to no call. It is a
// convenience: a server without one loses nothing but those messages.
func (l *httpLink) listen() {
	lastID, wait := "", resumeWait
	for {
		opened := time.Now()
		var more bool
		if lastID, more = l.getStream(lastID); !more {
			return
		}
		if time.Since(opened) > longLived {
			wait = resumeWait
		}
		if !sleep(l.ctx, wait) {
			return
		}
		wait = min(2*wait, getWaitMax)
	}
}

// getStream reads one GET stream to its end and says whether another one is worth a try.
func (l *httpLink) getStream(lastID string) (string, bool) {
	req, err := l.request(l.ctx, http.MethodGet, nil)
	if err != nil {
		return lastID, false
	}
	req.Header["Accept"] = acceptEvents
	if lastID != "" {
		req.Header[headerLastID] = []string{lastID}
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return lastID, l.ctx.Err() == nil
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		return lastID, resp.StatusCode >= 500 || resp.StatusCode == http.StatusConflict
	}
	er := wire.NewEventReader(resp.Body, l.max)
	defer er.Close()
	for {
		ev, err := er.Next()
		if err != nil {
			if er.LastID() != "" {
				lastID = er.LastID()
			}
			return lastID, l.ctx.Err() == nil || errors.Is(err, io.EOF)
		}
		for _, text := range messages(ev.Data) {
			if m, err := wire.Scan(text); err == nil {
				l.conn.dispatch(m)
			}
		}
	}
}
