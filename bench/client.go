package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// client speaks as much MCP over Streamable HTTP as measuring takes, and reads no
// more of an answer than it must: it shares the machine with what it measures.
type client struct {
	url  string
	http *http.Client
}

// callLimit is how long one request may take before the run is given up.
const callLimit = 30 * time.Second

// newClient makes a client that keeps as many connections as there are workers.
func newClient(url string, workers int) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true}
	return &client{url: url, http: &http.Client{Transport: transport, Timeout: callLimit}}
}

func (c *client) close() { c.http.CloseIdleConnections() }

// session is one client's session. It is used by one goroutine at a time.
type session struct {
	*client
	id  string
	buf bytes.Buffer
}

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1.0.0"}}}`
const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

func (c *client) open(ctx context.Context) (*session, error) {
	s := &session{client: c}
	if _, err := s.post(ctx, initialize); err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	if _, err := s.post(ctx, initialized); err != nil {
		return nil, fmt.Errorf("opening a session: %w", err)
	}
	return s, nil
}

func (s *session) request(ctx context.Context, method, body string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	return r, nil
}

// post sends one message and returns the body of the answer, valid until the next.
func (s *session) post(ctx context.Context, body string) ([]byte, error) {
	r, err := s.request(ctx, http.MethodPost, body)
	if err != nil {
		return nil, err
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was read to its end
	s.buf.Reset()
	if _, err := s.buf.ReadFrom(answer.Body); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	if answer.StatusCode >= 300 {
		return nil, fmt.Errorf("status %s: %.200s", answer.Status, s.buf.Bytes())
	}
	if id := answer.Header.Get("Mcp-Session-Id"); id != "" {
		s.id = id
	}
	return s.buf.Bytes(), nil
}

// end closes the session at its server.
func (s *session) end(ctx context.Context) error {
	r, err := s.request(ctx, http.MethodDelete, "")
	if err != nil {
		return err
	}
	answer, err := s.http.Do(r)
	if err != nil {
		return fmt.Errorf("ending a session: %w", err)
	}
	return answer.Body.Close()
}

// listen opens the session's GET stream; the returned function closes it.
func (s *session) listen(ctx context.Context) (func() error, error) {
	r, err := s.request(ctx, http.MethodGet, "")
	if err != nil {
		return nil, err
	}
	unlimited := &http.Client{Transport: s.http.Transport}
	answer, err := unlimited.Do(r)
	if err != nil {
		return nil, fmt.Errorf("opening a GET stream: %w", err)
	}
	if answer.StatusCode != http.StatusOK {
		answer.Body.Close() //nolint:errcheck // the status says it all
		return nil, fmt.Errorf("opening a GET stream: status %s", answer.Status)
	}
	return answer.Body.Close, nil
}

// list reads the one page of tools/list and counts its tools.
func (s *session) list(ctx context.Context) (tools, size int, err error) {
	body, err := s.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}`)
	if err != nil {
		return 0, 0, fmt.Errorf("listing: %w", err)
	}
	return bytes.Count(body, []byte(`"inputSchema":`)), len(body), nil
}

// tools waits until the server lists that many tools; a hub fetches its catalog in the background.
func (c *client) tools(ctx context.Context, want int) error {
	s, err := c.open(ctx)
	if err != nil {
		return err
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	limit := time.After(callLimit)
	for {
		got, _, err := s.list(ctx)
		if err != nil {
			return err
		}
		if got == want {
			return s.end(ctx)
		}
		select {
		case <-look.C:
		case <-limit:
			return fmt.Errorf("waiting for %d tools at %s: it lists %d", want, c.url, got)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drain reads a stream until it ends.
func drain(r io.Reader) { io.Copy(io.Discard, r) } //nolint:errcheck // its end is all that counts

// quote writes s as a JSON string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic("quoting a string: " + err.Error())
	}
	return string(b)
}
