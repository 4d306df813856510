package front

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/hub"
	"mcphub/internal/testmcp"
)

func TestMain(m *testing.M) {
	testmcp.Main()
	os.Exit(m.Run())
}

// entry is one server of a test's configuration, as a file says it.
type entry map[string]any

// stdio is the entry of a real child process.
func stdio(name string) entry {
	command, args, env := testmcp.Command(name)
	return entry{"command": command, "args": args, "env": env}
}

// rig is a hub with its door on a real socket.
type rig struct {
	t     testing.TB
	front *Front
	url   string
}

func newRig(t testing.TB, servers map[string]entry, opt Options) *rig {
	t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse("test.json", text, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range cfg.Problems {
		if p.Severity == config.Error {
			t.Fatal(p)
		}
	}
	h := hub.New(cfg, hub.Options{Log: zerolog.Nop(), Version: "test"})
	h.Start()
	if opt.Settings == nil {
		opt.Settings = &cfg.Settings
	}
	f := New(h, opt)
	router := chi.NewRouter()
	f.Mount(router)
	server := httptest.NewServer(router)
	t.Cleanup(func() {
		f.Drain()
		server.Close()
		f.Close()
		h.Close()
	})
	for _, s := range h.Servers() {
		select {
		case <-s.Settled():
		case <-time.After(20 * time.Second):
			t.Fatalf("server %s does not settle", s.Name())
		}
	}
	r := &rig{t: t, front: f, url: server.URL}
	r.post("/mcp", `{"jsonrpc":"2.0","id":0,"method":"tools/list"}`) // from here on the catalog has what the servers offer
	return r
}

// response is an HTTP response read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

// post sends one message to path with extra headers, given as name, value, name, value.
func (r *rig) post(path, body string, headers ...string) response {
	r.t.Helper()
	return r.do(http.MethodPost, path, body, headers...)
}

func (r *rig) do(method, path, body string, headers ...string) response {
	r.t.Helper()
	resp := r.open(method, path, body, headers...)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return response{resp.StatusCode, resp.Header, string(text)}
}

// open sends a request and leaves the body to the caller.
func (r *rig) open(method, path, body string, headers ...string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if strings.EqualFold(headers[i], "Host") {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp
}

// initialize opens a session of a version and returns its headers for later requests.
func (r *rig) initialize(path, version string) []string {
	r.t.Helper()
	resp := r.post(path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+
		`","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`)
	if resp.status != http.StatusOK {
		r.t.Fatalf("initialize: HTTP %d %s", resp.status, resp.body)
	}
	id := resp.header.Get("Mcp-Session-Id")
	if id == "" {
		r.t.Fatal("initialize gave no session id")
	}
	headers := []string{"Mcp-Session-Id", id, "Mcp-Protocol-Version", version}
	if got := r.post(path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...); got.status != http.StatusAccepted {
		r.t.Fatalf("initialized: HTTP %d %s", got.status, got.body)
	}
	return headers
}

// modernMeta is the _meta of a stateless client.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// call is a tools/call message.
func call(id, tool, args string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `}}`
}

// recorder is a ResponseWriter that costs next to nothing.
type recorder struct {
	header http.Header
	body   bytes.Buffer
	status int
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(status int)      { r.status = status }
