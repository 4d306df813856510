package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// heard is a sink that keeps what comes.
type heard struct {
	answer func(m wire.Message) // answers requests; nil refuses them

	mu      sync.Mutex
	notices []string
	asked   []string
}

func (h *heard) Notice(m wire.Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.notices = append(h.notices, string(m.Raw))
}

func (h *heard) Ask(_ *upstream.Conn, m wire.Message) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, string(m.Raw))
	if h.answer != nil {
		go h.answer(m)
	}
	return h.answer != nil
}

func (h *heard) Prime(time.Duration) {}

func (h *heard) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.notices...)
}

// progressCall calls a tool that reports progress n times, ms apart, under the client's own token.
func progressCall(n, ms int, sink upstream.Sink) *upstream.Call {
	return &upstream.Call{Method: wire.ToolsCall, Sink: sink, Params: fmt.Appendf(nil,
		`{"name":"progress","arguments":{"n":%d,"ms":%d},"_meta":{"progressToken":"client's own"}}`, n, ms)}
}

// B083: progress reaches the client under its own token and gives the call more time, up to a maximum.
func TestB083(t *testing.T) {
	t.Parallel()
	stdio, _ := program(t, "well")
	http, _ := web(t, "well")
	modern, _ := web(t, "modern-only")
	events := webAt(testmcp.SSE(t, "well").URL)
	for name, cfg := range map[string]*config.Server{"stdio": stdio, "http": http, "modern": modern, "sse": events} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, cfg)
			mustCall(t, s, "echo", "")
			sink := &heard{}
			call := progressCall(10, 200, sink)
			call.Timeout, call.Max = 1500*time.Millisecond, patience
			a, err := s.Call(context.Background(), call)
			if err != nil || text(a) != "reported 10 times" {
				t.Fatalf("%v %s", err, a.Result)
			}
			notices := sink.all()
			if len(notices) != 10 {
				t.Fatalf("heard %d notifications, want 10: %q", len(notices), notices)
			}
			for i, n := range notices {
				has(t, n, `"progressToken":"client's own"`, fmt.Sprintf(`"progress":%d`, i+1))
			}
			call = progressCall(1000, 50, &heard{})
			call.Timeout, call.Max = 1500*time.Millisecond, 2*time.Second
			began := time.Now()
			_, err = s.Call(context.Background(), call)
			if e := asError(t, err); e.Kind != upstream.Timeout {
				t.Errorf("got %v", e)
			}
			if took := time.Since(began); took < 1900*time.Millisecond || took > patience {
				t.Errorf("a call with a maximum of 2 s took %v", took)
			}
		})
	}
}

// Progress and questions that a server sends on its GET stream reach the call they belong to.
func TestMessagesBesideTheStream(t *testing.T) {
	t.Parallel()
	open := make(chan func(...string), 1)
	answered := make(chan string, 1)
	h := startHandmade(t, &handmade{
		get: func(w http.ResponseWriter, r *http.Request) {
			open <- events(w)
			<-r.Context().Done()
		},
		posted: func(m wire.Message) {
			if m.IsResponse() {
				answered <- string(m.Raw)
			}
		},
		call: func(w http.ResponseWriter, r *http.Request, m wire.Message) {
			send := <-open
			token := wire.Path(m.Params, "_meta", "progressToken")
			for i := range 3 {
				send(fmt.Sprintf(`data: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, token, i))
			}
			send(`data: {"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{}}`)
			if got := <-answered; got != `{"jsonrpc":"2.0","id":"q","result":{"action":"decline"}}` {
				t.Errorf("the question was answered with %s", got)
			}
			send(`data: {"jsonrpc":"2.0","id":"p","method":"ping"}`)
			if got := <-answered; got != `{"jsonrpc":"2.0","id":"p","result":{}}` {
				t.Errorf("the ping was answered with %s", got)
			}
			answer(w, m, `{"content":[]}`)
		},
	})
	s := start(t, webAt(h.url))
	conn, err := s.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	settled(t, s) // no other call is in flight
	posted := make(chan error, 1)
	sink := &heard{answer: func(m wire.Message) {
		posted <- conn.Post(context.Background(), wire.AppendResult(nil, m.ID, []byte(`{"action":"decline"}`)))
	}}
	if _, err := s.Call(context.Background(), progressCall(0, 0, sink)); err != nil {
		t.Fatal(err)
	}
	if err := <-posted; err != nil {
		t.Errorf("answering the question: %v", err)
	}
	if got := sink.all(); len(got) != 3 || !strings.Contains(got[2], `"progress":2`) {
		t.Errorf("heard %q", got)
	}
}

// B085: a server that takes the connection and says nothing is given up after connectTimeoutMs, and holds
// nobody up.
func TestB085(t *testing.T) {
	t.Parallel()
	opt := &upstream.Options{Log: zerolog.Nop(), Starts: make(chan struct{}, 1)}
	cfg, _ := web(t, "hang-at-connect")
	cfg.ConnectTimeout = time.Second
	began := time.Now()
	mute := startWith(t, cfg, opt)
	other, _ := web(t, "well")
	mustCall(t, startWith(t, other, opt), "echo", "")
	eventually(t, "the state", func() bool { return mute.Status().State == upstream.StateDegraded })
	if took := time.Since(began); took < time.Second || took > patience {
		t.Errorf("it was given up after %v", took)
	}
	has(t, mute.Status().Reason, "did not finish the MCP handshake within 1s")
}

// A mute server does not keep the others from being connected in the background.
func TestMuteServerFreesItsStart(t *testing.T) {
	t.Parallel()
	opt := &upstream.Options{Log: zerolog.Nop(), Starts: make(chan struct{}, 1)}
	cfg, _ := web(t, "hang-at-connect")
	startWith(t, cfg, opt)
	eventually(t, "the start to be taken", func() bool { return len(opt.Starts) == 1 })
	other, _ := web(t, "well")
	settled(t, startWith(t, other, opt))
}

// B086: a call that its client gives up is cancelled at the server, under the hub's id.
func TestB086(t *testing.T) {
	t.Parallel()
	stdio, stdioLog := program(t, "well")
	http, srv := web(t, "well")
	old := testmcp.SSE(t, "well")
	for name, c := range map[string]struct {
		cfg *config.Server
		log *testmcp.Log
	}{"stdio": {stdio, stdioLog}, "http": {http, srv.Log}, "sse": {webAt(old.URL), old.Log}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, c.cfg)
			mustCall(t, s, "echo", "")
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				c.log.WaitMessages(t, "tools/call", 2)
				cancel()
			}()
			_, err := s.Call(ctx, toolCall("slow", `{"ms":600000}`))
			if e := asError(t, err); e.Kind != upstream.Cancelled {
				t.Errorf("got %v", e)
			}
			c.log.WaitKind(t, testmcp.EventStopped, 1)
			id := wire.Get([]byte(c.log.Messages("tools/call")[1].Body), "id")
			has(t, c.log.Messages("notifications/cancelled")[0].Body, fmt.Sprintf(`"requestId":%s`, id))
			mustCall(t, s, "echo", "")
		})
	}
}

// In the stateless era the end of the stream is the cancellation.
func TestB086Modern(t *testing.T) {
	t.Parallel()
	cfg, srv := web(t, "modern-only")
	s := start(t, cfg)
	mustCall(t, s, "echo", "")
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		srv.Log.WaitMessages(t, "tools/call", 2)
		cancel()
	}()
	if _, err := s.Call(ctx, toolCall("slow", `{"ms":600000}`)); asError(t, err).Kind != upstream.Cancelled {
		t.Errorf("got %v", err)
	}
	srv.Log.WaitKind(t, testmcp.EventStopped, 1)
	if n := srv.Log.Count("notifications/cancelled"); n != 0 {
		t.Errorf("%d notifications/cancelled", n)
	}
}

// B088: a call that runs out of its own time is cancelled at the server; a handshake never is.
func TestB088(t *testing.T) {
	t.Parallel()
	stdio, log := program(t, "well")
	http, srv := web(t, "well")
	for cfg, log := range map[*config.Server]*testmcp.Log{stdio: log, http: srv.Log} {
		cfg.RequestTimeout = 500 * time.Millisecond
		s := start(t, cfg)
		if _, err := callTool(s, "slow", `{"ms":600000}`); asError(t, err).Kind != upstream.Timeout {
			t.Errorf("got %v", err)
		}
		log.WaitKind(t, testmcp.EventStopped, 1)
	}
	mute, muteLog := program(t, "mute-initialize")
	muteWeb, muteSrv := web(t, "mute-initialize")
	for cfg, log := range map[*config.Server]*testmcp.Log{mute: muteLog, muteWeb: muteSrv.Log} {
		impatient(cfg)
		s := start(t, cfg)
		if _, err := callTool(s, "echo", ""); asError(t, err).Kind != upstream.Unavailable {
			t.Errorf("got %v", err)
		}
		s.Close()
		if n := log.Count("notifications/cancelled"); n != 0 {
			t.Errorf("a handshake was cancelled: %s", log.Methods())
		}
	}
}
