package upstream_test

import (
	"context"
	"strings"
	"testing"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// TestVersions: whatever a server speaks, over whatever transport, is agreed on and kept to.
func TestVersions(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{
		"speaks:2024-11-05": "2024-11-05", "speaks:2025-03-26": "2025-03-26", "speaks:2025-06-18": "2025-06-18",
		"speaks:2025-11-25": "2025-11-25", "modern": "2026-07-28", "modern-only": "2026-07-28",
		"modern+json-answers": "2026-07-28", "stateless": "2025-11-25",
	} {
		for _, over := range []string{"stdio", "http"} {
			t.Run(name+" over "+over, func(t *testing.T) {
				t.Parallel()
				var cfg *config.Server
				var log *testmcp.Log
				if over == "stdio" {
					cfg, log = program(t, name)
				} else {
					var srv *testmcp.Server
					cfg, srv = web(t, name)
					log = srv.Log
				}
				s := start(t, cfg)
				mustCall(t, s, "echo", "")
				conn, err := s.Connect(context.Background())
				if err != nil || conn.Version() != version {
					t.Fatalf("speaking %q, %v; want %s", conn.Version(), err, version)
				}
				call := log.Messages("tools/call")[0]
				if got := call.Header.Get("Mcp-Protocol-Version"); over == "http" && got != version {
					t.Errorf("calls carry Mcp-Protocol-Version %q", got)
				}
				if modern := strings.Contains(call.Body, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`); modern != conn.Modern() {
					t.Errorf("the call was %s", call.Body)
				}
				if first := log.Of(testmcp.EventMessage)[0]; first.Method != wire.Discover {
					t.Errorf("it was asked for %s first", first.Method)
				}
			})
		}
	}
}

// TestLateAnswer: a program that starts slowly still gets the newest era it has.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]string{
		"slow-initialize:2200+modern": "2026-07-28", "slow-initialize:2200+modern-only": "2026-07-28", "slow-initialize:2200": "2025-11-25",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, _ := program(t, name)
			s := start(t, cfg)
			mustCall(t, s, "echo", "")
			conn, err := s.Connect(context.Background())
			if err != nil || conn.Version() != version {
				t.Errorf("speaking %q, %v; want %s", conn.Version(), err, version)
			}
		})
	}
}

// TestEraIsRemembered: a server that has once said what it speaks is not asked again.
func TestEraIsRemembered(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		modern                 bool
		discovers, initializes int // initializes at least: a start slower than the probe's patience costs one more
	}{
		"well": {false, 1, 4}, "modern": {true, 4, 0}, "exits-on-discover": {false, 1, 4},
	} {
		cfg, log := program(t, name)
		s := start(t, cfg)
		for range 4 {
			conn, err := s.Connect(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if conn.Modern() != want.modern {
				t.Errorf("%s: connected in version %s", name, conn.Version())
			}
			mustCall(t, s, "echo", "")
			conn.Close()
		}
		d, i := log.Count(wire.Discover), log.Count(wire.Initialize)
		if d != want.discovers || i < want.initializes {
			t.Errorf("%s: server/discover %d times, initialize %d times over four connections, want %+v", name, d, i, want)
		}
	}
	cfg, srv := web(t, "well")
	s := start(t, cfg)
	for range 4 {
		mustCall(t, s, "echo", "")
		settled(t, s)
		srv.ForgetSessions()
	}
	if d, i := srv.Log.Count(wire.Discover), srv.Log.Count(wire.Initialize); d != 1 || i != 4 {
		t.Errorf("over HTTP: server/discover %d times, initialize %d times over four sessions", d, i)
	}
}

// TestServerInfoOfBothEras: the offer knows the server's name wherever its era puts it.
func TestServerInfoOfBothEras(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"well", "modern-only"} {
		cfg, _ := web(t, name)
		s := start(t, cfg)
		settled(t, s)
		o := s.Offer()
		if got := wire.String(wire.Get(o.ServerInfo(), "name")); got != "testmcp" {
			t.Errorf("%s: the server calls itself %q", name, got)
		}
		if o.Instructions() != testmcp.Instructions || wire.Get(o.Capabilities(), "tools") == nil {
			t.Errorf("%s: %q, %s", name, o.Instructions(), o.Capabilities())
		}
	}
}

// TestServersHearOfApps looks at what servers of both eras are told that the hub's clients can do.
func TestServersHearOfApps(t *testing.T) {
	for name, methods := range map[string][]string{"well": {wire.Initialize}, "modern-only": {wire.Discover, wire.ToolsList}} {
		cfg, srv := web(t, name)
		settled(t, start(t, cfg))
		for _, method := range methods {
			has(t, srv.Log.Messages(method)[0].Body, `"io.modelcontextprotocol/ui":{"mimeTypes":["text/html;profile=mcp-app"]}`, `"sampling":{"tools":{}}`)
		}
	}
}
