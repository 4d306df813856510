package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"mcphub/wire"
)

// client is one client of the hub, in a session or, when stateless, without. It speaks no more MCP than the soak takes,
// and looks at every byte that comes in. One goroutine uses it, besides the one that reads its stream.
type client struct {
	url       string
	http      *http.Client
	watch     *watch
	stateless bool
	session   string // the id, "" before initialize
}

// answerLimit is how long an answer may take. Without one by then, the hub has lost the call.
const answerLimit = 60 * time.Second

// maxEvent is above what any message here has.
const maxEvent = 1 << 20

// nonces are in what a client sends, and so in what comes back. Each is used for one call, or for one subscription.
var nonces = regexp.MustCompile(`nonce-\d+-end`)

// errFailed is the hub's or a server's own error, as opposed to no answer.
var errFailed = errors.New("answered with an error")

const capabilities = `{"elicitation":{"form":{}}}`

// open begins a session.
func (c *client) open(ctx context.Context) error {
	if c.stateless {
		return nil
	}
	nonce := c.watch.nonce()
	params := `{"protocolVersion":"` + wire.V20251125 + `","capabilities":` + capabilities + `,"clientInfo":{"name":"soak","version":"1"}}`
	if _, err := c.request(ctx, wire.Initialize, []byte(params), nonce); err != nil {
		return err
	}
	return c.tell(ctx, wire.Initialized, nil)
}

// close ends the session: what stays behind would be kept by the hub for an hour, as it should.
func (c *client) close() {
	if c.session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
	defer cancel()
	if resp, err := c.do(ctx, http.MethodDelete, nil); err == nil {
		resp.Body.Close() //nolint:errcheck // nothing is in it
	}
}

// request sends one request and returns its result. On the way it answers questions.
func (c *client) request(ctx context.Context, method string, params []byte, nonce string) ([]byte, error) {
	answer, err := c.round(ctx, method, params, nonce)
	for err == nil && wire.String(wire.Get(answer, "resultType")) == "input_required" {
		responses := []byte("{}")
		for key := range wire.Members(wire.Get(answer, "inputRequests")) {
			responses = wire.Splice(responses, wire.Edit{Key: string(key), Value: reply(nonce)})
		}
		again := wire.Splice(params, wire.Edit{Key: "inputResponses", Value: responses},
			wire.Edit{Key: "requestState", Value: wire.Get(answer, "requestState")})
		answer, err = c.round(ctx, method, again, nonce)
	}
	return answer, err
}

// round is one request and the answer to it.
func (c *client) round(ctx context.Context, method string, params []byte, nonce string) ([]byte, error) {
	resp, err := c.do(ctx, http.MethodPost, c.message(method, params, nonce))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	if id := resp.Header.Get(wire.HeaderSession); id != "" {
		c.session = id
	}
	var answer *wire.Message
	err = c.read(resp, nonce, func(m wire.Message) bool {
		switch {
		case m.IsResponse():
			answer = &m
		case m.IsRequest():
			c.post(ctx, wire.AppendResult(nil, m.ID, reply(nonce)))
		}
		return answer != nil
	})
	switch {
	case answer == nil && err == nil:
		return nil, fmt.Errorf("%w: HTTP %s without a message", errFailed, resp.Status)
	case answer == nil:
		return nil, err
	case wire.String(answer.ID) != nonce && answer.Error == nil:
		c.watch.violated("%s got the answer to %s: %.300s", nonce, answer.ID, answer.Raw)
	case answer.Error != nil:
		_, text := wire.ErrorOf(answer.Error)
		return nil, fmt.Errorf("%w: %s", errFailed, text)
	}
	return answer.Result, nil
}

// reply is what the user says to every question.
func reply(nonce string) []byte {
	return []byte(`{"action":"accept","content":{"name":"` + nonce + `"}}`)
}

// listen reads messages outside of calls into got until ctx ends. All that may come belongs to one resource, which has
// the nonce in its URI.
func (c *client) listen(ctx context.Context, uri, nonce string, got func(wire.Message)) error {
	method, body := http.MethodGet, []byte(nil)
	if c.stateless {
		params := []byte(`{"notifications":{"resourceSubscriptions":["` + uri + `"]}}`)
		method, body = http.MethodPost, c.message(wire.Listen, params, nonce)
	}
	resp, err := c.do(ctx, method, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // only read
	return c.read(resp, nonce, func(m wire.Message) bool { got(m); return false })
}

// read takes the messages of a response, until done, and holds the nonces in them against the one that they may have.
func (c *client) read(resp *http.Response, nonce string, done func(wire.Message) bool) error {
	next := func() ([]byte, error) { return io.ReadAll(resp.Body) }
	stream := strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	if stream {
		events := wire.NewEventReader(resp.Body, maxEvent)
		defer events.Close()
		next = func() ([]byte, error) { e, err := events.Next(); return e.Data, err }
	}
	for {
		raw, err := next()
		if err != nil {
			return fmt.Errorf("reading the answer: %w", err)
		}
		for _, found := range nonces.FindAllString(string(raw), -1) {
			if found != nonce {
				c.watch.violated("%s got what belongs to %s: %.300s", nonce, found, raw)
			}
		}
		if len(raw) > 0 {
			m, err := wire.Scan(bytes.Clone(raw))
			if err != nil {
				return fmt.Errorf("%w: HTTP %s, %.100s", errFailed, resp.Status, raw)
			}
			if done(m) {
				return nil
			}
		}
		if !stream {
			return nil
		}
	}
}

// message is a request with what its era adds to it. Its nonce is its id and its progress token as well.
func (c *client) message(method string, params []byte, nonce string) []byte {
	meta := []byte(`{"progressToken":"` + nonce + `"}`)
	if c.stateless {
		meta = wire.Splice(meta, wire.Edit{Key: wire.MetaVersion, Value: wire.Quote(wire.V20260728)},
			wire.Edit{Key: wire.MetaCapabilities, Value: []byte(capabilities)})
	}
	return wire.AppendRequest(nil, wire.Quote(nonce), method, wire.Splice(params, wire.Edit{Key: "_meta", Value: meta}))
}

// tell sends a notification.
func (c *client) tell(ctx context.Context, method string, params []byte) error {
	return c.post(ctx, wire.AppendNotification(nil, method, params))
}

// post sends what has no answer.
func (c *client) post(ctx context.Context, body []byte) error {
	resp, err := c.do(ctx, http.MethodPost, body)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (c *client) do(ctx context.Context, method string, body []byte) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	switch {
	case c.stateless:
		m, err := wire.Scan(body)
		if err != nil {
			return nil, err
		}
		r.Header.Set(wire.HeaderVersion, wire.V20260728)
		r.Header.Set(wire.HeaderMethod, m.Method)
		for _, key := range []string{"name", "uri"} {
			if value := wire.String(wire.Get(m.Params, key)); value != "" {
				r.Header.Set(wire.HeaderName, value)
			}
		}
	case c.session != "":
		r.Header.Set(wire.HeaderSession, c.session)
		r.Header.Set(wire.HeaderVersion, wire.V20251125)
	}
	return c.http.Do(r)
}
