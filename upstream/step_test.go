package upstream_test

import (
	"net"
	"testing"
	"time"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// TestStep tells how far each of these servers comes.
func TestStep(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := webAt("http://" + closed.Addr().String() + "/mcp")
	closed.Close()
	missing, noDir, text := entry(config.TypeStdio), entry(config.TypeStdio), entry(config.TypeStdio)
	missing.Command = "no-such-program"
	noDir.Command, noDir.Cwd = "cat", "/no/such/directory"
	text.Command, text.Args = "cat", []string{"/no/such/file"}
	ends, _ := program(t, "exits-at-start")
	mute, _ := program(t, "mute")
	mute.ConnectTimeout = 300 * time.Millisecond
	locked, _ := web(t, "401")
	elsewhere, _ := web(t, "html-200")
	notFound, _ := web(t, "404-always")
	for name, c := range map[string]struct {
		cfg  *config.Server
		want upstream.Step
	}{
		"missing": {missing, upstream.StepProgram}, "noDir": {noDir, upstream.StepProgram}, "text": {text, upstream.StepStart},
		"ends": {ends, upstream.StepStart}, "mute": {mute, upstream.StepHandshake}, "nobody": {nobody, upstream.StepNetwork},
		"locked": {locked, upstream.StepAuth}, "elsewhere": {elsewhere, upstream.StepHandshake}, "notFound": {notFound, upstream.StepHandshake},
	} {
		_, err := start(t, c.cfg).Call(t.Context(), &upstream.Call{Method: wire.Ping})
		if e := asError(t, err); e.Step() != c.want {
			t.Errorf("%s failed at %s, want %s: %v", name, e.Step(), c.want, e)
		}
	}
}

// TestProbe looks at servers of both eras, and at one that has no ping, without using them.
func TestProbe(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"well", "modern", "refuses:ping", "400:ping", "405:ping"} {
		cfg, _ := web(t, name)
		s := start(t, cfg)
		if err := upstream.Probe(t.Context(), s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !s.LastUsed().IsZero() || s.Status().State != upstream.StateReady {
			t.Errorf("%s: %+v, last used %v", name, s.Status(), s.LastUsed())
		}
	}
	broken, _ := web(t, "500:ping")
	if err := upstream.Probe(t.Context(), start(t, broken)); err == nil {
		t.Error("a server that answers 500 is well")
	}
}
