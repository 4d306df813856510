package upstream_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// crowd starts n servers, one after the other, that share a budget.
func crowd(t *testing.T, budget *upstream.Processes, n int, change func(*config.Server)) (servers []*upstream.Server, logs []*testmcp.Log) {
	t.Helper()
	opt := &upstream.Options{Log: zerolog.Nop(), Processes: budget}
	for i := range n {
		cfg, log := program(t, "well")
		cfg.Name = string(rune('a' + i))
		if change != nil {
			change(cfg)
		}
		s := startWith(t, cfg, opt)
		settled(t, s)
		servers, logs = append(servers, s), append(logs, log)
	}
	return servers, logs
}

// live is which of the servers have a process.
func live(servers []*upstream.Server) string {
	var names strings.Builder
	for _, s := range servers {
		if s.PID() != 0 {
			names.WriteString(s.Name())
		}
	}
	return names.String()
}

// Over maxProcesses, the program that was used least recently makes room; its tools stay, and the next call has it back.
func TestMaxProcesses(t *testing.T) {
	t.Parallel()
	servers, logs := crowd(t, upstream.NewProcesses(2, 0), 4, nil)
	a, b, c := servers[0], servers[1], servers[2]
	for _, step := range []struct {
		call *upstream.Server
		live string
	}{{a, "ad"}, {b, "ab"}, {a, "ab"}, {c, "ac"}, {b, "bc"}} {
		before, pid := step.call.Offer(), step.call.PID()
		mustCall(t, step.call, "echo", "")
		if pid != step.call.PID() { // it is not idle while its lists are read
			eventually(t, "the lists", func() bool { return step.call.Offer() != before })
		}
		if got := live(servers); got != step.live {
			t.Errorf("after a call of %s these live: %s, want %s", step.call.Name(), got, step.live)
		}
		processes := 0
		for _, log := range logs {
			processes += running(log)
		}
		if processes > 2 {
			t.Errorf("%d processes run", processes)
		}
	}
	st := a.Status()
	has(t, st.Reason, "shut down to make room for another program, since settings.maxProcesses is 2; the next call reconnects")
	if st.State != upstream.StateIdle || tools(a) == 0 {
		t.Errorf("%+v, %d tools", st, tools(a))
	}
}

// Where no program is idle, a start waits until one is, or fails by its deadline and says what to raise. That is no failure of
// the server, which is never suspended for it.
func TestMaxProcessesBusy(t *testing.T) {
	t.Parallel()
	servers, logs := crowd(t, upstream.NewProcesses(1, 0), 2, nil)
	a, b := servers[0], servers[1]
	b.Config().ConnectTimeout = 150 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := a.Call(ctx, toolCall("slow", `{"ms":600000}`))
		ended <- err
	}()
	logs[0].WaitMessages(t, "tools/call", 1)
	for range 6 {
		_, callErr := callTool(b, "echo", "")
		_, _, openErr := b.Open(context.Background(), []byte(clientParams), func(wire.Message) {})
		for _, err := range []error{callErr, openErr} {
			e := asError(t, err)
			if e.Kind != upstream.Busy || !e.NotSent {
				t.Fatalf("got %+v", e)
			}
			has(t, e.Error(), `server "b": there is no room for its program: settings.maxProcesses is 1, and none of the others is idle`)
		}
	}
	has(t, b.Status().Reason, "settings.maxProcesses is 1")
	b.Config().ConnectTimeout = patience
	waits := make(chan error, 1)
	go func() {
		_, err := callTool(b, "echo", "")
		waits <- err
	}()
	eventually(t, "the start that waits", func() bool { return b.Status().State == upstream.StateConnecting })
	cancel()
	<-ended
	if err := <-waits; err != nil {
		t.Errorf("the call that waited: %v", err)
	}
	if got := live(servers); got != "b" {
		t.Errorf("live: %s", got)
	}
}

// Connections of clients' own have programs that count, and neither these nor the server's shared one are shut down.
func TestMaxProcessesOwnConnections(t *testing.T) {
	t.Parallel()
	servers, _ := crowd(t, upstream.NewProcesses(2, 0), 2, func(cfg *config.Server) {
		cfg.ConnectTimeout = 10 * time.Second
	})
	a, b := servers[0], servers[1]
	mustCall(t, a, "echo", "")
	own := open(t, a) // in the place of b's
	if got := live(servers); got != "a" {
		t.Errorf("live: %s", got)
	}
	b.Config().ConnectTimeout = 150 * time.Millisecond
	if _, err := callTool(b, "echo", ""); asError(t, err).Kind != upstream.Busy {
		t.Errorf("got %v", err)
	}
	_ = count(t, own)
	a.Release(own)
	b.Config().ConnectTimeout = patience
	mustCall(t, b, "echo", "")
	if got := live(servers); got != "ab" {
		t.Errorf("live: %s", got)
	}
}

// What somebody is subscribed to, and what is to be kept connected, is not idle.
func TestMaxProcessesKept(t *testing.T) {
	t.Parallel()
	servers, _ := crowd(t, upstream.NewProcesses(3, 0), 3, func(cfg *config.Server) {
		if cfg.Name == "a" {
			cfg.Lifecycle = config.LifecycleKeepAlive
		}
	})
	if _, err := servers[1].Wishes().Subscribe(context.Background(), "test://notes/1"); err != nil {
		t.Fatal(err)
	}
	mustCall(t, servers[2], "echo", "") // used last, and idle
	own := open(t, servers[1])
	defer servers[1].Release(own)
	if got := live(servers); got != "ab" {
		t.Errorf("live: %s", got)
	}
}

// Over maxProcessMemoryMB, idle programs are shut down with nobody starting another, and before another starts.
func TestMaxProcessMemory(t *testing.T) {
	t.Parallel()
	budget := upstream.NewProcesses(0, 1) // less than one program needs
	servers, _ := crowd(t, budget, 2, nil)
	if got := live(servers); got != "b" {
		t.Errorf("live: %s", got)
	}
	has(t, servers[0].Status().Reason, "since settings.maxProcessMemoryMB is 1")
	budget = upstream.NewProcesses(0, 1)
	budget.Every = 10 * time.Millisecond
	servers, _ = crowd(t, budget, 2, nil)
	eventually(t, "the end of all programs", func() bool { return live(servers) == "" })
	mustCall(t, servers[0], "slow", `{"ms":100}`) // which is not idle meanwhile
	roomy, _ := crowd(t, upstream.NewProcesses(0, 1<<20), 2, nil)
	if got := live(roomy); got != "ab" {
		t.Errorf("live with room enough: %s", got)
	}
}

// No bounds are no budget.
func TestNoProcesses(t *testing.T) {
	t.Parallel()
	if p := upstream.NewProcesses(0, 0); p != nil {
		t.Errorf("got %+v", p)
	}
}
