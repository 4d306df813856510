package upstream_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// primed is a sink that counts how often the answer's stream was made resumable.
type primed struct {
	heard
	times int
	retry time.Duration
}

func (p *primed) Prime(retry time.Duration) { p.times, p.retry = p.times+1, retry }

// TestResume: a server may end a call's stream whenever it likes, as often as it likes, and go on with the
// GET that brings back the last event id (SEP-1699).
func TestResume(t *testing.T) {
	t.Parallel()
	const rounds = 12
	var asked wire.Message
	var resumed []string
	h := startHandmade(t, &handmade{
		call: func(w http.ResponseWriter, r *http.Request, m wire.Message) {
			asked = m
			events(w)("id: s1/0", "retry: 5", "data: ")
		},
		get: func(w http.ResponseWriter, r *http.Request) {
			last := r.Header.Get("Last-Event-Id")
			if last == "" {
				http.Error(w, "no", http.StatusMethodNotAllowed)
				return
			}
			resumed = append(resumed, last)
			send := events(w)
			switch n := len(resumed); {
			case n%3 == 0: // a stream that brings nothing at all
			case n < rounds:
				send(fmt.Sprintf("id: s1/%d", n), fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":%d}}`, n))
			default:
				send("id: s1/end", result(asked, `{"content":[{"type":"text","text":"at last"}]}`))
			}
		},
	})
	s := start(t, webAt(h.url))
	settled(t, s)
	sink := &primed{}
	call := toolCall("echo", "")
	call.Sink = sink
	a, err := s.Call(t.Context(), call)
	if err != nil || text(a) != "at last" {
		t.Fatalf("%v %s", err, a.Result)
	}
	if got := len(sink.all()); got != 8 {
		t.Errorf("%d notifications came, want 8: %q", got, sink.all())
	}
	if got := strings.Join(resumed, " "); !strings.HasPrefix(got, "s1/0 s1/1 s1/2 s1/2 s1/4 ") {
		t.Errorf("resumed from %s", got)
	}
	if sink.times != 1 || sink.retry != 5*time.Millisecond {
		t.Errorf("told %d times that the stream can be resumed, after %v", sink.times, sink.retry)
	}
	if n := h.seen("POST tools/call"); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

// TestResumeIsGivenUp: a stream that brings nothing however often it is resumed, or that may not be, ends the call.
func TestResumeIsGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		get  func(w http.ResponseWriter)
		text string
		gets int
	}{
		"nothing comes": {func(w http.ResponseWriter) { events(w) }, "the event stream ended before the answer", 5},
		"refused":       {func(w http.ResponseWriter) { http.Error(w, "gone", http.StatusNotFound) }, "resuming it was refused with HTTP 404", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHandmade(t, &handmade{
				call: func(w http.ResponseWriter, r *http.Request, m wire.Message) { events(w)("id: 1", "retry: 5", "data: ") },
				get: func(w http.ResponseWriter, r *http.Request) {
					if r.Header.Get("Last-Event-Id") == "" {
						http.Error(w, "no", http.StatusMethodNotAllowed)
						return
					}
					c.get(w)
				},
			})
			s := start(t, webAt(h.url))
			settled(t, s)
			_, err := callTool(s, "echo", "")
			e := asError(t, err)
			has(t, e.Error(), c.text)
			if e.Kind != upstream.Lost {
				t.Errorf("kind %d", e.Kind)
			}
			if n := h.seen("GET ") - 1; n != c.gets { // the first is for the session's own stream
				t.Errorf("asked %d times for the rest, want %d", n, c.gets)
			}
		})
	}
}
