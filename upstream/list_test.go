package upstream_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// B079: a tool that a server adds while it runs is found, and everybody is told.
func TestB079(t *testing.T) {
	t.Parallel()
	stdio, _ := program(t, "well")
	modern, _ := program(t, "modern-only")
	http, httpServer := web(t, "well")
	stateless, statelessServer := web(t, "modern-only")
	events := webAt(testmcp.SSE(t, "well").URL)
	for name, cfg := range map[string]*config.Server{
		"stdio": stdio, "stdio modern": modern, "http": http, "http modern": stateless, "sse": events,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var changes, notices atomic.Int64
			s := startWith(t, cfg, &upstream.Options{
				Log:      zerolog.Nop(),
				OnChange: func(*upstream.Server) { changes.Add(1) },
				OnNotice: func(_ *upstream.Server, _ *upstream.Conn, m wire.Message) {
					if m.Method == wire.ToolsChanged {
						notices.Add(1)
					}
				},
			})
			settled(t, s)
			if srv := map[*config.Server]*testmcp.Server{http: httpServer, stateless: statelessServer}[cfg]; srv != nil {
				srv.Log.WaitKind(t, testmcp.EventStream, 1) // what is said before it is open is lost
			}
			before, told := tools(s), changes.Load()
			for _, tool := range []string{"first", "second"} {
				mustCall(t, s, "grow", fmt.Sprintf(`{"name":%q}`, tool))
				before++
				eventually(t, "the new tool", func() bool { return tools(s) == before })
				mustCall(t, s, tool, "")
			}
			eventually(t, "two changes to be told", func() bool { return changes.Load() >= told+2 })
			if n := notices.Load(); n != 2 {
				t.Errorf("told of %d notifications, want two", n)
			}
		})
	}
}

// A change of the list that is announced on a call's own stream is one like any other.
func TestListChangeOnACallsStream(t *testing.T) {
	t.Parallel()
	h := startHandmade(t, &handmade{call: func(w http.ResponseWriter, r *http.Request, m wire.Message) {
		events(w)(`data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, "", result(m, `{"content":[]}`))
	}})
	s := start(t, webAt(h.url))
	settled(t, s)
	mustCall(t, s, "echo", "")
	eventually(t, "the list to be read anew", func() bool { return h.seen("POST tools/list") == 2 })
}

// B098: all pages of a list are read.
func TestB098(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "pages")
	s := start(t, cfg)
	settled(t, s)
	if n := tools(s); n != 250 {
		t.Errorf("%d tools, want 250", n)
	}
	if n := log.Count("tools/list"); n != 5 {
		t.Errorf("%d pages were asked for, want five", n)
	}
}

// B099: a cursor that comes back ends the list, with a note.
func TestB099(t *testing.T) {
	t.Parallel()
	cfg, log := web(t, "repeats-cursor")
	s := start(t, cfg)
	settled(t, s)
	has(t, strings.Join(s.Offer().Notes, "\n"), `tools/list repeats the cursor "8"`)
	if n := log.Log.Count("tools/list"); n != 2 {
		t.Errorf("%d pages were asked for, want two", n)
	}
	if st := s.Status(); st.State != upstream.StateReady {
		t.Errorf("%+v", st)
	}
}

// Pages without end are bounded in bytes as one message is.
func TestFatPagesEnd(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "endless-pages")
	s := startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), MaxMessage: 1000})
	settled(t, s)
	if n := tools(s); n < 5 || n > 30 || log.Count("tools/list") != n {
		t.Errorf("%d tools of %d pages, %+v", n, log.Count("tools/list"), s.Status())
	}
	has(t, strings.Join(s.Offer().Notes, "\n"), "has no end")
}
