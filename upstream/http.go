package upstream

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/config"
	"mcphub/wire"
)

// endpoint is what all connections to one HTTP server share: its URL, its headers, its TCP connections.
type endpoint struct {
	url  *url.URL
	host string // "" means that of the URL

	// The transport is used bare: a followed redirect would lose the body of a POST, and would carry the
	// server's credentials to another host.
	transport *http.Transport
	get, post http.Header // what every request of the method carries; not to be changed
	redact    *strings.Replacer
	max       int // bytes of one message
	log       *ring
}

func newEndpoint(cfg *config.Server, opt *Options, log *ring) *endpoint {
	header := http.Header{"User-Agent": {"mcphub/" + opt.Version}}
	u, err := url.Parse(cfg.URL)
	if err != nil {
		u = &url.URL{} // the transport says what is missing
	}
	if u.User != nil {
		password, _ := u.User.Password()
		header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+password)))
	}
	for k, v := range cfg.Headers {
		header.Set(k, v)
	}
	if cfg.BearerToken != "" && cfg.Auth != config.AuthNone {
		header.Set("Authorization", "Bearer "+cfg.BearerToken)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 0, 256
	transport.DialContext = (&net.Dialer{Timeout: cfg.ConnectTimeout, KeepAlive: 30 * time.Second}).DialContext
	ep := &endpoint{
		url: u, host: header.Get("Host"), transport: transport,
		get: header, post: header.Clone(), redact: log.redact, max: opt.maxMessage(), log: log,
	}
	ep.get.Set("Accept", "text/event-stream")
	ep.post.Set("Accept", "application/json, text/event-stream")
	ep.post.Set("Content-Type", "application/json")
	return ep
}

// request makes one HTTP request to u, with the configured headers. The header map may be added to, its
// values may not be changed.
func (ep *endpoint) request(ctx context.Context, method string, u *url.URL, body []byte) *http.Request {
	req := (&http.Request{
		Method: method, URL: u, Host: cmp.Or(ep.host, u.Host), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}).WithContext(ctx)
	if body == nil {
		req.Header = maps.Clone(ep.get)
		return req
	}
	req.Header = maps.Clone(ep.post)
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body = io.NopCloser(bytes.NewReader(body))
	return req
}

// httpLink speaks Streamable HTTP, in a session or stateless.
type httpLink struct {
	*endpoint
	conn    *Conn
	session atomic.Pointer[[]string] // the values of the session's header
	once    sync.Once                // starts the GET stream
}

func newHTTPConn(ep *endpoint, unclaimed func(*Conn, wire.Message)) *Conn {
	conn := newConn(unclaimed)
	conn.link, conn.pumps = &httpLink{endpoint: ep, conn: conn}, true
	return conn
}

// request makes one HTTP request of this connection.
func (l *httpLink) request(ctx context.Context, method string, body []byte) *http.Request {
	req := l.endpoint.request(ctx, method, l.url, body)
	if id := l.session.Load(); id != nil {
		req.Header[wire.HeaderSession] = *id
	}
	if v := l.conn.Version(); v != "" {
		req.Header[wire.HeaderVersion] = []string{v}
	}
	return req
}

// mirror adds the headers that repeat parts of a stateless request's body.
func (l *httpLink) mirror(h http.Header, x *exchange) {
	if !l.conn.Modern() {
		return
	}
	h[wire.HeaderMethod] = []string{x.call.Method}
	switch x.call.Method {
	case wire.ToolsCall, wire.PromptsGet:
		h[wire.HeaderName] = []string{HeaderValue(wire.String(wire.Get(x.call.Params, "name")))}
	case wire.ResourcesRead:
		h[wire.HeaderName] = []string{HeaderValue(wire.String(wire.Get(x.call.Params, "uri")))}
	default:
		if id := wire.Get(x.call.Params, "taskId"); id != nil {
			h[wire.HeaderName] = []string{HeaderValue(wire.String(id))}
		}
	}
	for name, value := range x.call.Headers {
		h.Set(wire.HeaderParam+name, value)
	}
}

// HeaderValue encodes a value for the Mcp-Name and Mcp-Param headers (MCP 2026-07-28, Streamable
// HTTP, Value Encoding): as it is where a header can carry it, else in base64 between markers.
func HeaderValue(s string) string {
	plain := strings.Trim(s, " \t") == s && !(strings.HasPrefix(s, "=?base64?") && strings.HasSuffix(s, "?="))
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] == '\t' || s[i] >= 0x20 && s[i] < 0x7f
	}
	if plain {
		return s
	}
	return "=?base64?" + base64.StdEncoding.EncodeToString([]byte(s)) + "?="
}

func (l *httpLink) roundTrip(ctx context.Context, x *exchange) (wire.Message, error) {
	m, err := l.exchange(ctx, x)
	if err == nil {
		return m, nil
	}
	if over := x.over(ctx); over != nil {
		if !l.conn.Modern() { // without a session, closing the stream has cancelled the request already
			x.cancel(over)
		}
		return m, over
	}
	if l.conn.ctx.Err() != nil {
		return m, l.conn.err
	}
	return m, err
}

// exchange posts a request and reads its answer. The HTTP request outlives ctx by the drain of its body,
// without which the TCP connection could not be used again.
func (l *httpLink) exchange(ctx context.Context, x *exchange) (wire.Message, error) {
	httpCtx, cancel, stop := requestContext(ctx, l.conn)
	defer stop()
	x.onExpire(cancel)
	req := l.request(httpCtx, http.MethodPost, x.body)
	l.mirror(req.Header, x)
	resp, err := l.transport.RoundTrip(req)
	if err != nil {
		cancel()
		return wire.Message{}, sendError(err)
	}
	if x.call.Method == wire.Initialize {
		if id := resp.Header.Get(wire.HeaderSession); id != "" {
			l.session.Store(&[]string{id})
		}
	}
	m, ended, err := l.answer(httpCtx, x, resp)
	if ended || err != nil || !stop() {
		resp.Body.Close()
		cancel()
		return m, err
	}
	x.onExpire(func() {})
	drain(l.conn, resp.Body, cancel)
	return m, nil
}

// requestContext makes the context of an HTTP request: it ends with the connection and, until stop is
// called, with ctx.
func requestContext(ctx context.Context, conn *Conn) (_ context.Context, cancel context.CancelFunc, stop func() bool) {
	httpCtx, cancel := context.WithCancel(conn.ctx)
	return httpCtx, cancel, context.AfterFunc(ctx, cancel)
}

// drainTime is how long a body may go on behind what was wanted of it and still keep its TCP connection.
const drainTime = time.Second

// drain reads a body to its end in the background; cancel ends its request.
func drain(conn *Conn, body io.ReadCloser, cancel func()) {
	read := func() {
		timer := time.AfterFunc(drainTime, cancel)
		defer timer.Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(body, 64<<10))
		_ = body.Close()
		cancel()
	}
	if body == http.NoBody || !conn.tasks.Go(read) {
		_ = body.Close()
		cancel()
	}
}

// answer reads the answer to x from a response; ended says that the body has been read to its end.
func (l *httpLink) answer(ctx context.Context, x *exchange, resp *http.Response) (m wire.Message, ended bool, err error) {
	if resp.StatusCode != http.StatusOK {
		m, err = l.refused(x, resp)
		return m, false, err
	}
	switch mediaType(resp) {
	case "text/event-stream":
		return l.events(ctx, x, resp)
	case "application/json":
		m, err = l.document(x, resp)
		return m, true, err
	}
	return m, false, fault(Garbled, nil, "answered with %q in place of JSON or an event stream: is url its MCP endpoint?", resp.Header.Get("Content-Type"))
}

func mediaType(resp *http.Response) string {
	t, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return t
}

// document reads an answer in one piece of JSON.
func (l *httpLink) document(x *exchange, resp *http.Response) (wire.Message, error) {
	if resp.ContentLength > int64(l.max) {
		return wire.Message{}, tooLarge(l.max)
	}
	buf := bytes.NewBuffer(make([]byte, 0, max(512, resp.ContentLength+bytes.MinRead)))
	n, err := buf.ReadFrom(io.LimitReader(resp.Body, int64(l.max)+1))
	if n > int64(l.max) {
		return wire.Message{}, tooLarge(l.max)
	}
	if err != nil {
		return wire.Message{}, fault(Lost, err, "the answer broke off")
	}
	for _, text := range messages(buf.Bytes()) {
		m, err := wire.Scan(text)
		if err != nil {
			return m, fault(Garbled, err, "the answer is no message")
		}
		if l.take(x, m) {
			return m, nil
		}
	}
	return wire.Message{}, fault(Garbled, nil, "the answer is for another request")
}

func tooLarge(limit int) *Error {
	return fault(TooLarge, nil, "the answer is over limits.maxMessageBytes (%d): raise it, or ask for less", limit)
}

// messages splits a batch; anything else is one message.
func messages(text []byte) [][]byte {
	if msgs, ok := wire.Batch(text); ok {
		return msgs
	}
	return [][]byte{text}
}

// take handles one message of x's own stream and says whether it was the answer.
func (l *httpLink) take(x *exchange, m wire.Message) bool {
	if !m.IsResponse() {
		if isListChange(m.Method) && x.call.Method != wire.Listen {
			l.conn.unclaimed(l.conn, m) // it is about more than the call whose stream it came on
		} else {
			x.handle(m)
		}
		return false
	}
	id, ok := wire.Int(m.ID)
	if ok && id == x.id || m.Error != nil && wire.IsNull(m.ID) {
		return true
	}
	l.conn.dispatch(m)
	return false
}

// sendError sorts what kept a response away.
func sendError(err error) error {
	var op *net.OpError
	notSent := errors.As(err, &op) && op.Op == "dial"
	kind := Lost
	if notSent {
		kind = Unavailable
	}
	e := fault(kind, err, "the request got no answer")
	e.NotSent = notSent
	return e
}

func (l *httpLink) post(ctx context.Context, msg []byte) error {
	httpCtx, cancel, stop := requestContext(ctx, l.conn)
	defer stop()
	req := l.request(httpCtx, http.MethodPost, wire.OneLine(msg))
	m, _ := wire.Scan(msg)
	if l.conn.Modern() && m.Method != "" {
		req.Header[wire.HeaderMethod] = []string{m.Method}
	}
	resp, err := l.transport.RoundTrip(req)
	if err != nil {
		cancel()
		return sendError(err)
	}
	defer drain(l.conn, resp.Body, cancel)
	if resp.StatusCode >= 300 {
		_, err := l.refused(nil, resp)
		return err
	}
	if m.Method == wire.Initialized {
		l.once.Do(func() { l.startListening(ctx) })
	}
	return nil
}

// close ends the session where there is one (MCP 2025-11-25, Session Management, point 5).
func (l *httpLink) close() {
	if l.session.Load() == nil || errors.Is(l.conn.Err(), errSessionLost) {
		return
	}
	ctx, cancel := context.WithTimeout(l.conn.ctx, endGrace)
	defer cancel()
	if resp, err := l.transport.RoundTrip(l.request(ctx, http.MethodDelete, nil)); err == nil {
		resp.Body.Close()
	}
}
