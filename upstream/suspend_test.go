package upstream_test

import (
	"context"
	"os"
	"path/filepath"
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

// gated is a program that ends at once with exit status 7 until open is called.
func gated(t *testing.T) (cfg *config.Server, log *testmcp.Log, open func()) {
	t.Helper()
	cfg, log = program(t, "well")
	gate := filepath.Join(t.TempDir(), "gate")
	cfg.Args = append([]string{"-c", `[ -e "$GATE" ] || { echo "no key" >&2; exit 7; }; exec "$0" "$@"`, cfg.Command}, cfg.Args...)
	cfg.Command, cfg.Env["GATE"] = "sh", gate
	return cfg, log, func() {
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// suspended waits until a server that cannot be connected to is given up for a while.
func suspended(t *testing.T, s *upstream.Server) upstream.Status {
	t.Helper()
	eventually(t, "the server to be suspended", func() bool { return s.Status().State == upstream.StateSuspended })
	st := s.Status()
	if want := "5 failures in 30s, the last: the program ended with exit status 7; it last wrote: no key"; st.Reason != want {
		t.Errorf("reason %q, want %q: what earlier ones wrote is not this one's last words", st.Reason, want)
	}
	if st.Fix != "mcphub reconnect rude" {
		t.Errorf("fix %q", st.Fix)
	}
	return st
}

// B063: five failures suspend a server: calls fail at once and say why and what helps, which works at once.
func TestB063Reconnect(t *testing.T) {
	t.Parallel()
	cfg, log, open := gated(t)
	s := start(t, cfg)
	suspended(t, s)
	for range 100 {
		_, callErr := callTool(s, "echo", "")
		_, _, openErr := s.Open(context.Background(), []byte(clientParams), func(wire.Message) {})
		for _, err := range []error{callErr, openErr} {
			e := asError(t, err)
			if e.Kind != upstream.Suspended || !e.NotSent {
				t.Fatalf("got %+v", e)
			}
			has(t, e.Text, "is suspended after 5 failures in 30s, the last: the program ended", "it is tried again in ", "mcphub reconnect rude")
		}
	}
	has(t, asError(t, s.Reconnect(context.Background())).Error(), `server "rude": the program ended with exit status 7`)
	open()
	if err := s.Reconnect(context.Background()); err != nil {
		t.Fatal(err)
	}
	mustCall(t, s, "echo", "")
	if n := len(log.Of(testmcp.EventStart)); n != 1 || s.Status().State != upstream.StateReady {
		t.Errorf("%d processes, %+v", n, s.Status())
	}
}

// B063, B059: after the cool-down one probe closes the breaker with nobody's help.
func TestB063Probe(t *testing.T) {
	t.Parallel()
	cfg, _, open := gated(t)
	s := startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), CoolDown: 10 * time.Millisecond})
	suspended(t, s)
	open()
	eventually(t, "a probe of the background to find it well", func() bool { return s.Status().State == upstream.StateReady })
	mustCall(t, s, "echo", "")
}

// A call is the probe where it comes first.
func TestProbeByCall(t *testing.T) {
	t.Parallel()
	cfg, _, open := gated(t)
	s := startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), CoolDown: 10 * time.Millisecond})
	suspended(t, s)
	open()
	eventually(t, "a call to get through", func() bool {
		_, err := callTool(s, "echo", "")
		return err == nil
	})
}

// A program that starts well and dies before it has answered one call is a failure like any other.
func TestCrashLoopIsSuspended(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "exits-mid-call")
	s := start(t, cfg)
	lost := 0
	eventually(t, "the server to be suspended", func() bool {
		_, err := callTool(s, "echo", "")
		e := asError(t, err)
		if e.Kind == upstream.Lost {
			lost++
		}
		return e.Kind == upstream.Suspended
	})
	if starts := len(log.Of(testmcp.EventStart)); lost != 5 || starts != 5 {
		t.Errorf("%d calls were lost with %d processes, want five", lost, starts)
	}
}

// B066: a program that is killed while it serves has not failed, however often that happens, nor have the calls that came while
// it was started anew.
func TestKilledWhileServing(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	s := start(t, cfg)
	for range 8 {
		var calls sync.WaitGroup
		for range 10 {
			calls.Go(func() { mustCall(t, s, "echo", "") })
		}
		calls.Wait()
		conn, err := s.Connect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		kill(t, s.PID())
		<-conn.Done()
	}
	if n := len(log.Of(testmcp.EventStart)); n != 8 {
		t.Errorf("%d processes for eight rounds", n)
	}
}

// A keep-alive server that a reconnect could not bring back is tried on with nobody asking.
func TestReconnectFailsKeptAlive(t *testing.T) {
	t.Parallel()
	cfg, _, open := gated(t)
	open()
	cfg.Lifecycle = config.LifecycleKeepAlive
	s := start(t, cfg)
	settled(t, s)
	if err := os.Remove(cfg.Env["GATE"]); err != nil {
		t.Fatal(err)
	}
	has(t, asError(t, s.Reconnect(context.Background())).Error(), "exit status 7")
	open()
	eventually(t, "the server to be back", func() bool { return s.Status().State == upstream.StateReady })
}

// Credentials that are missing are no failure of the server: it is never suspended for that.
func TestNeedsAuthIsNotSuspended(t *testing.T) {
	t.Parallel()
	cfg, _ := web(t, "bearer:open")
	s := start(t, cfg)
	settled(t, s)
	for range 8 {
		if e := asError(t, s.Reconnect(context.Background())); e.Kind != upstream.NeedsAuth {
			t.Errorf("got %+v", e)
		}
		if _, err := callTool(s, "echo", ""); asError(t, err).Kind != upstream.NeedsAuth {
			t.Errorf("got %v", err)
		}
	}
	if st := s.Status(); st.State != upstream.StateNeedsAuth {
		t.Errorf("%+v", st)
	}
}

// Reconnect of a server that works ends its process once the calls in flight have ended, and starts another.
func TestReconnectReady(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	s := start(t, cfg)
	mustCall(t, s, "echo", "")
	settled(t, s)
	slow := make(chan error, 1)
	go func() {
		_, err := callTool(s, "slow", `{"ms":700}`)
		slow <- err
	}()
	log.WaitMessages(t, "tools/call", 2)
	before := s.PID()
	if err := s.Reconnect(context.Background()); err != nil {
		t.Fatal(err)
	}
	if after := s.PID(); after == before || after == 0 {
		t.Errorf("process %d after %d", after, before)
	}
	if err := <-slow; err != nil {
		t.Errorf("the call in flight: %v", err)
	}
	eventually(t, "the end of the first process", func() bool { return !alive(before) })
	mustCall(t, s, "echo", "")
	if n := len(log.Of(testmcp.EventStart)); n != 2 {
		t.Errorf("%d processes were started", n)
	}
}

// Reconnect does not wait for an attempt that hangs; a server that may not run says what mends that.
func TestReconnectAnyState(t *testing.T) {
	t.Parallel()
	cfg, srv := web(t, "hang-at-connect")
	s := start(t, cfg)
	eventually(t, "the attempt that hangs", func() bool { return srv.Connections() > 0 && s.Status().State == upstream.StateConnecting })
	ctx, cancel := context.WithCancel(context.Background())
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() {
			if e := asError(t, s.Reconnect(ctx)); e.Kind != upstream.Cancelled {
				t.Errorf("got %+v", e)
			}
		})
	}
	eventually(t, "another attempt", func() bool { return srv.Connections() > 1 })
	cancel()
	waiting.Wait()

	disabled, _ := program(t, "well")
	disabled.Enabled = false
	err := start(t, disabled).Reconnect(context.Background())
	if e := asError(t, err); e.Kind != upstream.Removed || !strings.Contains(e.Text, "mcphub enable rude") {
		t.Errorf("got %+v", e)
	}
	closed, _ := program(t, "well")
	ended := start(t, closed)
	ended.Close()
	if e := asError(t, ended.Reconnect(context.Background())); e.Kind != upstream.Removed {
		t.Errorf("got %+v", e)
	}
}
