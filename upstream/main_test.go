package upstream_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// envRole makes the test binary another program than the tests.
const envRole = "MCPHUB_UPSTREAM_TEST_ROLE"

var roles = map[string]func(){
	"reaper":        func() { upstream.Reap(os.Stdin) },
	"holder":        hold,
	"deaf":          deaf,
	"quick program": quickProgram,
	"quick web":     quickWeb,
}

func TestMain(m *testing.M) {
	if play := roles[os.Getenv(envRole)]; play != nil {
		play()
		os.Exit(0)
	}
	testmcp.Main()
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() == "" {
		if err := flag.Set("test.parallel", "12"); err != nil { // most tests wait more than they compute
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// program is the entry of a stdio server that misbehaves as name says.
func program(t testing.TB, name string) (*config.Server, *testmcp.Log) {
	t.Helper()
	cfg := entry(config.TypeStdio)
	var log *testmcp.Log
	cfg.Command, cfg.Args, cfg.Env, log = testmcp.LoggedCommand(t, name)
	return cfg, log
}

// web is the entry of a Streamable HTTP server that misbehaves as name says.
func web(t testing.TB, name string) (*config.Server, *testmcp.Server) {
	t.Helper()
	srv := testmcp.HTTP(t, name)
	return webAt(srv.URL), srv
}

// webAt is the entry of the HTTP server at url.
func webAt(url string) *config.Server {
	cfg := entry(config.TypeHTTP)
	cfg.URL = url
	return cfg
}

func entry(kind config.Type) *config.Server {
	return &config.Server{
		Name: "rude", Type: kind, Enabled: true, Auth: config.AuthAuto,
		RequestTimeout: 5 * time.Minute, MaxRequestTimeout: 10 * time.Minute, ConnectTimeout: 5 * time.Minute,
	}
}

// start runs a server until the end of the test.
func start(t testing.TB, cfg *config.Server) *upstream.Server {
	t.Helper()
	return startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), Version: "test"})
}

func startWith(t testing.TB, cfg *config.Server, opt *upstream.Options) *upstream.Server {
	t.Helper()
	s := upstream.NewServer(cfg, opt)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// callTool calls a tool; args is raw JSON, "" for none.
func callTool(s *upstream.Server, tool, args string) (upstream.Answer, error) {
	return s.Call(context.Background(), toolCall(tool, args))
}

func toolCall(tool, args string) *upstream.Call {
	if args == "" {
		args = "{}"
	}
	return &upstream.Call{Method: wire.ToolsCall, Params: []byte(`{"name":"` + tool + `","arguments":` + args + `}`)}
}

// text is the text of a tool's result.
func text(a upstream.Answer) string {
	for item := range wire.Elements(wire.Get(a.Result, "content")) {
		return wire.String(wire.Get(item, "text"))
	}
	return ""
}

// mustCall calls a tool that has to work and returns its text.
func mustCall(t testing.TB, s *upstream.Server, tool, args string) string {
	t.Helper()
	a, err := callTool(s, tool, args)
	if err != nil || a.Error != nil {
		t.Fatalf("calling %s: %v %s", tool, err, a.Error)
	}
	return text(a)
}

// asError is the Error that err has to be.
func asError(t testing.TB, err error) *upstream.Error {
	t.Helper()
	var e *upstream.Error
	if !errors.As(err, &e) {
		t.Fatalf("got error %v, want an *upstream.Error", err)
	}
	return e
}

// patience is how long a test waits for what has to come. It is far above what that takes, and far below
// the timeouts of an entry, so that waiting for one of those fails the test.
const patience = time.Minute

// eventually waits until ok holds.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience)
	for !ok() {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("waiting for %s: it did not come about in %v", what, patience)
		}
	}
}

// settled waits until the server's first offer is known or has failed.
func settled(t testing.TB, s *upstream.Server) {
	t.Helper()
	select {
	case <-s.Settled():
	case <-time.After(patience):
		t.Fatalf("the server has not settled: %+v", s.Status())
	}
}

// tools is how many tools the server's offer has.
func tools(s *upstream.Server) int {
	if o := s.Offer(); o != nil {
		return len(o.Tools)
	}
	return 0
}

// has fails the test unless s holds every part.
func has(t testing.TB, s string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(s, part) {
			t.Errorf("%q does not hold %q", s, part)
		}
	}
}
