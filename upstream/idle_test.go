package upstream_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
)

// isIdle waits until a server has been shut down for being idle.
func isIdle(t *testing.T, s *upstream.Server) {
	t.Helper()
	want := upstream.Status{State: upstream.StateIdle, Reason: "idle for " + s.Config().IdleTimeout.String() + "; the next call reconnects"}
	eventually(t, want.Reason, func() bool {
		st := s.Status()
		want.Since = st.Since
		return st == want
	})
}

// A server that nobody uses is shut down, its tools stay, and the next call has it back.
func TestIdle(t *testing.T) {
	t.Parallel()
	stdio, log := program(t, "well")
	session, sessionServer := web(t, "well")
	stateless, statelessServer := web(t, "modern-only")
	for cfg, srv := range map[*config.Server]*testmcp.Server{stdio: nil, session: sessionServer, stateless: statelessServer} {
		cfg.IdleTimeout = 100 * time.Millisecond
		s := start(t, cfg)
		settled(t, s)
		for range 3 {
			isIdle(t, s)
			if tools(s) == 0 {
				t.Error("the tools went with the connection")
			}
			if srv == nil {
				noneAlive(t, log)
			} else {
				eventually(t, "the end of the streams", func() bool { return srv.Streams() == 0 })
			}
			mustCall(t, s, "echo", "")
		}
		s.Close()
	}
	if n := len(log.Of(testmcp.EventStart)); n != 4 {
		t.Errorf("%d processes, want one for each time", n)
	}
	if n := len(sessionServer.Log.Of(testmcp.EventDelete)); n != 4 {
		t.Errorf("%d sessions were ended, want four", n)
	}
}

// B051: the timer counts only time with no call in flight: a call that begins late in it is not cut off.
func TestB051(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	cfg.IdleTimeout = 2 * time.Second
	s := start(t, cfg)
	mustCall(t, s, "slow", `{"ms":1}`)
	mustCall(t, s, "slow", `{"ms":3000}`)
	// The calls overlap, so that there is no time without one, and all together last longer than the timer.
	var calls sync.WaitGroup
	for i := range 8 {
		calls.Go(func() { mustCall(t, s, "slow", fmt.Sprintf(`{"ms":%d}`, 500*(i+1))) })
	}
	calls.Wait()
	if n := len(log.Of(testmcp.EventStart)); n != 1 {
		t.Errorf("%d processes, want the one", n)
	}
	ended := s.LastUsed()
	isIdle(t, s)
	if after := s.Status().Since.Sub(ended); after < cfg.IdleTimeout {
		t.Errorf("it was shut down %v after its last call", after)
	}
}

// A call that races with the shut-down goes over the connection that is, or the next one, and never fails.
func TestCallsRaceWithIdle(t *testing.T) {
	t.Parallel()
	stdio, _ := program(t, "well")
	session, _ := web(t, "well")
	for _, cfg := range []*config.Server{stdio, session} {
		cfg.IdleTimeout = time.Millisecond
		var idle atomic.Int64
		s := startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), OnChange: func(s *upstream.Server) {
			if s.Status().State == upstream.StateIdle {
				idle.Add(1)
			}
		}})
		settled(t, s)
		pace := time.NewTicker(cfg.IdleTimeout) // so that calls come about when the timer fires
		for began := idle.Load(); idle.Load() < began+10; {
			mustCall(t, s, "echo", "")
			<-pace.C
		}
		pace.Stop()
		s.Close()
	}
}

// Subscriptions and connections of clients' own are use.
func TestUsedIsNotIdle(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	cfg.IdleTimeout = 50 * time.Millisecond
	s := start(t, cfg)
	own := open(t, s)
	if _, err := s.Wishes().Subscribe(context.Background(), "test://notes/1"); err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	starts := len(log.Of(testmcp.EventStart))
	_ = count(t, own)
	stays := func(why string) {
		t.Helper()
		for range 5 {
			mustCall(t, s, "slow", `{"ms":100}`)
		}
		if n := len(log.Of(testmcp.EventStart)); n != starts || s.Status().State != upstream.StateReady {
			t.Errorf("with %s: %d processes, %+v", why, n, s.Status())
		}
	}
	stays("both")
	s.Release(own)
	if _, err := s.Wishes().Unsubscribe(context.Background(), "test://notes/1"); err != nil {
		t.Fatal(err)
	}
	isIdle(t, s)
}

// 0 minutes and keep-alive never shut down.
func TestNeverIdle(t *testing.T) {
	t.Parallel()
	never, _ := program(t, "well")
	kept, _ := program(t, "well")
	kept.IdleTimeout, kept.Lifecycle = time.Millisecond, config.LifecycleKeepAlive
	other, _ := program(t, "well")
	other.IdleTimeout = 200 * time.Millisecond
	servers := []*upstream.Server{start(t, never), start(t, kept)}
	for _, s := range servers {
		settled(t, s)
	}
	isIdle(t, start(t, other)) // a time in which the two would have been shut down
	for _, s := range servers {
		if st := s.Status(); st.State != upstream.StateReady {
			t.Errorf("%+v", st)
		}
	}
}

// B057: a keep-alive server is pinged in the way of its era, and initialized once.
func TestB057KeepAlive(t *testing.T) {
	t.Parallel()
	program, log := program(t, "well")
	session, sessionServer := web(t, "well")
	stateless, statelessServer := web(t, "modern-only")
	for cfg, log := range map[*config.Server]*testmcp.Log{program: log, session: sessionServer.Log, stateless: statelessServer.Log} {
		cfg.Lifecycle = config.LifecycleKeepAlive
		s := startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), PingEvery: 20 * time.Millisecond})
		method, once := "ping", "initialize"
		if cfg == stateless {
			method, once = "server/discover", "subscriptions/listen"
		}
		log.WaitMessages(t, method, 5)
		if n := log.Count(once); n != 1 {
			t.Errorf("%s came %d times: %s", once, n, log.Methods())
		}
		if st := s.Status(); st.State != upstream.StateReady || s.InFlight() != 0 || !s.LastUsed().IsZero() {
			t.Errorf("%+v, pings count as use", st)
		}
		s.Close()
	}
}

// A keep-alive server that dies, or that answers no ping any more, is there again with nobody asking.
func TestKeepAliveReconnects(t *testing.T) {
	t.Parallel()
	dies, log := program(t, "well")
	mute, muteLog := program(t, "mute:ping")
	mute.RequestTimeout = 200 * time.Millisecond
	for cfg, log := range map[*config.Server]*testmcp.Log{dies: log, mute: muteLog} {
		cfg.Lifecycle = config.LifecycleKeepAlive
		s := startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), PingEvery: 20 * time.Millisecond})
		settled(t, s)
		if cfg == dies {
			mustCall(t, s, "echo", "")
			_, _ = callTool(s, "exit", `{"code":1}`)
		}
		log.WaitKind(t, testmcp.EventStart, 2)
		eventually(t, "the first process to be gone", func() bool { return !alive(log.Of(testmcp.EventStart)[0].PID) })
		s.Close()
	}
}

// Parallel first calls start one process, and so do parallel calls after it was killed.
func TestParallelCallsStartOne(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "slow-initialize:100")
	s := start(t, cfg)
	for round := range 3 {
		var calls sync.WaitGroup
		for range 30 {
			calls.Go(func() { mustCall(t, s, "echo", "") })
		}
		calls.Wait()
		if n := len(log.Of(testmcp.EventStart)); n != round+1 {
			t.Errorf("%d processes after %d rounds", n, round+1)
		}
		conn, err := s.Connect(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		kill(t, s.PID())
		<-conn.Done()
	}
}
