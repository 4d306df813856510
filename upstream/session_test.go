package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// clientParams are what a client sends with initialize.
const clientParams = `{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"client","version":"3"}}`

// open opens a connection of a client's own, as the hub does for a relayed session.
func open(t *testing.T, s *upstream.Server) *upstream.Conn {
	t.Helper()
	ctx := context.Background()
	conn, a, err := s.Open(ctx, []byte(clientParams), func(wire.Message) {})
	if err != nil || a.Error != nil {
		t.Fatalf("opening: %v %s", err, a.Error)
	}
	if err := conn.Post(ctx, wire.AppendNotification(nil, wire.Initialized, nil)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// count calls counter over conn.
func count(t *testing.T, conn *upstream.Conn) string {
	t.Helper()
	a, err := conn.Call(context.Background(), toolCall("counter", ""))
	if err != nil || a.Error != nil {
		t.Fatalf("counting: %v %s", err, a.Error)
	}
	return text(a)
}

// B074: an entry with a url alone finds the older transport, and remembers it; type sse goes there at once.
func TestB074(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"well", "sse-400", "sse-404", "sse-405"} {
		srv := testmcp.SSE(t, name)
		s := start(t, webAt(srv.URL))
		mustCall(t, s, "echo", "")
		conn, err := s.Connect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		probes := srv.Log.Count("server/discover")
		conn.Close()
		mustCall(t, s, "echo", "")
		if n := srv.Log.Count("server/discover"); probes != 1 || n != probes {
			t.Errorf("%s: probed %d times, then %d times more", name, probes, n-probes)
		}
		own := open(t, s)
		if got := count(t, own); got != `{"count":1}` {
			t.Errorf("%s: a connection of its own counts %s", name, got)
		}
		s.Release(own)
	}
	srv := testmcp.SSE(t, "well")
	cfg := webAt(srv.URL)
	cfg.Type = config.TypeSSE
	mustCall(t, start(t, cfg), "echo", "")
	if first := srv.Log.Of(testmcp.EventMessage)[0].Method; first != "GET" {
		t.Errorf("type sse begins with %s", first)
	}
}

// B075: the state that a server keeps with a session lasts, in the shared one and in a client's own.
func TestB075(t *testing.T) {
	t.Parallel()
	stdio, _ := program(t, "well")
	http, srv := web(t, "well")
	events := webAt(testmcp.SSE(t, "well").URL)
	for _, cfg := range []*config.Server{stdio, http, events} {
		s := start(t, cfg)
		own := open(t, s)
		for n := 1; n <= 5; n++ {
			want := fmt.Sprintf(`{"count":%d}`, n)
			if got := mustCall(t, s, "counter", ""); got != want {
				t.Errorf("the shared session counts %s, want %s", got, want)
			}
			if got := count(t, own); got != want {
				t.Errorf("the client's session counts %s, want %s", got, want)
			}
		}
		s.Release(own)
	}
	// The client's own initialize went to the server as it was.
	found := false
	for _, e := range srv.Log.Messages("initialize") {
		found = found || strings.Contains(e.Body, clientParams)
	}
	if !found {
		t.Error("no initialize carried the client's params")
	}
	eventually(t, "the sessions to be ended", func() bool { return len(srv.Log.Of(testmcp.EventDelete)) == 1 })
}

// B044, B047: a connection that a client gives back leaves nothing, however many there were.
func TestB044(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	leavesNothing(t, func() {
		s := upstream.NewServer(cfg, &upstream.Options{Log: zerolog.Nop()})
		s.Start()
		defer s.Close()
		mustCall(t, s, "echo", "")
		for range 3 {
			conns := []*upstream.Conn{open(t, s), open(t, s), open(t, s)}
			var releases sync.WaitGroup
			for _, conn := range conns {
				_ = count(t, conn)
				releases.Go(func() { s.Release(conn) })
			}
			releases.Wait()
			if n := running(log); n != 1 {
				t.Errorf("%d processes run, want the shared one", n)
			}
		}
		open(t, s) // never given back
	})
	noneAlive(t, log)
}

// B047: calls that their clients give up leave nothing behind.
func TestB047(t *testing.T) {
	t.Parallel()
	stdio, _ := program(t, "mute:tools/call")
	http, srv := web(t, "mute:tools/call")
	events := webAt(testmcp.SSE(t, "mute:tools/call").URL)
	for name, cfg := range map[string]*config.Server{"stdio": stdio, "http": http, "sse": events} {
		t.Run(name, func(t *testing.T) {
			leavesNothing(t, func() {
				s := upstream.NewServer(cfg, &upstream.Options{Log: zerolog.Nop()})
				s.Start()
				defer s.Close()
				if _, err := s.Connect(context.Background()); err != nil {
					t.Fatal(err)
				}
				var calls sync.WaitGroup
				for range 50 {
					calls.Go(func() {
						ctx, cancel := context.WithCancel(context.Background())
						go cancel()
						_, err := s.Call(ctx, toolCall("echo", ""))
						if e := asError(t, err); e.Kind != upstream.Cancelled {
							t.Errorf("got %v", e)
						}
					})
				}
				calls.Wait()
			})
		})
	}
	eventually(t, "the end of all connections", func() bool { return srv.Connections() == 0 })
}

// B050: requests of the stateless era leave no goroutine and no connection.
func TestB050(t *testing.T) {
	t.Parallel()
	cfg, srv := web(t, "modern-only+json-answers")
	leavesNothing(t, func() {
		s := upstream.NewServer(cfg, &upstream.Options{Log: zerolog.Nop()})
		s.Start()
		defer s.Close()
		for range 100 {
			mustCall(t, s, "echo", "")
		}
		if n := srv.Connections(); n > 4 {
			t.Errorf("%d connections for calls one after the other", n)
		}
	})
	eventually(t, "the end of all connections", func() bool { return srv.Connections() == 0 })
}

// B076: a GET stream that is cut, and refused with 409 while the server still holds the old one, comes back.
func TestB076(t *testing.T) {
	t.Parallel()
	var gets atomic.Int64
	h := startHandmade(t, &handmade{get: func(w http.ResponseWriter, r *http.Request) {
		switch n := gets.Add(1); n {
		case 1:
			events(w)("id: 7", "retry: 10", "data: ")
		case 2, 3:
			http.Error(w, "Conflict", http.StatusConflict)
		default:
			if id := r.Header.Get("Last-Event-Id"); id != "7" {
				t.Errorf("the stream is resumed from %q", id)
			}
			events(w)(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
			<-r.Context().Done()
		}
	}})
	s := start(t, webAt(h.url))
	mustCall(t, s, "echo", "")
	eventually(t, "the list to be read for the notification on the new stream", func() bool { return h.seen("POST tools/list") == 2 })
}

// B077: the endpoint of HTTP+SSE is resolved against the URL of the stream, and never on another origin.
func TestB077(t *testing.T) {
	t.Parallel()
	for name, problem := range map[string]string{
		"well": "", "endpoint-relative": "", "endpoint-absolute": "", "endpoint-other-origin": "its endpoint is on another origin",
	} {
		srv := testmcp.SSE(t, name)
		cfg := webAt(srv.URL)
		cfg.Type = config.TypeSSE
		withToken(cfg)
		s := start(t, cfg)
		if problem == "" {
			mustCall(t, s, "echo", "")
			continue
		}
		_, err := callTool(s, "echo", "")
		has(t, asError(t, err).Error(), problem)
		if n := len(srv.Log.Of(testmcp.EventAway)); n != 0 {
			t.Errorf("%d requests went to the other origin", n)
		}
	}
}

// A session that one call finds lost ends no other call that is still being answered.
func TestLostSessionLeavesOtherCalls(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	var h *handmade
	h = startHandmade(t, &handmade{call: func(w http.ResponseWriter, r *http.Request, m wire.Message) {
		switch name := wire.String(wire.Get(m.Params, "name")); {
		case name == "slow":
			send := events(w)
			<-release
			send(result(m, `{"content":[{"type":"text","text":"slow"}]}`))
		case h.seen("POST initialize") == 1:
			http.Error(w, "Not Found", http.StatusNotFound)
		default:
			answer(w, m, `{"content":[{"type":"text","text":"quick"}]}`)
		}
	}})
	s := start(t, webAt(h.url))
	slow := make(chan string, 1)
	go func() {
		a, err := callTool(s, "slow", "")
		slow <- fmt.Sprint(text(a), err)
	}()
	eventually(t, "the slow call", func() bool { return h.seen("POST tools/call") == 1 })
	if got := mustCall(t, s, "quick", ""); got != "quick" {
		t.Errorf("got %q", got)
	}
	close(release)
	if got := <-slow; got != "slow<nil>" {
		t.Errorf("the slow call got %s", got)
	}
}
