package upstream_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// B057: one connection is initialized once, whatever is done over it.
func TestB057(t *testing.T) {
	t.Parallel()
	program, log := program(t, "well")
	web, srv := web(t, "well")
	for cfg, log := range map[*config.Server]*testmcp.Log{program: log, web: srv.Log} {
		s := start(t, cfg)
		for range 5 {
			mustCall(t, s, "echo", "")
		}
		if cfg == web {
			log.WaitKind(t, testmcp.EventStream, 1) // what is said before it is open is lost
		}
		mustCall(t, s, "grow", "")
		eventually(t, "the grown tool", func() bool { return log.Count("tools/list") >= 2 })
		if n := log.Count("initialize"); n != 1 {
			t.Errorf("initialized %d times", n)
		}
	}
}

// B060: a server whose first starts fail is tried again with nobody asking.
func TestB060(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	cfg.Args = append([]string{"-c", `echo >>"$STARTS"; [ $(wc -l <"$STARTS") -gt 4 ] || exit 7; exec "$0" "$@"`, cfg.Command}, cfg.Args...)
	cfg.Command = "sh"
	cfg.Env["STARTS"] = filepath.Join(t.TempDir(), "starts")
	var changes atomic.Int64
	s := startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), OnChange: func(*upstream.Server) { changes.Add(1) }})
	settled(t, s)
	if st := s.Status(); st.State != upstream.StateDegraded || !strings.Contains(st.Reason, "exit status 7") {
		t.Errorf("after the first failure: %+v", st)
	}
	before := changes.Load()
	eventually(t, "the tools", func() bool { return tools(s) > 0 })
	if st := s.Status(); st.State != upstream.StateReady || changes.Load() == before {
		t.Errorf("after the start that worked: %+v, %d changes told", st, changes.Load()-before)
	}
	s.Close()
	noneAlive(t, log)
}

// A list that fails once is read again, though the connection is fine.
func TestFailedListIsReadAgain(t *testing.T) {
	t.Parallel()
	cfg, _ := web(t, "500:tools/list#1")
	s := start(t, cfg)
	settled(t, s)
	eventually(t, "the tools", func() bool { return tools(s) > 0 })
	if st := s.Status(); st.State != upstream.StateReady {
		t.Errorf("%+v", st)
	}
}

// B061: a call whose answer was lost has run once, and its caller is told that nobody knows.
func TestB061(t *testing.T) {
	t.Parallel()
	stdio, _ := program(t, "exits-mid-call")
	http, _ := web(t, "cuts-mid-call")
	early, _ := web(t, "sse-half-event")
	for name, cfg := range map[string]*config.Server{"stdio": stdio, "http": http, "event": early} {
		file := filepath.Join(t.TempDir(), name)
		s := start(t, cfg)
		_, err := callTool(s, "append", fmt.Sprintf(`{"file":%q}`, file))
		if e := asError(t, err); e.Kind != upstream.Lost || e.NotSent {
			t.Errorf("%s: got %+v, want that the outcome is unknown", name, e)
		}
		settled(t, s)
		lines, err := os.ReadFile(file)
		if err != nil || string(lines) != "called\n" {
			t.Errorf("%s: the tool left %q, %v, want one line", name, lines, err)
		}
	}
}

// A call that was sent is not sent again because a later one found the program's input closed.
func TestB061OtherCall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "runs")
	cfg := entry(config.TypeStdio)
	cfg.Command = os.Args[0]
	cfg.Env = map[string]string{envRole: "deaf", envDeafLog: file}
	s := start(t, cfg)
	if _, err := s.Connect(context.Background()); err != nil {
		t.Fatal(err)
	}
	first := make(chan error, 1)
	go func() {
		_, err := callTool(s, "first", "")
		first <- err
	}()
	eventually(t, "the first call to run", func() bool {
		ran, _ := os.ReadFile(file)
		return len(ran) > 0
	})
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if _, err := s.Call(ctx, toolCall("second", "")); err == nil {
		t.Error("the second call found a program to answer it")
	}
	if e := asError(t, <-first); e.Kind != upstream.Lost || e.NotSent {
		t.Errorf("the first call: %+v, want that its outcome is unknown", e)
	}
	ran, err := os.ReadFile(file)
	if n := strings.Count(string(ran), "first"); n != 1 || err != nil {
		t.Errorf("the first call ran %d times: %q, %v", n, ran, err)
	}
}

const envDeafLog = "MCPHUB_UPSTREAM_TEST_DEAF_LOG"

// deaf is a server that closes its input at the first call, which it never answers. It has no tools.
func deaf() {
	time.AfterFunc(5*time.Minute, func() { os.Exit(9) })
	lines := wire.NewLineReader(os.Stdin, 1<<20)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		m, err := wire.Scan(line)
		switch {
		case err != nil:
			os.Exit(8)
		case m.Method == wire.Initialize:
			fmt.Printf("%s\n", wire.AppendResult(nil, m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"deaf","version":"1"}}`)))
		case m.Method == wire.ToolsCall:
			os.Stdin.Close()
			f, err := os.OpenFile(os.Getenv(envDeafLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err != nil {
				os.Exit(7)
			}
			fmt.Fprintf(f, "%s\n", m.Params)
			select {}
		case m.IsRequest():
			e := wire.Error{Code: wire.CodeMethodNotFound, Message: "no"}
			fmt.Printf("%s\n", wire.AppendError(nil, m.ID, e.Raw()))
		}
	}
}

// B066: calls that come while a dead server is started anew wait for that one start.
func TestB066(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "slow-initialize:150")
	s := start(t, cfg)
	conn, err := s.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	settled(t, s)
	if err := syscall.Kill(log.Of(testmcp.EventStart)[0].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-conn.Done()
	var calls sync.WaitGroup
	for range 10 {
		calls.Go(func() {
			if _, err := callTool(s, "echo", ""); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if n := len(log.Of(testmcp.EventStart)); n != 2 {
		t.Errorf("%d processes were started, want two", n)
	}
}

// B068: a server that comes back on its port without its sessions is initialized once more, without the
// old session, and the call runs once.
func TestB068(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"well", "json-answers", "400-session-gone"} {
		cfg, srv := web(t, name)
		s := start(t, cfg)
		mustCall(t, s, "whoami", "")
		settled(t, s)
		srv.Down()
		eventually(t, "the server to be found down", func() bool {
			_, err := callTool(s, "echo", "") // the first may go out on a connection that is being closed
			return asError(t, err).Kind == upstream.Unavailable && s.Status().State == upstream.StateDegraded
		})
		srv.ForgetSessions()
		srv.Up()
		before := srv.Log.Count("tools/call")
		file := filepath.Join(t.TempDir(), "runs")
		mustCall(t, s, "append", fmt.Sprintf(`{"file":%q}`, file))
		if ran, err := os.ReadFile(file); string(ran) != "called\n" {
			t.Errorf("%s: the call left %q, %v", name, ran, err)
		}
		if n := srv.Log.Count("tools/call") - before; n != 2 {
			t.Errorf("%s: the call was sent %d times, want twice", name, n)
		}
		for _, e := range srv.Log.Messages("initialize") {
			if e.Session != "" {
				t.Errorf("%s: initialize carried session %q", name, e.Session)
			}
		}
		if st := s.Status(); st.State != upstream.StateReady {
			t.Errorf("%s: %+v", name, st)
		}
	}
}

// B071: sessions that a server forgets by itself are renewed, once each, by whoever comes first.
func TestB071(t *testing.T) {
	t.Parallel()
	cfg, srv := web(t, "well")
	s := start(t, cfg)
	mustCall(t, s, "echo", "")
	settled(t, s)
	for round := range 3 {
		srv.ForgetSessions()
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() {
				if _, err := callTool(s, "echo", ""); err != nil {
					t.Error(err)
				}
			})
		}
		calls.Wait()
		if n := srv.Log.Count("initialize"); n != round+2 {
			t.Errorf("initialized %d times after %d losses", n, round+1)
		}
	}
}
