package upstream_test

import (
	"context"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
)

// Every state that needs something done names the command for it.
func TestFix(t *testing.T) {
	t.Parallel()
	exits, _ := program(t, "exits-at-start")
	mute, _ := web(t, "mute")
	impatient(mute)
	auth, _ := web(t, "bearer:open")
	secret := webAt(auth.URL + "?key=hidden")
	secret.Secrets = []string{"hidden"}
	for _, c := range []struct {
		cfg   *config.Server
		state upstream.State
		fix   string
	}{
		{exits, upstream.StateDegraded, "mcphub logs rude"},
		{mute, upstream.StateDegraded, "mcphub reconnect rude"},
		{auth, upstream.StateNeedsAuth, "mcphub add rude " + auth.URL + " --header 'Authorization: Bearer ${TOKEN}' --replace"},
		{secret, upstream.StateNeedsAuth, "mcphub doctor rude"},
	} {
		s := start(t, c.cfg)
		settled(t, s)
		// Between two attempts it is connecting.
		eventually(t, string(c.state)+" with the fix "+c.fix, func() bool {
			st := s.Status()
			return st.State == c.state && st.Fix == c.fix && st.Reason != "" && !st.Since.IsZero()
		})
		s.Close()
	}
	cfg, _ := program(t, "well")
	s := start(t, cfg)
	mustCall(t, s, "echo", "")
	eventually(t, "ready", func() bool { st := s.Status(); return st.State == upstream.StateReady && st.Fix == "" })
}

// A log is followed without a line lost or said twice, and without asking again and again.
func TestLogsAfter(t *testing.T) {
	t.Parallel()
	lines := 1000
	cfg, _ := program(t, "well")
	cfg.Command, cfg.Args = "sh", append([]string{"-c", `i=0; while [ $i -lt 1000 ]; do i=$((i+1)); echo "line $i" >&2; [ $((i % 200)) -gt 0 ] || sleep 0.1; done; exec "$0" "$@"`, os.Args[0]}, cfg.Args...)
	s := start(t, cfg)
	var seen []string
	var seq uint64
	limit := time.After(patience)
	for len(seen) < lines {
		got, next, more := s.LogsAfter(seq)
		if seen = append(seen, got...); uint64(len(got)) != next-seq {
			t.Fatalf("%d lines between %d and %d: this reader was too slow", len(got), seq, next)
		}
		if seq = next; len(got) > 0 {
			continue
		}
		select {
		case <-more:
		case <-limit:
			t.Fatalf("%d lines came", len(seen))
		}
	}
	if seen[0] != "line 1" || seen[lines-1] != "line 1000" {
		t.Errorf("from %q to %q", seen[0], seen[lines-1])
	}
	if kept, next, _ := s.LogsAfter(0); len(kept) > 400 || next != seq {
		t.Errorf("%d lines are kept, up to %d", len(kept), next)
	}
	if kept, _, _ := s.LogsAfter(seq + 1); len(kept) == 0 {
		t.Error("a place that is not reached yet is not taken for the beginning")
	}
	has(t, strings.Join(s.Logs(1), ""), "line 1000")
}

// Status tells the process, the calls under way and the last one of a server.
func TestUse(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	s := start(t, cfg)
	settled(t, s)
	if n, last := s.InFlight(), s.LastUsed(); n != 0 || !last.IsZero() {
		t.Errorf("before the first call: %d in flight, last used %v", n, last)
	}
	if pid, want := s.PID(), log.Of(testmcp.EventStart)[0].PID; pid != want {
		t.Errorf("process %d, want %d", pid, want)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 2)
	own := open(t, s)
	go func() {
		_, err := s.Call(ctx, toolCall("slow", `{"ms":600000}`))
		ended <- err
	}()
	go func() {
		_, err := own.Call(ctx, toolCall("slow", `{"ms":600000}`))
		ended <- err
	}()
	eventually(t, "two calls under way", func() bool { return s.InFlight() == 2 })
	began := time.Now()
	cancel()
	<-ended
	<-ended
	s.Release(own)
	if n, last := s.InFlight(), s.LastUsed(); n != 0 || last.Before(began) {
		t.Errorf("after the calls: %d in flight, last used %v, want after %v", n, last, began)
	}
	if err := syscall.Kill(s.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "no process", func() bool { return s.PID() == 0 })
	if s.LastUsed().Before(began) {
		t.Error("the last use went with the connection")
	}
}

// A program that ends as it starts is known for that, whether it was sent something before or not.
func TestFixOfAnEarlyEnd(t *testing.T) {
	t.Parallel()
	for range 30 {
		cfg, _ := program(t, "well")
		cfg.Command, cfg.Args = "sh", []string{"-c", "exit 3"}
		ended := make(chan upstream.Status, 1)
		startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), OnChange: func(s *upstream.Server) {
			if st := s.Status(); st.State == upstream.StateDegraded {
				select {
				case ended <- st:
				default:
				}
			}
		}})
		select {
		case st := <-ended:
			if st.Fix != "mcphub logs "+cfg.Name {
				t.Fatalf("fix %q for %q", st.Fix, st.Reason)
			}
		case <-time.After(patience):
			t.Fatal("it is not degraded")
		}
	}
}
