package upstream

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mcphub/wire"
)

func TestLooseID(t *testing.T) {
	fill := strings.Repeat("x", 2000)
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"result":{"id":8,"a":"` + fill + `","id":9}}`:       "7",
		`{"jsonrpc":"2.0", "id" : "7" ,"result":{"a":"` + fill + `"}}`:               `"7"`,
		`{"result":{"id":8,"a":"` + fill + `","b":{"id":9}},"jsonrpc":"2.0","id":7}`: "7",
		`{"result":{"a":"` + fill + `"},"id":"7","jsonrpc":"2.0"}`:                   `"7"`,
		`{"result":{"a":"` + fill + `","id":9}}`:                                     "",
		`{"result":{"a":"` + fill + `"},"id":7,"x":{"id":9}}`:                        "",
		`{"method":"m","params":{"a":"` + fill + `"},"id":7}`:                        "",
		`{"jsonrpc":"2.0","method":"m","id":7,"params":{"a":"` + fill + `"}}`:        "",
		fill: "",
	} {
		if got := looseID([]byte(message[:512]), []byte(message[len(message)-512:])); string(got) != want {
			t.Errorf("%.60s…%s: got %q, want %q", message, message[len(message)-30:], got, want)
		}
	}
}

// FuzzLooseID: from the two ends of an answer either its own id is made out or none.
func FuzzLooseID(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":12,"result":{"id":8,"b":[{"id":9}]}}`), 23, 12)
	f.Add([]byte(`{"result":{"a":"\",\"id\":\"5"},"jsonrpc":"2.0","id":"7"}`), 5, 40)
	f.Add([]byte(`{"error":{"code":1,"message":"{,\"id\":5}"},"id":7}`), 5, 40)
	f.Fuzz(func(t *testing.T, message []byte, head, tail int) {
		m, err := wire.Scan(message)
		if err != nil || !m.IsResponse() {
			return
		}
		n := len(m.Raw)
		head, tail = min(max(head, 0), n), min(max(tail, 0), n)
		if got := looseID(m.Raw[:head], m.Raw[n-tail:]); got != nil && string(got) != string(m.ID) {
			t.Errorf("%s cut to %s … %s: got id %s", m.Raw, m.Raw[:head], m.Raw[n-tail:], got)
		}
	})
}

// FuzzSameOrigin: an endpoint that is taken has the origin of the stream.
func FuzzSameOrigin(f *testing.F) {
	for _, ref := range []string{
		"/messages?id=1", "messages", "?x", "http://h.test/m", "HTTP://H.TEST:80/m", "//h.test/m", "//evil.test/m",
		"http://h.test@evil.test/", "https://h.test/", "http://h.test:81/", `\\evil.test`, "javascript:x",
	} {
		f.Add("http://h.test/sse", ref)
	}
	f.Fuzz(func(t *testing.T, base, ref string) {
		b, err := url.Parse(base)
		if err != nil {
			return
		}
		if u, err := sameOrigin(b, ref); err == nil && (u.Scheme != b.Scheme || !strings.EqualFold(u.Hostname(), b.Hostname())) {
			t.Errorf("%q and %q gave %q", base, ref, u)
		}
	})
}

func TestSameOrigin(t *testing.T) {
	base := &url.URL{Scheme: "http", Host: "h.test", Path: "/a/sse"}
	for ref, want := range map[string]string{
		"messages?id=1":           "http://h.test/a/messages?id=1",
		"/messages":               "http://h.test/messages",
		"http://h.test/m":         "http://h.test/m",
		"http://H.test:80/m":      "http://H.test:80/m",
		"http://h.test:81/m":      "",
		"https://h.test/m":        "",
		"//evil.test/m":           "",
		"http://h.test@evil.test": "",
		"http://h.test.evil.test": "",
		"\x00":                    "",
	} {
		got, err := sameOrigin(base, ref)
		if err == nil && got.String() != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %v, %v; want %q", ref, got, err, want)
		}
	}
}

func TestSessionGone(t *testing.T) {
	for body, want := range map[string]bool{
		`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: No valid session ID provided"},"id":null}`: true,
		`{"jsonrpc":"2.0","error":{"code":-32000,"message":"Bad Request: Server not initialized"},"id":null}`:       true,
		"Invalid session ID":          true,
		"session 5 not found":         true,
		"Session expired":             true,
		"unknown session":             true,
		"Bad Request":                 false,
		"Mcp-Session-Id is required":  false,
		"invalid arguments":           false,
		"unsupported session setting": false,
	} {
		if got := sessionGone(http.StatusBadRequest, []byte(body)); got != want {
			t.Errorf("%s: got %v", body, got)
		}
		if !sessionGone(http.StatusNotFound, []byte(body)) || sessionGone(http.StatusInternalServerError, []byte(body)) {
			t.Errorf("%s: 404 always means it, 500 never", body)
		}
	}
}

// FuzzRetryAfter: whatever a server asks for is a time that can be waited for.
func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"1", " 120 ", "-5", "999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 2001 00:00:00 GMT", "soon"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		if d := retryAfter(value); d < 0 || d > longestRetry {
			t.Errorf("%q: %v", value, d)
		}
	})
}

func TestRetryAfter(t *testing.T) {
	in := time.Now().Add(90 * time.Second).UTC().Format(http.TimeFormat)
	for value, want := range map[string]time.Duration{"3": 3 * time.Second, "": 0, "-1": 0, "x": 0, "90000": longestRetry} {
		if got := retryAfter(value); got != want {
			t.Errorf("%q: got %v, want %v", value, got, want)
		}
	}
	if got := retryAfter(in); got < 85*time.Second || got > 91*time.Second {
		t.Errorf("%q: got %v", in, got)
	}
}

func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{0: backoffFirst, 1: backoffFirst, 2: 2 * backoffFirst, 4: 8 * backoffFirst, 20: backoffMax, 1 << 40: backoffMax} {
		for range 100 {
			if got := backoff(n); got > want || got < want*3/4-1 {
				t.Fatalf("after %d failures: %v, want up to a quarter less than %v", n, got, want)
			}
		}
	}
}

func TestRing(t *testing.T) {
	r := &ring{redact: newRedactor([]string{"s3cret", "s3cret-and-more", "abc"})}
	r.add([]byte("token s3cret-and-more, key s3cret, abc\r\n"))
	r.add([]byte("\n"))
	r.add([]byte("bad \xff byte"))
	if got, want := r.words(0, 1000), "token [REDACTED], key [REDACTED], abc | bad \uFFFD byte"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := r.words(r.here(), 1000); got != "" {
		t.Errorf("behind all of it comes %q", got)
	}
	if got, want := r.words(0, 20), "bad \uFFFD byte"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.add([]byte(strings.Repeat("é", 5000)))
	if got := r.Logs(1)[0]; len(got) > ringLineKept+5 || !strings.HasSuffix(got, "é …") {
		t.Errorf("a long line is kept as %d bytes that end in %q", len(got), got[len(got)-8:])
	}
	if got := r.words(0, 10); got != "ééééé …" {
		t.Errorf("got %q", got)
	}
	for i := range 5000 {
		r.add(fmt.Appendf(nil, "line %d", i))
	}
	if lines := r.Logs(10_000); len(lines) != ringLines || lines[0] != "line 4600" || lines[ringLines-1] != "line 4999" {
		t.Errorf("%d lines are kept, %s to %s", len(lines), lines[0], lines[len(lines)-1])
	}
}
