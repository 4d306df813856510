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
