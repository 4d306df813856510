package upstream

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mcphub/wire"
)

// sseLink speaks the HTTP+SSE transport of protocol version 2024-11-05: everything from the server
// comes on one GET stream, everything to it is a POST to the endpoint that the stream names.
type sseLink struct {
	*endpoint
	conn   *Conn
	target *url.URL
}

// dialSSE opens the stream and waits for the endpoint event.
func dialSSE(ctx context.Context, ep *endpoint, unclaimed func(*Conn, wire.Message)) (*Conn, error) {
	conn := newConn(unclaimed)
	l := &sseLink{endpoint: ep, conn: conn}
	conn.link = l
	stop := context.AfterFunc(ctx, conn.stop)
	er, body, err := l.open()
	if err != nil {
		conn.stop()
		return nil, err
	}
	conn.tasks.Go(func() { l.readAll(er, body) })
	if !stop() {
		conn.Close()
		return nil, stopped(ctx)
	}
	return conn, nil
}

// open asks for the stream and reads the endpoint event.
func (l *sseLink) open() (*wire.EventReader, io.Closer, error) {
	resp, err := l.transport.RoundTrip(l.request(l.conn.ctx, http.MethodGet, l.url, nil))
	if err != nil {
		return nil, nil, sendError(err)
	}
	if !isStream(resp) {
		defer resp.Body.Close()
		return nil, nil, l.statusError(resp, readError(resp))
	}
	er := wire.NewEventReader(resp.Body, l.max)
	if l.target, err = l.awaitEndpoint(er); err != nil {
		er.Close()
		resp.Body.Close()
		return nil, nil, err
	}
	return er, resp.Body, nil
}

func (l *sseLink) awaitEndpoint(er *wire.EventReader) (*url.URL, error) {
	for {
		ev, err := er.Next()
		if err != nil {
			return nil, fault(Unavailable, nil, "its event stream ended before the endpoint event")
		}
		if ev.Type == "endpoint" {
			return sameOrigin(l.url, string(bytes.TrimSpace(ev.Data)))
		}
	}
}

// sameOrigin resolves an endpoint against the stream's URL. One on another origin is refused: it would
// carry the hub's credentials to wherever the server likes.
func sameOrigin(base *url.URL, ref string) (*url.URL, error) {
	u, err := base.Parse(ref)
	if err != nil {
		return nil, fault(Garbled, nil, "its endpoint event holds no URL")
	}
	if origin(u) != origin(base) {
		return nil, fault(Garbled, nil, "its endpoint is on another origin (%s), which is refused", origin(u))
	}
	return u, nil
}

// origin is the scheme, host and port of a URL (RFC 6454, section 4).
func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

func (l *sseLink) readAll(er *wire.EventReader, body io.Closer) {
	defer body.Close()
	defer er.Close()
	for {
		ev, err := er.Next()
		if err != nil {
			l.conn.fail(&Error{Text: "its event stream ended", Err: err})
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

// roundTrip posts the request beside the wait for its answer, which may come before the POST is done.
func (l *sseLink) roundTrip(ctx context.Context, x *exchange) (wire.Message, error) {
	postCtx, cancel := context.WithCancel(l.conn.ctx)
	l.conn.tasks.Go(func() {
		defer cancel()
		if err := l.post(postCtx, x.body); err != nil {
			x.fail(asError(err))
		}
	})
	m, err := x.await(ctx)
	if err == nil {
		time.AfterFunc(drainTime, cancel)
		return m, nil
	}
	cancel()
	if over := x.over(ctx); over != nil {
		x.cancel(over)
		return m, over
	}
	return m, err
}

func (l *sseLink) post(ctx context.Context, msg []byte) error {
	httpCtx, cancel, stop := requestContext(ctx, l.conn)
	defer stop()
	resp, err := l.transport.RoundTrip(l.request(httpCtx, http.MethodPost, l.target, wire.OneLine(msg)))
	if err != nil {
		cancel()
		return sendError(err)
	}
	defer drain(l.conn, resp.Body, cancel)
	if resp.StatusCode >= 300 {
		return l.statusError(resp, readError(resp))
	}
	return nil
}

// close does nothing: the stream ends with the connection's context.
func (*sseLink) close() {}
