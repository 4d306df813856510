package testmcp_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"mcphub/internal/testmcp"
)

// httpProofs show, by a raw client, what a misbehaviour over Streamable HTTP does.
var httpProofs = map[string]func(t *testing.T){
	"stateless": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "stateless"))
		a := b.post(call("echo", `{}`))
		if a.status != http.StatusOK || a.header.Get("Mcp-Session-Id") != "" {
			t.Errorf("status %d, session %q; want an answer without a session", a.status, a.header.Get("Mcp-Session-Id"))
		}
	},
	"json-answers": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "json-answers"))
		b.handshake()
		a := b.post(call("progress", `{"n":2}`))
		if !json.Valid([]byte(a.body)) || a.header.Get("Content-Type") != "application/json" {
			t.Errorf("the answer is %q, want one JSON object", a.body)
		}
	},
	"bearer": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "bearer:s3cret"))
		a := b.post(initialize)
		has(t, a.header.Get("WWW-Authenticate"), "Bearer")
		if a := b.post(initialize, "Authorization", "Bearer s3cret"); a.status != http.StatusOK {
			t.Errorf("with the token: status %d", a.status)
		}
	},
	"session-expires": func(t *testing.T) {
		s := testmcp.HTTP(t, "session-expires:30")
		b := browse(t, s)
		b.handshake()
		for until := time.Now().Add(patience); s.Sessions() > 0 && time.Now().Before(until); {
			browse(t, s).do(http.MethodGet, "") // any request makes it look
		}
		if a := b.post(call("echo", `{}`)); a.status != http.StatusNotFound {
			t.Errorf("status %d after the session expired, want 404", a.status)
		}
	},
	"404-once-after-restart": func(t *testing.T) { sessionGone(t, "404-once-after-restart", http.StatusNotFound, "Session not found") },
	"400-session-gone": func(t *testing.T) {
		sessionGone(t, "400-session-gone", http.StatusBadRequest, "Bad Request: No valid session ID provided")
	},
	"html-200":         statusProof("html-200", http.StatusOK, "<!DOCTYPE html>"),
	"400":              statusProof("400", http.StatusBadRequest, "Bad Request"),
	"401":              statusProof("401", http.StatusUnauthorized, "invalid_token"),
	"403":              statusProof("403", http.StatusForbidden, "Forbidden"),
	"404-always":       statusProof("404-always", http.StatusNotFound, "404 page not found"),
	"405":              statusProof("405", http.StatusMethodNotAllowed, "Method Not Allowed"),
	"413":              statusProof("413", http.StatusRequestEntityTooLarge, "Too Large"),
	"429":              statusProof("429", http.StatusTooManyRequests, "Too Many Requests"),
	"500":              statusProof("500", http.StatusInternalServerError, "Internal Server Error"),
	"500-rpc":          statusProof("500-rpc", http.StatusInternalServerError, `"detail":"disk full"`),
	"502-html":         statusProof("502-html", http.StatusBadGateway, "<h1>502"),
	"503-retry-after":  statusProof("503-retry-after", http.StatusServiceUnavailable, "Service Unavailable"),
	"202-for-call":     statusProof("202-for-call", http.StatusAccepted, ""),
	"empty-200":        statusProof("empty-200", http.StatusOK, ""),
	"redirect":         statusProof("redirect", http.StatusTemporaryRedirect, ""),
	"redirect-302":     statusProof("redirect-302", http.StatusFound, ""),
	"broken-json":      statusProof("broken-json", http.StatusOK, `"id":7`),
	"slow-loris":       slowLoris,
	"echo-auth-header": statusProof("echo-auth-header", http.StatusUnauthorized, "Authorization: Bearer tok"),
	"redirect-away": func(t *testing.T) {
		s := testmcp.HTTP(t, "redirect-away")
		b := browse(t, s)
		b.client.CheckRedirect = nil
		b.post(initialize)
		if away := s.Log.Of(testmcp.EventAway); len(away) != 1 || away[0].Body != initialize {
			t.Errorf("the other origin saw %v, want the request", away)
		}
	},
	"get-405": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "get-405"))
		b.handshake()
		if a := b.do(http.MethodGet, ""); a.status != http.StatusMethodNotAllowed {
			t.Errorf("GET: status %d, want 405", a.status)
		}
	},
	"huge-headers": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "huge-headers"))
		b.handshake()
		size := 0
		for k, v := range b.post(call("echo", `{}`)).header {
			size += len(k) + len(v[0])
		}
		if size < 2<<20 {
			t.Errorf("%d bytes of headers, want 2 MiB", size)
		}
	},
	"hang-at-connect": func(t *testing.T) {
		s := testmcp.HTTP(t, "hang-at-connect")
		hangs(t, browse(t, s), http.MethodPost, initialize)
		if s.Connections() != 1 {
			t.Errorf("%d connections are open, want the one that hangs", s.Connections())
		}
	},
	"hang-at-get": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "hang-at-get"))
		b.handshake()
		hangs(t, b, http.MethodGet, "")
	},
	"hang": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "hang"))
		b.handshake()
		hangs(t, b, http.MethodPost, call("echo", `{}`))
	},
	"gzip": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "gzip"))
		b.handshake()
		a := b.post(call("echo", `{}`))
		z, err := gzip.NewReader(strings.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		has(t, string(plain), `"id":7`)
	},
	"json-cut":       cutProof("json-cut"),
	"sse-half-event": cutProof("sse-half-event"),
	"cuts-mid-call": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "cuts-mid-call"))
		b.handshake()
		file := t.TempDir() + "/calls"
		r := b.request(http.MethodPost, call("append", fmt.Sprintf(`{"file":%q}`, file)))
		r.GetBody = nil // net/http would send it again by itself
		if answer, err := b.client.Do(r); err == nil {
			t.Errorf("status %d, want a cut connection", answer.StatusCode)
		}
		oneCall(t, file)
	},
	"sse-broken-data":        bodyProof("sse-broken-data", "data: {not json\n\n", `"id":7`),
	"sse-no-colon":           bodyProof("sse-no-colon", "nocolon\ndata\n\n", `"id":7`),
	"sse-comments-and-retry": bodyProof("sse-comments-and-retry", ": hello\n", "retry: 1000\n", "event: ping\n", `"id":7`),
	"sse-bom":                bodyProof("sse-bom", "\ufeffevent: message\n"),
	"sse-crlf":               bodyProof("sse-crlf", "event: message\r\ndata: {", "}\r\n\r\n"),
	"sse-cr":                 bodyProof("sse-cr", "event: message\rdata: {", "}\r\r"),
	"sse-no-space":           bodyProof("sse-no-space", "data:{\"jsonrpc\""),
	"sse-many-data-lines":    bodyProof("sse-many-data-lines", "data: {\ndata:   \"jsonrpc\": \"2.0\",\n"),
	"sse-ends-early": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "sse-ends-early"))
		b.handshake()
		if got := b.post(call("echo", `{}`)).body; strings.Contains(got, `"id":7`) {
			t.Errorf("the stream holds the answer: %q", got)
		}
	},
	"sse-lingers": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "sse-lingers"))
		b.handshake()
		e := b.listen(http.MethodPost, call("echo", `{}`))
		has(t, e.next(), `"id":7`)
		select {
		case got, open := <-e.all:
			t.Errorf("got %q, open %v; want an open stream", got, open)
		case <-time.After(silence):
		}
	},
	"sse-reconnect": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "sse-reconnect"))
		b.handshake()
		has(t, b.post(call("echo", `{}`)).body, "id: kept-1\nretry: 10\ndata: \n\n")
		has(t, b.do(http.MethodGet, "", "Last-Event-ID", "kept-1").body, `"id":7`)
	},
	"get-closes-fast": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "get-closes-fast"))
		b.handshake()
		b.listen(http.MethodGet, "").ended()
	},
	"get-drops-at-call": func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, "get-drops-at-call"))
		b.handshake()
		e := b.listen(http.MethodGet, "")
		b.post(call("echo", `{}`))
		e.ended()
	},
	"answer-on-get": func(t *testing.T) {
		s := testmcp.HTTP(t, "answer-on-get")
		b := browse(t, s)
		b.handshake()
		e := b.listen(http.MethodGet, "")
		s.Log.WaitKind(t, testmcp.EventStream, 1)
		if a := b.post(call("echo", `{}`)); a.status != http.StatusAccepted {
			t.Errorf("status %d, want 202", a.status)
		}
		has(t, e.next(), `"id":7`)
	},
}

func slowLoris(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "slow-loris"))
	b.handshake()
	r, err := b.client.Do(b.request(http.MethodPost, call("echo", `{}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	begun := time.Now()
	if _, err := io.ReadFull(r.Body, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begun); took < 200*time.Millisecond {
		t.Errorf("four bytes took %v, want 100 ms between each", took)
	}
}

// statusProof shows the status of a request that the misbehaviour happens at.
func statusProof(name string, status int, body string) func(*testing.T) {
	return func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, name+":tools/call"))
		b.handshake()
		a := b.post(call("echo", `{}`), "Authorization", "Bearer tok")
		if a.status != status {
			t.Errorf("status %d, want %d", a.status, status)
		}
		has(t, a.body, body)
		switch status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			has(t, a.header.Get("Retry-After"), "1")
		case http.StatusTemporaryRedirect, http.StatusFound:
			has(t, a.header.Get("Location"), "/moved")
			b.url = strings.TrimSuffix(b.url, "/mcp") + "/moved"
			has(t, b.post(call("echo", `{}`)).body, `"id":7`)
		}
		if name == "broken-json" && json.Valid([]byte(a.body)) {
			t.Errorf("the body is valid JSON: %s", a.body)
		}
		if name == "401" {
			has(t, a.header.Get("WWW-Authenticate"), "resource_metadata=")
		}
	}
}

// bodyProof shows what the body of the answer to a call holds.
func bodyProof(name string, wants ...string) func(*testing.T) {
	return func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, name))
		b.handshake()
		has(t, b.post(call("echo", `{}`)).body, wants...)
	}
}

// cutProof shows that the body of the answer to a call breaks off.
func cutProof(name string) func(*testing.T) {
	return func(t *testing.T) {
		b := browse(t, testmcp.HTTP(t, name))
		b.handshake()
		if a := b.post(call("echo", `{}`)); a.err == nil {
			t.Errorf("the body %q is whole, want it cut", a.body)
		}
	}
}

func sessionGone(t *testing.T, name string, status int, body string) {
	t.Helper()
	s := testmcp.HTTP(t, name)
	b := browse(t, s)
	b.handshake()
	a := b.post(call("echo", `{}`))
	if a.status != status {
		t.Errorf("status %d, want %d", a.status, status)
	}
	has(t, a.body, body)
	b.session = ""
	b.handshake()
	has(t, b.post(call("echo", `{}`)).body, `"id":7`)
}

// hangs shows that a request gets no answer while a client waits for a moment.
func hangs(t *testing.T, b *browser, method, body string) {
	t.Helper()
	b.client.Timeout = silence
	if a, err := b.try(method, body); err == nil {
		t.Errorf("status %d, want no answer", a.status)
	}
}

// oneCall checks that the tool append ran once.
func oneCall(t *testing.T, file string) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != "called\n" {
		t.Errorf("the file holds %q, want one call", got)
	}
}
