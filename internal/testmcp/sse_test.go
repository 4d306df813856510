package testmcp_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
)

// sseProofs show, by a raw client, what a misbehaviour over HTTP+SSE does.
var sseProofs = map[string]func(t *testing.T){
	"endpoint-relative":     endpointProof("endpoint-relative", "messages?session_id="),
	"endpoint-absolute":     endpointProof("endpoint-absolute", "http://127.0.0.1:"),
	"endpoint-other-origin": endpointProof("endpoint-other-origin", "http://127.0.0.1:"),
	"endpoint-missing": func(t *testing.T) {
		e := browse(t, testmcp.SSE(t, "endpoint-missing")).listen(http.MethodGet, "")
		select {
		case got := <-e.all:
			t.Errorf("got %q, want nothing", got)
		default:
		}
	},
	"sse-405": streamURLProof("sse-405", http.StatusMethodNotAllowed),
	"sse-404": streamURLProof("sse-404", http.StatusNotFound),
	"sse-400": streamURLProof("sse-400", http.StatusBadRequest),
	"sse-drops": func(t *testing.T) {
		s := testmcp.SSE(t, "sse-drops")
		b := browse(t, s)
		e := b.listen(http.MethodGet, "")
		b.url = resolve(t, s.URL, e.next())
		s.Log.WaitKind(t, testmcp.EventStream, 1)
		b.post(call("echo", `{}`))
		e.ended()
	},
}

func resolve(t *testing.T, base, ref string) string {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	r, err := u.Parse(ref)
	if err != nil {
		t.Fatal(err)
	}
	return r.String()
}

func endpointProof(name, begins string) func(*testing.T) {
	return func(t *testing.T) {
		s := testmcp.SSE(t, name)
		b := browse(t, s)
		e := b.listen(http.MethodGet, "")
		endpoint := e.next()
		if !strings.HasPrefix(endpoint, begins) {
			t.Fatalf("endpoint %q, want it to begin with %q", endpoint, begins)
		}
		b.url = resolve(t, s.URL, endpoint)
		own := b.url[:len("http://127.0.0.1:")+5] == s.URL[:len("http://127.0.0.1:")+5]
		b.post(initialize)
		if name == "endpoint-other-origin" {
			if own || len(s.Log.Of(testmcp.EventAway)) != 1 {
				t.Errorf("endpoint %s of %s, want another origin, and a request there", b.url, s.URL)
			}
			return
		}
		has(t, e.next(), `"protocolVersion":"2024-11-05"`)
	}
}

func streamURLProof(name string, status int) func(*testing.T) {
	return func(t *testing.T) {
		if a := browse(t, testmcp.SSE(t, name)).post(initialize); a.status != status {
			t.Errorf("status %d, want %d", a.status, status)
		}
	}
}

func TestSSECarriesCallsAndQuestions(t *testing.T) {
	s := testmcp.SSE(t, "well")
	b := browse(t, s)
	e := b.listen(http.MethodGet, "")
	stream := b.url
	b.url = resolve(t, s.URL, e.next())
	if a := b.post(initialize); a.status != http.StatusAccepted || a.body != "" {
		t.Errorf("status %d, body %q; want 202 and nothing", a.status, a.body)
	}
	e.next()
	b.post(call("ask", `{}`))
	has(t, e.next(), `"method":"elicitation/create"`)
	b.post(`{"jsonrpc":"2.0","id":1,"result":{"action":"decline"}}`)
	has(t, e.next(), `"got":[{"action":"decline"}]`)
	s.Grow("later")
	has(t, e.next(), "notifications/tools/list_changed")
	b.url = stream
	if a := b.post(initialize); a.status != http.StatusMethodNotAllowed {
		t.Errorf("POST to the stream: status %d, want 405", a.status)
	}
}
