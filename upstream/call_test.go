package upstream_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// TestUnusable: a server that may not run says why, and nothing of it runs.
func TestUnusable(t *testing.T) {
	t.Parallel()
	disabled, log := program(t, "well")
	disabled.Enabled = false
	failed, _ := program(t, "well")
	failed.Failed = []config.Problem{{Path: "mcpServers.rude.env.A", Message: "TOKEN is not set"}}
	untrusted, untrustedLog := program(t, "well")
	untrusted.Untrusted = "/home/me/a project"
	for cfg, want := range map[*config.Server]string{
		disabled:  `server "rude": is disabled: enabled is false; next: mcphub enable rude`,
		failed:    `server "rude": is failed: mcpServers.rude.env.A: TOKEN is not set; next: mcphub check`,
		untrusted: `server "rude": is untrusted: its file in /home/me/a project is not trusted, or has changed since it was; next: mcphub trust '/home/me/a project'`,
	} {
		s := start(t, cfg)
		settled(t, s)
		_, callErr := callTool(s, "echo", "")
		_, connectErr := s.Connect(t.Context())
		_, _, openErr := s.Open(t.Context(), []byte(clientParams), func(wire.Message) {})
		for _, err := range []error{callErr, connectErr, openErr} {
			if e := asError(t, err); e.Kind != upstream.Removed || !e.NotSent || e.Error() != want {
				t.Errorf("got %+v, want %q", e, want)
			}
		}
	}
	if n := len(log.Events()) + len(untrustedLog.Events()); n != 0 {
		t.Errorf("a server that may not run was started: %d events", n)
	}
}

// TestClosed: a closed server, started or not, takes nothing more; closing it again does no harm.
func TestClosed(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	never := upstream.NewServer(cfg, &upstream.Options{Log: zerolog.Nop()})
	never.Close()
	s := start(t, cfg)
	mustCall(t, s, "echo", "")
	s.Close()
	for _, s := range []*upstream.Server{never, s} {
		_, callErr := callTool(s, "echo", "")
		_, _, openErr := s.Open(t.Context(), []byte(clientParams), func(wire.Message) {})
		for _, err := range []error{callErr, openErr} {
			if e := asError(t, err); e.Kind != upstream.Removed || e.Error() != `server "rude": is shut down` {
				t.Errorf("got %+v", e)
			}
		}
		s.Close()
	}
	noneAlive(t, log)
}

// TestOpenRefused: a client's own connection that cannot be made is an error, or the server's own answer.
func TestOpenRefused(t *testing.T) {
	t.Parallel()
	open := func(cfg *config.Server) (upstream.Answer, error) {
		conn, a, err := start(t, cfg).Open(t.Context(), []byte(clientParams), func(wire.Message) {})
		if conn != nil {
			t.Errorf("%s %v: opened", cfg.Args, cfg.URL)
		}
		return a, err
	}
	refuses, log := program(t, "refuses:initialize")
	if a, err := open(refuses); err != nil || !strings.Contains(string(a.Error), "-32601") {
		t.Errorf("got %s, %v", a.Error, err)
	}
	noneAlive(t, log)
	ends, _ := program(t, "exits-at-start")
	_, err := open(ends)
	if e := asError(t, err); e.Kind != upstream.Unavailable || !strings.Contains(e.Error(), "exit status 3") {
		t.Errorf("got %+v", e)
	}
	down, srv := web(t, "well")
	srv.Down()
	_, err = open(down)
	if e := asError(t, err); e.Kind != upstream.Unavailable || !e.NotSent {
		t.Errorf("got %+v", e)
	}
}

// TestCallsSideBySide: however many calls are under way, each gets its own answer.
func TestCallsSideBySide(t *testing.T) {
	t.Parallel()
	stdio, _ := program(t, "string-ids")
	http, _ := web(t, "well")
	json, _ := web(t, "modern-only+json-answers")
	events := webAt(testmcp.SSE(t, "well").URL)
	for _, cfg := range []*config.Server{stdio, http, json, events} {
		s := start(t, cfg)
		var calls sync.WaitGroup
		for i := range 64 {
			calls.Go(func() {
				args := fmt.Sprintf(`{"n":%d,"big":9007199254740993,"text":"<&>"}`, i)
				a, err := callTool(s, "echo", args)
				if got := wire.Get(a.Result, "structuredContent"); err != nil || string(got) != args {
					t.Errorf("sent %s, got %s, %v", args, got, err)
				}
			})
		}
		calls.Wait()
	}
}

// TestConfiguredHeaders: what the entry says goes out with every request, credentials in one place.
func TestConfiguredHeaders(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*config.Server)
		want   string
	}{
		"bearer":        {func(c *config.Server) { c.BearerToken = "tok" }, "Bearer tok"},
		"bearer is off": {func(c *config.Server) { c.BearerToken, c.Auth = "tok", config.AuthNone }, ""},
		"header":        {func(c *config.Server) { c.Headers["authorization"] = "Custom x" }, "Custom x"},
		"url":           {func(c *config.Server) { c.URL = strings.Replace(c.URL, "//", "//me:pass%20word@", 1) }, "Basic bWU6cGFzcyB3b3Jk"},
	} {
		cfg, srv := web(t, "well")
		cfg.Headers = map[string]string{"x-own": "value"}
		c.change(cfg)
		s := start(t, cfg)
		mustCall(t, s, "echo", "")
		srv.Log.WaitMessages(t, "GET", 1)
		s.Close()
		for _, e := range srv.Log.Of(testmcp.EventMessage) {
			if got := e.Header.Get("Authorization"); got != c.want {
				t.Errorf("%s: %s carries Authorization %q, want %q", name, e.Method, got, c.want)
			}
			if e.Header.Get("X-Own") != "value" || !strings.HasPrefix(e.Header.Get("User-Agent"), "mcphub/") {
				t.Errorf("%s: %s carries %v", name, e.Method, e.Header)
			}
		}
	}
}

// TestHostHeader: a Host among the headers is the one that is asked for.
func TestHostHeader(t *testing.T) {
	t.Parallel()
	host := make(chan string, 1)
	h := startHandmade(t, &handmade{call: func(w http.ResponseWriter, r *http.Request, m wire.Message) {
		host <- r.Host
		answer(w, m, `{"content":[]}`)
	}})
	cfg := webAt(h.url)
	cfg.Headers = map[string]string{"Host": "inner.test"}
	mustCall(t, start(t, cfg), "echo", "")
	if got := <-host; got != "inner.test" {
		t.Errorf("asked for host %q", got)
	}
}

// TestMirroredHeaders: a stateless request repeats its name and the marked arguments in headers
// (MCP 2026-07-28, Streamable HTTP); a session's does not.
func TestMirroredHeaders(t *testing.T) {
	t.Parallel()
	for name, modern := range map[string]bool{"modern-only": true, "well": false} {
		cfg, srv := web(t, name)
		s := start(t, cfg)
		call := toolCall("echo", `{"region":"Zürich"}`)
		call.Headers = map[string]string{"Region": upstream.HeaderValue("Zürich")}
		if _, err := s.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		read := &upstream.Call{Method: wire.ResourcesRead, Params: []byte(`{"uri":"test://hello.txt"}`)}
		if _, err := s.Call(t.Context(), read); err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"Mcp-Method": wire.ToolsCall, "Mcp-Name": "echo", "Mcp-Param-Region": "=?base64?WsO8cmljaA==?="}
		for header, value := range want {
			if got := srv.Log.Messages(wire.ToolsCall)[0].Header.Get(header); modern && got != value || !modern && got != "" {
				t.Errorf("%s: tools/call carries %s %q", name, header, got)
			}
		}
		if got := srv.Log.Messages(wire.ResourcesRead)[0].Header.Get("Mcp-Name"); modern && got != "test://hello.txt" {
			t.Errorf("resources/read carries Mcp-Name %q", got)
		}
	}
}

// TestMetaOfTheEra: a session server never sees the keys of the stateless era, and a stateless one gets its
// client's where they are to be passed on.
func TestMetaOfTheEra(t *testing.T) {
	t.Parallel()
	const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"sampling":{}},"own":[1.0]}`
	params := []byte(`{"name":"echo","arguments":{},"_meta":` + meta + `}`)
	for name, want := range map[string]string{"well": `"_meta":{"own":[1.0]}`, "modern-only": `"_meta":` + meta} {
		cfg, log := program(t, name)
		s := start(t, cfg)
		if _, err := s.Call(context.Background(), &upstream.Call{Method: wire.ToolsCall, Params: params, AsIs: true}); err != nil {
			t.Fatal(err)
		}
		if got := log.Messages(wire.ToolsCall)[0].Body; !strings.Contains(got, want) {
			t.Errorf("%s: sent %s, want %s in it", name, got, want)
		}
	}
}
