package upstream

import (
	"bytes"
	"context"
	"net/http"
	"net/url"

	"mcphub/wire"
)

// sseLink speaks the HTTP+SSE transport of protocol version 2024-11-05: everything from the server
// comes on one GET stream, everything to it is a POST to the endpoint that the stream names.
type sseLink struct {
	*endpoint
	conn   *Conn
	target string
	cancel context.CancelFunc
	read   chan struct{}
}

// dialSSE opens the stream and waits for the endpoint event.
func dialSSE(ctx context.Context, ep *endpoint, unclaimed func(wire.Message)) (*Conn, error) {
	streamCtx, cancel := context.WithCancel(context.Background())
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	req, err := ep.request(streamCtx, http.MethodGet, ep.url, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header["Accept"] = acceptEvents
	resp, err := ep.client.Do(req)
	if err != nil {
		cancel()
		return nil, sendError(err)
	}
	conn := newConn(unclaimed)
	l := &sseLink{endpoint: ep, conn: conn, cancel: cancel, read: make(chan struct{})}
	conn.link = l
	if resp.StatusCode != http.StatusOK || mediaType(resp) != "text/event-stream" {
		defer cancel()
		defer resp.Body.Close()
		return nil, ep.statusError(resp, readError(resp))
	}
	er := wire.NewEventReader(resp.Body, ep.max)
	if l.target, err = l.awaitEndpoint(er); err == nil && !stop() {
		err = stopped(ctx)
	}
	if err != nil {
		er.Close()
		resp.Body.Close()
		cancel()
		return nil, err
	}
	go l.readAll(er, resp)
	return conn, nil
}

func (l *sseLink) awaitEndpoint(er *wire.EventReader) (string, error) {
	for {
		ev, err := er.Next()
		if err != nil {
			return "", fault(Unavailable, nil, "its event stream ended before the endpoint event")
		}
		if ev.Type == "endpoint" {
			return sameOrigin(l.url, string(bytes.TrimSpace(ev.Data)))
		}
	}
}

// sameOrigin resolves an endpoint against the stream's URL. One on another origin is refused: it would
// carry the hub's credentials to wherever the server likes.
func sameOrigin(base, ref string) (string, error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", fault(Unavailable, nil, "the url cannot be used")
	}
	u, err := b.Parse(ref)
	if err != nil {
		return "", fault(Garbled, nil, "its endpoint event holds no URL")
	}
	if u.Scheme != b.Scheme || u.Host != b.Host {
		return "", fault(Garbled, nil, "its endpoint is on another origin (%s://%s), which is refused", u.Scheme, u.Host)
	}
	return u.String(), nil
}

func (l *sseLink) readAll(er *wire.EventReader, resp *http.Response) {
	defer close(l.read)
	defer resp.Body.Close()
	defer er.Close()
	for {
		ev, err := er.Next()
		if err != nil {
			l.conn.fail(&Error{Kind: Lost, Text: "its event stream ended", Err: err})
			return
		}
		for _, text := range messages(ev.Data) {
			m, err := wire.Scan(text)
			if err != nil {
				l.log.add(append([]byte("event stream: "), text...))
				continue
			}
			l.conn.dispatch(m)
		}
	}
}

func (l *sseLink) roundTrip(ctx context.Context, x *exchange) (wire.Message, error) {
	postCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	x.onExpire(cancel)
	if err := l.post(postCtx, x.body); err != nil {
		if over := x.over(ctx); over != nil {
			return wire.Message{}, over
		}
		return wire.Message{}, err
	}
	return l.conn.awaitAnswer(ctx, x)
}

func (l *sseLink) post(ctx context.Context, msg []byte) error {
	req, err := l.request(ctx, http.MethodPost, l.target, wire.OneLine(msg))
	if err != nil {
		return err
	}
	resp, err := l.client.Do(req)
	if err != nil {
		return sendError(err)
	}
	defer drain(resp.Body, func() {})
	if resp.StatusCode >= 300 {
		return l.statusError(resp, readError(resp))
	}
	return nil
}

func (l *sseLink) close() {
	l.cancel()
	<-l.read
}
