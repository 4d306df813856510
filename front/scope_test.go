package front

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/hub"
	"mcphub/wire"
)

// handing is a rig whose clients may hand over servers, which are kept in dir as sessions are.
func handing(t *testing.T, dir string) *rig {
	t.Helper()
	cfg, err := config.Parse("test.json", []byte(`{"settings":{"sessionServers":"any"},"mcpServers":{"all":`+raw(t, stdio("well"))+`}}`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	h := hub.New(cfg, hub.Options{Log: zerolog.Nop(), Version: "test", ScopeDir: dir + "/scopes"})
	h.Start()
	f := New(h, Options{Settings: &cfg.Settings, SessionDir: dir + "/sessions"})
	router := chi.NewRouter()
	f.Mount(router)
	server := httptest.NewServer(router)
	t.Cleanup(func() {
		f.Drain()
		server.Close()
		f.Close()
		h.Close()
	})
	return &rig{t: t, front: f, url: server.URL}
}

// mine is a server of the client's own, as it hands it over.
func mine(t *testing.T) string {
	t.Helper()
	e := stdio("well")
	e["env"].(map[string]string)["WHOSE"] = "hers"
	return `{"mine":` + raw(t, e) + `}`
}

// TestScopesOfSessions uses a scope's servers in both eras, and goes on with its session in the hub's next process.
func TestScopesOfSessions(t *testing.T) {
	dir := t.TempDir()
	before := handing(t, dir)
	sc, err := before.front.hub.Scopes().Open([]byte(`{"mcpServers":`+mine(t)+`}`), 0)
	if err != nil {
		t.Fatal(err)
	}
	path := "/scopes/" + sc.ID + "/mcp"
	session := before.initialize(path, wire.V20251125)
	given := handOver(before, t)
	for name, r := range map[string]*rig{"before": before, "after": handing(t, dir)} {
		for what, got := range map[string]response{
			"its session":       r.post(path, call("1", "mcp_mine_env", "{}"), session...),
			"without a session": r.post(path, call("1", "mcp_mine_env", "{}")),
			"stateless":         r.modern(path, "1", wire.ToolsCall, `{"name":"mcp_mine_env","arguments":{}}`),
			"handed over":       r.post("/mcp", call("1", "mcp_mine_env", "{}"), given...),
		} {
			if got.status != http.StatusOK || !strings.Contains(got.body, "WHOSE=hers") {
				t.Errorf("%s the restart, %s: HTTP %d %s", name, what, got.status, got.body)
			}
		}
		for what, got := range map[string]response{
			"the session at /mcp": r.post("/mcp", call("1", "mcp_mine_env", "{}"), session...),
			"another scope":       r.post("/scopes/"+strings.Repeat("0", 32)+"/mcp", call("1", "mcp_mine_env", "{}")),
		} {
			if got.status != http.StatusNotFound {
				t.Errorf("%s the restart, %s: HTTP %d %s", name, what, got.status, got.body)
			}
		}
		if got := r.post("/mcp", call("1", "mcp_mine_env", "{}")); !strings.Contains(got.body, "unknown tool") {
			t.Errorf("%s the restart, everybody: HTTP %d %s", name, got.status, got.body)
		}
	}
	if files, _ := os.ReadDir(dir + "/sessions"); len(files) != 2 {
		t.Errorf("%d sessions are kept", len(files))
	}
}

// handOver opens a session that brings a server of its own, and returns its headers.
func handOver(r *rig, t *testing.T) []string {
	t.Helper()
	resp := r.open(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
		`"clientInfo":{"name":"t","version":"1"},"_meta":{"mcphub/servers":`+mine(t)+`}}}`)
	defer resp.Body.Close()
	id := resp.Header.Get(wire.HeaderSession)
	if id == "" {
		t.Fatalf("HTTP %d without a session", resp.StatusCode)
	}
	return []string{wire.HeaderSession, id, wire.HeaderVersion, wire.V20251125}
}
