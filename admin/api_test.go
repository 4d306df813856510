package admin

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"mcphub/internal/testmcp"
)

func TestStatusAndServers(t *testing.T) {
	r := newRig(t, every(t))
	byName := map[string]ServerView{}
	eventually(t, "locked is not just being tried again", func() bool {
		var servers []ServerView
		r.into(&servers, http.MethodGet, "/api/servers", "")
		for _, s := range servers {
			byName[s.Name] = s
		}
		return byName["locked"].State == "needs_auth"
	})
	for name, want := range map[string]string{"well": "ready", "off": "disabled", "wrong": "failed", "locked": "needs_auth", "modern": "ready"} {
		if s := byName[name]; s.State != want || s.Since.IsZero() || (want == "ready") != s.Fine() && want != "disabled" || (want != "ready") != (s.Fix != "") {
			t.Errorf("%s: %+v", name, s)
		}
	}
	if s := byName["well"]; s.Tools < 20 || s.ProtocolVersion == "" || s.PID == 0 || s.Type != "stdio" || s.Lifecycle != "lazy" {
		t.Errorf("well: %+v", s)
	}
	var st StatusView
	r.into(&st, http.MethodGet, "/api/status", "")
	if st.Version != "test" || st.PID == 0 || !st.Enabled || st.Servers != len(every(t)) || *st.Sessions != 2 || st.UptimeSeconds < 0 || st.Tools < byName["well"].Tools {
		t.Errorf("status: %+v", st)
	}
	total := 0
	for _, n := range st.States {
		total += n
	}
	if total != st.Servers || st.States["disabled"] != 1 || len(st.Problems) == 0 || st.Problems[0].Server != "wrong" {
		t.Errorf("status: %+v", st)
	}
}

func TestServerDetail(t *testing.T) {
	r := newRig(t, every(t))
	var d ServerDetail
	r.into(&d, http.MethodGet, "/api/servers/odd", "")
	if d.Entry.File != r.file || d.Entry.Path != "mcpServers.odd" || !slices.Contains(d.Published, "mcp_odd_say") || slices.Contains(d.Published, "mcp_odd_big") || len(d.ServerInfo) == 0 || len(d.Published) != d.Tools {
		t.Errorf("odd: %+v", d)
	}
	if !strings.Contains(strings.Join(d.Notes, "\n"), "nothing_*") {
		t.Errorf("odd has the notes %q", d.Notes)
	}
	r.into(&d, http.MethodGet, "/api/servers/wrong", "")
	if len(d.Problems) == 0 || !strings.Contains(d.Problems[0].Message, "command") {
		t.Errorf("wrong: %+v", d)
	}
}

// TestProblems asks for everything that there is not.
func TestProblems(t *testing.T) {
	r := newRig(t, map[string]entry{"well": stdio("well")})
	for _, c := range []struct {
		method, path, body string
		status             int
		kind, says         string
	}{
		{"GET", "/api", "", 404, "not_found", "/api/openapi.json"},
		{"GET", "/api/nothing", "", 404, "not_found", "/api/nothing"},
		{"POST", "/api/status", "", 405, "wrong_method", "takes GET, not POST"},
		{"PATCH", "/api/servers/well", "", 405, "wrong_method", "PUT"},
		{"GET", "/api/tools/mcp_well_echo", "", 405, "wrong_method", "takes POST, not GET"},
		{"GET", "/api/servers/nobody", "", 404, "unknown_server", `"nobody"`},
		{"GET", "/api/servers/a%2Fb%20%25", "", 404, "unknown_server", `"a/b %"`},
		{"GET", "/api/servers/nobody/logs", "", 404, "unknown_server", "/api/servers"},
		{"POST", "/api/servers/nobody/check", "", 404, "unknown_server", "/api/servers"},
		{"POST", "/api/servers/nobody/reconnect", "", 404, "unknown_server", "/api/servers"},
		{"GET", "/api/tools?server=nobody", "", 404, "unknown_server", "nobody"},
		{"GET", "/api/servers/well/logs?lines=many", "", 400, "bad_request", `"many"`},
		{"GET", "/api/servers/well/logs?follow=yes", "", 400, "bad_request", `"yes"`},
		{"POST", "/api/tools/mcp_well_echo", "no JSON", 400, "bad_request", "JSON object"},
		{"POST", "/api/tools/mcp_well_echo", "[1]", 400, "bad_request", "JSON object"},
		{"POST", "/api/tools/mcp_well_echo", `{"a":1} {}`, 400, "bad_request", "JSON object"},
		{"POST", "/api/tools/mcp_well_echo", `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, 413, "body_too_large", "1048576"},
	} {
		p := r.problem(c.method, c.path, c.body)
		if p.Status != c.status || p.Kind() != c.kind || p.Title == "" || !strings.Contains(p.Detail, c.says) {
			t.Errorf("%s %s: %+v", c.method, c.path, p)
		}
	}
	resp := r.do("PUT", "/api/servers", "")
	defer resp.Body.Close()
	if allow := resp.Header.Get("Allow"); allow != "GET" {
		t.Errorf("Allow is %q", allow)
	}
}

// TestRefuse answers what a door of another room keeps out, in the form that its path has.
func TestRefuse(t *testing.T) {
	r := newRig(t, nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { Refuse(w, r, "not from there") }))
	defer server.Close()
	r.url = server.URL
	for _, path := range []string{"/api", "/api/tools"} {
		if p := r.problem(http.MethodGet, path, ""); p.Status != 403 || p.Detail != "not from there" {
			t.Errorf("%s: %+v", path, p)
		}
	}
	if status, body := r.get("/mcp"); status != 403 || body != "not from there\n" {
		t.Errorf("/mcp: %d %s", status, body)
	}
}

// TestPanicIsAProblem has a handler panic.
func TestPanicIsAProblem(t *testing.T) {
	r := newRig(t, nil)
	a := &api{r.options()}
	router := chi.NewRouter()
	router.Use(a.enter)
	router.Get("/panics", func(http.ResponseWriter, *http.Request) { panic("secret reason") })
	server := httptest.NewServer(router)
	defer server.Close()
	r.url = server.URL
	p := r.problem(http.MethodGet, "/panics", "")
	if p.Status != 500 || strings.Contains(p.Detail, "secret") || !strings.Contains(p.Detail, strings.TrimPrefix(p.Instance, "urn:mcphub:request:")) {
		t.Errorf("got %+v", p)
	}
	if !strings.Contains(r.log.String(), "secret reason") {
		t.Errorf("the log has %s", r.log.String())
	}
}

func TestReload(t *testing.T) {
	r := newRig(t, map[string]entry{"well": stdio("well"), "old": stdio("well")})
	r.write(map[string]entry{"well": stdio("well"), "new": stdio("well"), "wrong": {"comand": "x"}})
	var done Reloaded
	r.into(&done, http.MethodPost, "/api/reload", "")
	if !slices.Equal(done.Kept, []string{"well"}) || !slices.Equal(done.Removed, []string{"old"}) || !slices.Contains(done.Added, "new") || len(done.Problems) == 0 {
		t.Errorf("reloaded %+v", done)
	}
	before := r.cfg.Load()
	r.file = "/does/not/exist"
	if p := r.problem(http.MethodPost, "/api/reload", ""); p.Status != 422 || p.Kind() != "configuration" || !strings.Contains(p.Detail, "/does/not/exist") || !strings.Contains(p.Detail, "nothing has changed") {
		t.Errorf("got %+v", p)
	}
	if r.cfg.Load() != before {
		t.Error("the configuration is another one")
	}
	router := chi.NewRouter()
	Mount(router, Options{Hub: r.hub})
	server := httptest.NewServer(router)
	defer server.Close()
	r.url = server.URL
	if p := r.problem(http.MethodPost, "/api/reload", ""); p.Status != 501 {
		t.Errorf("without a file: %+v", p)
	}
}

// TestCheckAndReconnect names the step at which each server fails.
func TestCheckAndReconnect(t *testing.T) {
	r := newRig(t, every(t))
	for name, step := range map[string]string{
		"well": "", "modern": "", "off": "", "gone": "program", "ends": "start", "locked": "auth", "none": "network", "wrong": "config",
	} {
		for _, verb := range []string{"check", "reconnect"} {
			var f Finding
			r.into(&f, http.MethodPost, "/api/servers/"+name+"/"+verb, "")
			if string(f.Step) != step || f.OK != (step == "") || f.Skipped != (name == "off") || (f.Fix == "") != f.OK || (f.Reason == "") != f.OK {
				t.Errorf("%s of %s: %+v", verb, name, f)
			}
		}
	}
	pid := r.hub.Server("well").PID()
	var f Finding
	if r.into(&f, http.MethodPost, "/api/servers/well/check", ""); r.hub.Server("well").PID() != pid || f.Tools < 20 {
		t.Errorf("a check started another process: %+v", f)
	}
	if r.into(&f, http.MethodPost, "/api/servers/well/reconnect", ""); r.hub.Server("well").PID() == pid {
		t.Error("after a reconnect it is the same process")
	}
}

// TestHealth: a hub without servers is ready too.
func TestHealth(t *testing.T) {
	r := newRig(t, nil)
	for path, want := range map[string]string{"/healthz": "ok\n", "/readyz": "ready\n", "/readyz?servers=settled": "ready\n"} {
		if status, body := r.get(path); status != 200 || body != want {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// TestWhyRoute takes names with every kind of character.
func TestWhyRoute(t *testing.T) {
	var s testmcp.Script
	s.Tools = [][]byte{[]byte(`{"name":"a/b %c"}`)}
	r := newRig(t, map[string]entry{"odd": stdio(s.Name(t))})
	for _, path := range []string{"/api/tools/odd%2Fa%2Fb%20%25c/why", "/api/tools/a%2Fb%20%25c/why"} {
		var why struct{ Verdict, Server, Tool, Name string }
		r.into(&why, http.MethodGet, path, "")
		if why.Verdict != "listed" || why.Server != "odd" || why.Tool != "a/b %c" {
			t.Errorf("%s: %+v", path, why)
		}
	}
}
