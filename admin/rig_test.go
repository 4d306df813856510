package admin

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
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

func stdio(name string) entry {
	command, args, env := testmcp.Command(name)
	return entry{"command": command, "args": args, "env": env}
}

// rig is a hub with the operator's door on a real socket, and the file that it is configured by.
type rig struct {
	t    testing.TB
	hub  *hub.Hub
	url  string
	file string
	done chan struct{}
	log  safeBuffer
	cfg  atomic.Pointer[config.Config]
}

func newRig(t testing.TB, servers map[string]entry) *rig {
	t.Helper()
	r := &rig{t: t, file: filepath.Join(t.TempDir(), "config.json"), done: make(chan struct{})}
	r.write(servers)
	cfg, err := config.Load([]string{r.file}, os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	r.cfg.Store(cfg)
	r.hub = hub.New(cfg, hub.Options{Log: zerolog.Nop(), Version: "test"})
	r.hub.Start()
	router := chi.NewRouter()
	router.Group(func(in chi.Router) { Mount(in, r.options()) })
	server := httptest.NewServer(router)
	r.url = server.URL
	t.Cleanup(func() {
		close(r.done)
		server.Close()
		r.hub.Close()
	})
	if status, body := r.get("/readyz?servers=settled"); status != http.StatusOK || body != "ready\n" {
		t.Fatalf("not ready: %d %s", status, body)
	}
	return r
}

func (r *rig) options() Options {
	return Options{
		Hub: r.hub, Log: zerolog.New(&r.log), Version: "test", MaxBody: 1 << 20, Config: r.cfg.Load, Done: r.done,
		Sessions: func() int { return 2 }, Reload: r.reload,
	}
}

// write writes the configuration file.
func (r *rig) write(servers map[string]entry) {
	r.t.Helper()
	text, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err == nil {
		err = os.WriteFile(r.file, text, 0o600)
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// reload reads the file anew, as the command does.
func (r *rig) reload() (Reloaded, error) {
	cfg, err := config.Load([]string{r.file}, os.LookupEnv)
	if err != nil {
		return Reloaded{}, err
	}
	r.cfg.Store(cfg)
	done := Reloaded{Report: r.hub.Reload(cfg)}
	done.Problems = ProblemsOf(r.hub.Problems(), All)
	return done, nil
}

// do sends a request as a plain curl would.
func (r *rig) do(method, path, body string) *http.Response {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", "*/*")
	if body != "" {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp
}

func (r *rig) get(path string) (status int, body string) { return r.send(http.MethodGet, path, "") }

func (r *rig) post(path, body string) (status int, answer string) {
	return r.send(http.MethodPost, path, body)
}

func (r *rig) send(method, path, body string) (status int, answer string) {
	r.t.Helper()
	resp := r.do(method, path, body)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// into decodes a good answer.
func (r *rig) into(v any, method, path, body string) {
	r.t.Helper()
	status, text := r.send(method, path, body)
	if status != http.StatusOK {
		r.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		r.t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
}

// problem asks for what goes wrong, and holds the answer against RFC 9457.
func (r *rig) problem(method, path, body string) Problem {
	r.t.Helper()
	resp := r.do(method, path, body)
	defer resp.Body.Close()
	var p Problem
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	if kind := resp.Header.Get("Content-Type"); kind != "application/problem+json" || p.Status != resp.StatusCode || p.Instance != "urn:mcphub:request:"+resp.Header.Get("X-Request-Id") {
		r.t.Errorf("%s %s: %s %d %+v", method, path, kind, resp.StatusCode, p)
	}
	return p
}

// every is a server in each state that a test can make.
func every(t testing.TB) map[string]entry {
	off, odd := stdio("well"), stdio("well")
	off["disabled"] = true
	odd["excludeTools"] = []string{"big", "nothing_*"}
	odd["tools"] = map[string]any{"echo": map[string]any{"name": "say"}}
	slow := stdio("well")
	slow["requestTimeoutMs"] = 300
	return map[string]entry{
		"well": stdio("well"), "odd": odd, "off": off, "slow": slow, "modern": {"url": testmcp.HTTP(t, "modern").URL},
		"gone": {"command": "/does/not/exist"}, "locked": {"url": testmcp.HTTP(t, "401").URL}, "wrong": {"comand": "x"},
		"ends": stdio("exits-at-start"), "crash": stdio("exits-mid-call"), "errs": stdio("errors"), "none": {"url": "http://127.0.0.1:1/mcp"},
	}
}

// eventually waits for what happens in its own time.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); !ok(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("not in 30 s: %s", what)
		}
	}
}
