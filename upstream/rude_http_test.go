package upstream_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
)

const secretToken = "tok-5f2e9c1ab7d34e60"

// withToken gives the entry a bearer token.
func withToken(cfg *config.Server) {
	cfg.BearerToken, cfg.Secrets = secretToken, []string{secretToken}
}

var rudeWebs = []rude{
	{name: "html-200", kind: upstream.Garbled, text: `answered with "text/html; charset=utf-8" in place of JSON or an event stream: is url its MCP endpoint?`},
	{name: "html-200:tools/call", kind: upstream.Garbled, text: "text/html"},
	{name: "400", kind: upstream.Refused, text: "answered HTTP 400 Bad Request: Bad Request"},
	{name: "401", kind: upstream.NeedsAuth, text: "answered HTTP 401 Unauthorized: set bearerTokenEnv", then: challenged},
	{name: "401:tools/call", kind: upstream.NeedsAuth, text: "401", then: challenged},
	{name: "403", kind: upstream.NeedsAuth, text: "answered HTTP 403 Forbidden"},
	{name: "404-always", kind: upstream.Refused, text: "answered HTTP 404 Not Found"},
	{name: "404-always:tools/call", kind: upstream.Lost, text: "the server no longer knows the session", then: initializes(2)},
	{name: "405", kind: upstream.Refused, text: "answered HTTP 405 Method Not Allowed"},
	{name: "get-405", kind: works},
	{name: "413", kind: upstream.Refused, text: "answered HTTP 413 Request Entity Too Large", then: once},
	{name: "429", kind: upstream.Busy, text: "is busy (HTTP 429 Too Many Requests), try again in 1s", then: retryAfterOneSecond},
	{name: "503-retry-after", kind: upstream.Busy, text: "is busy (HTTP 503 Service Unavailable), try again in 1s", then: retryAfterOneSecond},
	{name: "503-retry-after:initialize", kind: upstream.Busy, text: "try again in 1s"},
	{name: "500", kind: upstream.Refused, text: "answered HTTP 500 Internal Server Error: Internal Server Error", then: once},
	{name: "500-rpc", kind: answered, text: `{"code":-32603,"message":"Internal error","data":{"detail":"disk full"}}`, then: once},
	{name: "502-html", kind: upstream.Refused, text: "answered HTTP 502 Bad Gateway", then: func(t *testing.T, m met) {
		if strings.Contains(m.err.Error(), "nginx") {
			t.Errorf("%v repeats the page", m.err)
		}
	}},
	{name: "202-for-call", kind: upstream.Garbled, text: "accepted the request (HTTP 202 Accepted) without an answer", then: once},
	{name: "empty-200", kind: upstream.Garbled, text: "in place of JSON or an event stream"},
	{name: "echo-auth-header", change: withToken, kind: upstream.NeedsAuth, text: "401", then: hidesToken},
	{name: "redirect", kind: upstream.Refused, text: "redirects (HTTP 307 Temporary Redirect): put the address it redirects to into url"},
	{name: "redirect-302", kind: upstream.Refused, text: "redirects (HTTP 302 Found)"},
	{name: "redirect-away", change: withToken, kind: upstream.Refused, text: "redirects", then: func(t *testing.T, m met) {
		if away := m.log.Of(testmcp.EventAway); len(away) > 0 {
			t.Errorf("%d requests went to the other origin", len(away))
		}
	}},
	{name: "huge-headers", kind: works, text: "after large headers"},
	{name: "gzip", kind: works},
	{name: "hang-at-connect", change: impatient, kind: upstream.Unavailable, text: "did not finish the MCP handshake within 700ms"},
	{name: "hang-at-get", kind: works},
	{name: "hang", change: soon, kind: upstream.Timeout, text: "no answer in time", then: once},
	{name: "mute:initialize", change: impatient, kind: upstream.Unavailable, text: "did not finish the MCP handshake"},
	{name: "mute:tools/call", change: soon, kind: upstream.Timeout, text: "no answer in time", then: once},
	{name: "slow-loris", change: soon, kind: upstream.Timeout, text: "no answer in time", then: once},
	{name: "json-cut", kind: upstream.Lost, text: "the answer broke off", then: once},
	{name: "cuts-mid-call", kind: upstream.Lost, text: "the request got no answer", then: once},
	{name: "broken-json", kind: upstream.Garbled, text: "the answer is no message", then: once},
	{name: "sse-broken-data", kind: works, then: func(t *testing.T, m met) {
		has(t, strings.Join(m.server.Logs(10), "\n"), "event stream: {not json")
	}},
	{name: "sse-ends-early", kind: upstream.Lost, text: "the event stream ended before the answer", then: once},
	{name: "sse-half-event", kind: upstream.Lost, text: "the event stream ended before the answer", then: once},
	{name: "sse-no-colon", kind: works},
	{name: "sse-comments-and-retry", kind: works},
	{name: "sse-crlf", kind: works},
	{name: "sse-cr", kind: works},
	{name: "sse-bom", kind: works},
	{name: "sse-many-data-lines", kind: works},
	{name: "sse-no-space", kind: works},
	{name: "sse-lingers", kind: works},
	{name: "sse-reconnect", kind: works, then: once},
	{name: "get-closes-fast", kind: works},
	{name: "get-drops-at-call", kind: works, then: func(t *testing.T, m met) {
		eventually(t, "the GET stream to come back", func() bool { return m.web.Streams() > 0 })
	}},
	{name: "answer-on-get", kind: upstream.Garbled, text: "HTTP 202 Accepted", then: once},
	{name: "string-ids", kind: works},
	{name: "duplicate-answers", kind: works},
	{name: "unknown-answer-ids", kind: works},
	{name: "unknown-answer-ids+json-answers", kind: upstream.Garbled, text: "the answer is no message"},
	{name: "wrong-ids", kind: upstream.Lost, text: "the event stream ended before the answer"},
	{name: "wrong-ids+json-answers", kind: upstream.Garbled, text: "the answer is for another request"},
	{name: "batch-answers", kind: works},
	{name: "batch-answers+json-answers", kind: works},
	{name: "null-result", kind: works, text: "null"},
	{name: "no-result+json-answers", kind: upstream.Garbled, text: "the answer is no message"},
	{name: "error-data", kind: answered, text: testmcp.ErrorData},
	{name: "well", max: 1 << 20, tool: "big", args: `{"bytes":1100000}`, kind: upstream.TooLarge, text: "over limits.maxMessageBytes (1048576)"},
	{name: "json-answers", max: 1 << 20, tool: "big", args: `{"bytes":1100000}`, kind: upstream.TooLarge, text: "over limits.maxMessageBytes (1048576)"},
	{name: "line-17mb", kind: works, then: listsOne},
	{name: "repeats-cursor", kind: works, then: repeatedCursor},
	{name: "list-changed-storm", kind: works, then: storm},
	{name: "404-once-after-restart", kind: works, then: initializes(2)},
	{name: "400-session-gone", kind: works, then: initializes(2)},
}

func challenged(t *testing.T, m met) {
	e := asError(t, m.err)
	if e.Status != http.StatusUnauthorized {
		t.Errorf("status %d", e.Status)
	}
	has(t, e.Challenge, "resource_metadata=")
	settled(t, m.server) // a list that works would be the newer news
	if _, err := callTool(m.server, "echo", ""); err == nil {
		t.Error("a second call worked")
	}
	eventually(t, "the state", func() bool { return m.server.Status().State == upstream.StateNeedsAuth })
}

func retryAfterOneSecond(t *testing.T, m met) {
	if e := asError(t, m.err); e.RetryAfter != time.Second {
		t.Errorf("RetryAfter is %v, want 1s", e.RetryAfter)
	}
	once(t, m)
}

// initializes says how often the server was initialized.
func initializes(want int) func(*testing.T, met) {
	return func(t *testing.T, m met) {
		if n := m.log.Count("initialize"); n != want {
			t.Errorf("initialized %d times, want %d; the server saw %s", n, want, m.log.Methods())
		}
	}
}

// hidesToken sees that the token was sent and stands nowhere else.
func hidesToken(t *testing.T, m met) {
	if got := m.log.Messages("tools/call")[0].Header.Get("Authorization"); got != "Bearer "+secretToken {
		t.Errorf("sent Authorization %q", got)
	}
	said := m.err.Error() + m.server.Status().Reason + strings.Join(m.server.Logs(400), "\n")
	for i := 0; i+6 <= len(secretToken); i++ {
		if part := secretToken[i : i+6]; strings.Contains(said, part) {
			t.Errorf("%q shows %q of the token", said, part)
		}
	}
}

// dropped sees that the stream of HTTP+SSE is made anew.
func dropped(t *testing.T, m met) {
	once(t, m)
	mustCall(t, m.server, "whoami", "")
}

var rudeEvents = []rude{
	{name: "well", kind: works},
	{name: "endpoint-relative", kind: works},
	{name: "endpoint-absolute", kind: works},
	{name: "endpoint-other-origin", change: withToken, kind: upstream.Garbled, text: "its endpoint is on another origin", then: func(t *testing.T, m met) {
		if away := m.log.Of(testmcp.EventAway); len(away) > 0 {
			t.Errorf("%d requests went to the other origin", len(away))
		}
	}},
	{name: "endpoint-missing", change: impatient, kind: upstream.Unavailable, text: "did not finish the MCP handshake within 700ms"},
	{name: "sse-405", kind: works},
	{name: "sse-404", kind: works},
	{name: "sse-400", kind: works},
	{name: "sse-drops#1", kind: upstream.Lost, text: "its event stream ended", then: dropped},
	{name: "mute:tools/call", change: soon, kind: upstream.Timeout, text: "no answer in time", then: once},
	{name: "500", kind: upstream.Refused, text: "answered HTTP 500", then: once},
	{name: "hang", change: soon, kind: upstream.Timeout, text: "no answer in time", then: once},
	{name: "string-ids", kind: works},
	{name: "duplicate-answers", kind: works},
	{name: "foreign-requests", kind: works},
	{name: "line-2mb", kind: works, then: listsOne},
}
