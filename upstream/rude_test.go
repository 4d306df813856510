package upstream_test

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
)

// rude is a misbehaviour and what a call meets there.
type rude struct {
	name   string                // of the server, as testmcp reads it
	change func(*config.Server)  // of its entry; nil: none
	max    int                   // bytes of a message; 0: 20 MiB
	tool   string                // what is called; "": echo
	args   string                // raw; "": {}
	kind   upstream.Kind         // of the call's error
	text   string                // part of the error's text, or of the raw answer
	then   func(*testing.T, met) // looks closer, before the server is closed
}

// Kinds of outcomes that are no trouble.
const (
	works    = upstream.Kind(-1) // a result
	answered = upstream.Kind(-2) // the server's own error
)

// met is what a call has met.
type met struct {
	server *upstream.Server
	log    *testmcp.Log
	web    *testmcp.Server // nil over stdio
	answer upstream.Answer
	err    error
}

// soon makes calls time out soon, though not before a busy machine has sent them.
func soon(cfg *config.Server) { cfg.RequestTimeout = 3 * time.Second }

// impatient makes connecting time out soon.
func impatient(cfg *config.Server) { cfg.ConnectTimeout = 700 * time.Millisecond }

func TestRude(t *testing.T) {
	// What is started once and kept, such as the thread that forks, has to be there before the count.
	neighbour := startNeighbour(t)
	warm, _ := web(t, "well")
	s := start(t, warm)
	mustCall(t, s, "echo", "")
	s.Close()
	before := descriptors(t)
	t.Run("side by side", func(t *testing.T) {
		for over, table := range map[string][]rude{"stdio": rudePrograms, "http": rudeWebs, "sse": rudeEvents} {
			for _, r := range table {
				t.Run(over+" "+r.name, func(t *testing.T) {
					t.Parallel()
					r.meet(t, over, neighbour)
				})
			}
		}
	})
	eventually(t, fmt.Sprintf("the files open before, %q", before), func() bool { return len(descriptors(t)) <= len(before) })
}

// startNeighbour starts a well-behaved server.
func startNeighbour(t *testing.T) *upstream.Server {
	t.Helper()
	cfg, _ := program(t, "well")
	cfg.Name = "neighbour"
	s := start(t, cfg)
	mustCall(t, s, "echo", "")
	return s
}

// meet calls the rude server, and its neighbour meanwhile, and sees that nothing is left of it.
func (r *rude) meet(t *testing.T, over string, neighbour *upstream.Server) {
	var m met
	var cfg *config.Server
	switch over {
	case "stdio":
		cfg, m.log = program(t, r.name)
	case "sse":
		m.web = testmcp.SSE(t, r.name)
		cfg, m.log = webAt(m.web.URL), m.web.Log
	default:
		cfg, m.web = web(t, r.name)
		m.log = m.web.Log
	}
	if r.change != nil {
		r.change(cfg)
	}
	leavesNothing(t, func() {
		m.server = upstream.NewServer(cfg, &upstream.Options{Log: zerolog.Nop(), Version: "test", MaxMessage: cmp.Or(r.max, 20<<20)})
		m.server.Start()
		defer m.server.Close()
		r.call(t, &m, neighbour)
		if r.then != nil {
			r.then(t, m)
		}
		mustCall(t, neighbour, "echo", `{"after":true}`)
	})
	noneAlive(t, m.log)
	if m.web != nil && r.name != "hang-at-connect" { // which never learns that its clients have left
		eventually(t, "the end of all connections", func() bool { return m.web.Connections() == 0 })
	}
}

func (r *rude) call(t *testing.T, m *met, neighbour *upstream.Server) {
	tool := cmp.Or(r.tool, "echo")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.answer, m.err = m.server.Call(ctx, toolCall(tool, r.args))
	}()
	if a, err := neighbour.Call(ctx, toolCall("echo", `{"meanwhile":true}`)); err != nil || a.Error != nil {
		t.Errorf("the neighbour was disturbed: %v %s", err, a.Error)
	}
	<-done
	if ctx.Err() != nil {
		t.Fatalf("the call took longer than %v: %v %+v", patience, m.err, m.server.Status())
	}
	r.judge(t, m)
}

func (r *rude) judge(t *testing.T, m *met) {
	t.Helper()
	kind, got := works, string(m.answer.Result)
	switch {
	case m.err != nil:
		e := asError(t, m.err)
		kind, got = e.Kind, e.Error()
		has(t, got, `server "rude": `)
	case m.answer.Error != nil:
		kind, got = answered, string(m.answer.Error)
	}
	if kind != r.kind || !strings.Contains(got, r.text) {
		t.Errorf("got kind %d, %.300q; want kind %d, …%s…; the server: %+v", kind, got, r.kind, r.text, m.server.Status())
	}
}

// once says that the server got the call once, however its answer was lost.
func once(t *testing.T, m met) {
	m.log.WaitMessages(t, "tools/call", 1)
	if n := m.log.Count("tools/call"); n != 1 {
		t.Errorf("the call was sent %d times, want once", n)
	}
}
