package hub

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/wire"
)

func TestMain(m *testing.M) {
	testmcp.Main()
	os.Exit(m.Run())
}

type entry map[string]any

func stdio(name string) entry {
	command, args, env := testmcp.Command(name)
	return entry{"command": command, "args": args, "env": env}
}

// start runs a hub with these settings and servers, in this order: name, entry, name, entry.
func start(t testing.TB, settings map[string]any, servers ...any) *Hub {
	t.Helper()
	h := New(parse(t, settings, servers...), Options{Log: zerolog.Nop(), Version: "test"})
	h.Start()
	t.Cleanup(h.Close)
	return h
}

// settled is start, with every server tried once.
func settled(t testing.TB, settings map[string]any, servers ...any) *Hub {
	t.Helper()
	h := start(t, settings, servers...)
	for _, s := range h.Servers() {
		select {
		case <-s.Settled():
		case <-time.After(20 * time.Second):
			t.Fatalf("server %s does not settle", s.Name())
		}
	}
	return h
}

func parse(t testing.TB, settings map[string]any, servers ...any) *config.Config {
	t.Helper()
	text := []byte(`{"mcpServers":{`)
	for i := 0; i < len(servers); i += 2 {
		value, err := json.Marshal(servers[i+1])
		if err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, wire.Quote(servers[i].(string))...), ':'), value...)
	}
	more, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	if settings == nil {
		more = []byte("{}")
	}
	text = append(append(append(text, `},"settings":`...), more...), '}')
	cfg, err := config.Parse("test.json", text, os.LookupEnv)
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for _, p := range cfg.Problems {
		if p.Severity == config.Error {
			t.Fatal(p)
		}
	}
	return cfg
}

// ask sends one request of a client without a session.
func ask(t testing.TB, h *Hub, view, method, params string) Answer {
	t.Helper()
	return serve(t, h, &Client{Door: Door{Server: view}}, method, params)
}

// serve sends one request of a client.
func serve(t testing.TB, h *Hub, c *Client, method, params string) Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	m, err := wire.Scan(wire.AppendRequest(nil, []byte("1"), method, []byte(params)))
	if err != nil {
		t.Fatal(err)
	}
	return h.Serve(ctx, &Request{Client: c, Msg: m})
}

// tools returns the published definitions of the servers' tools by name, in order.
func tools(t testing.TB, h *Hub) (names []string, byName map[string][]byte) {
	t.Helper()
	byName = map[string][]byte{}
	for item := range wire.Elements(wire.Get(ask(t, h, "", wire.ToolsList, "{}").Result, "tools")) {
		name := wire.String(wire.Get(item, "name"))
		if h.base.current().byName[name].builtin != nil {
			continue
		}
		if byName[name] != nil {
			t.Errorf("%s is published twice", name)
		}
		names = append(names, name)
		byName[name] = item
	}
	return names, byName
}

func notesOf(h *Hub, server string) []string {
	_, notes := h.Published(server)
	return notes
}
