package upstream

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"mcphub/wire"
)

// errorBody is how much of an error's body is looked at.
const errorBody = 64 << 10

// refused turns a response that is not 200 into the server's own JSON-RPC error where it holds one,
// else into an Error. x is nil for what needs no answer.
func (l *httpLink) refused(x *exchange, resp *http.Response) (wire.Message, error) {
	body := readError(resp)
	if l.session.Load() != nil && sessionGone(resp.StatusCode, body) {
		e := &Error{Kind: Lost, Text: errSessionLost.Error(), Status: resp.StatusCode, NotSent: true, Err: errSessionLost}
		l.conn.fail(e)
		return wire.Message{}, e
	}
	if m, err := wire.Scan(body); err == nil && x != nil && m.Error != nil && !isAuth(resp.StatusCode) {
		return m, nil
	}
	return wire.Message{}, l.statusError(resp, body)
}

func readError(resp *http.Response) []byte {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	return body
}

func isAuth(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden
}

// goneWords are how servers that answer 400 say that they do not know a session. The last one is said by a
// server that has been started anew and has no session at all.
var goneWords = regexp.MustCompile(`(?i)session.*(no valid|invalid|not found|unknown|expired|does not exist)|(no valid|invalid|unknown|expired).*session|not initialized`)

// sessionGone says whether a refusal means that the server has forgotten the session: 404 by the
// specification, and 400 from servers that say so in words.
func sessionGone(status int, body []byte) bool {
	return status == http.StatusNotFound || status == http.StatusBadRequest && goneWords.Match(body)
}

func (ep *endpoint) statusError(resp *http.Response, body []byte) *Error {
	e := &Error{Kind: Refused, Status: resp.StatusCode, RetryAfter: retryAfter(resp.Header.Get("Retry-After"))}
	status := strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	switch code := resp.StatusCode; {
	case isAuth(code):
		e.Kind, e.Challenge = NeedsAuth, resp.Header.Get("WWW-Authenticate")
		e.Text = "answered HTTP " + status + ": set bearerTokenEnv or a header with valid credentials"
		return e // its body may repeat the credentials
	case code == http.StatusTooManyRequests, code == http.StatusServiceUnavailable:
		e.Kind = Busy
		e.Text = "is busy (HTTP " + status + ")"
		if e.RetryAfter > 0 {
			e.Text += ", try again in " + e.RetryAfter.String()
		}
		return e
	case code == http.StatusOK:
		e.Kind = Garbled
		e.Text = "answered with " + strconv.Quote(resp.Header.Get("Content-Type")) + " in place of an event stream: is url its MCP endpoint?"
		return e
	case code == http.StatusAccepted || code == http.StatusNoContent:
		e.Kind = Garbled
		e.Text = "accepted the request (HTTP " + status + ") without an answer"
		return e
	case code >= 300 && code < 400:
		e.Text = "redirects (HTTP " + status + "): put the address it redirects to into url"
		return e
	}
	e.Text = "answered HTTP " + status + ep.quoteBody(resp, body)
	return e
}

// quoteBody is the first line of a plain-text or JSON body, without the server's secrets.
func (ep *endpoint) quoteBody(resp *http.Response, body []byte) string {
	if t := mediaType(resp); t != "text/plain" && t != "application/json" {
		return ""
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(bytes.ToValidUTF8(body, nil))), "\n")
	if line == "" {
		return ""
	}
	return ": " + cut(ep.redact.Replace(line), 200)
}

// longestRetry bounds what a server can ask for.
const longestRetry = 24 * time.Hour

// retryAfter reads a Retry-After header: seconds or a date (RFC 9110, section 10.2.3).
func retryAfter(value string) time.Duration {
	var d time.Duration
	if n, err := strconv.Atoi(strings.TrimSpace(value)); err == nil {
		d = time.Duration(min(n, int(longestRetry/time.Second))) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = time.Until(at).Round(time.Second)
	}
	return min(max(0, d), longestRetry)
}
