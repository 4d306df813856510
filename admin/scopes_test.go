package admin

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"

	"mcphub/front"
)

// allowed is a rig whose hub takes servers as the setting sessionServers says.
func allowed(t testing.TB, setting string) *rig {
	t.Helper()
	r := newRig(t, map[string]entry{"well": stdio("well")})
	text, err := json.Marshal(map[string]any{"settings": map[string]any{"sessionServers": setting}, "mcpServers": map[string]entry{"well": stdio("well")}})
	if err == nil {
		err = os.WriteFile(r.file, text, 0o600)
	}
	if err == nil {
		_, err = r.reload()
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// json sends a body that says that it is JSON.
func (r *rig) json(method, path, body string) (status int, header http.Header, answer string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// scopeOf is the body that hands one server over, with a variable of its own.
func scopeOf(t testing.TB, value string) string {
	t.Helper()
	e := stdio("well")
	e["env"].(map[string]string)["WHOSE"] = value
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]entry{"mine": e}, "ttlSeconds": 600})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestScopes opens two scopes with a server of one name, connects to both, and ends one.
func TestScopes(t *testing.T) {
	r := allowed(t, "any")
	d := readDocument(t)
	door := chi.NewRouter()
	f := front.New(r.hub, front.Options{Log: zerolog.Nop(), Settings: &r.cfg.Load().Settings})
	f.Mount(door)
	server := httptest.NewServer(door)
	t.Cleanup(func() { f.Drain(); server.Close(); f.Close() })
	sessions, scopes := map[string]*mcp.ClientSession{}, map[string]ScopeView{}
	for _, whose := range []string{"hers", "his"} {
		status, header, text := r.json("POST", "/api/scopes", scopeOf(t, whose))
		var sc ScopeView
		if err := json.Unmarshal([]byte(text), &sc); err != nil || status != http.StatusCreated || header.Get("Location") != "/api/scopes/"+sc.ID {
			t.Fatalf("%d %s %v: %v", status, text, header, err)
		}
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if err := d.schema(t, d.operation(t, "POST", "/api/scopes"), "201", "application/json").Validate(value); err != nil {
			t.Error(err)
		}
		if sc.URL != r.url+"/scopes/"+sc.ID+"/mcp" || len(sc.Servers) != 1 || sc.Servers[0].Source != "scope" || sc.Ends.IsZero() {
			t.Errorf("%+v", sc)
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: server.URL + "/scopes/" + sc.ID + "/mcp"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = session.Close() })
		sessions[whose], scopes[whose] = session, sc
	}
	for whose, session := range sessions {
		for tool, want := range map[string]string{"mcp_mine_env": "WHOSE=" + whose, "mcp_well_whoami": "pid"} {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: map[string]any{}})
			if err != nil || !strings.Contains(fmt.Sprint(result.Content[0].(*mcp.TextContent).Text), want) {
				t.Errorf("%s of %s: %+v, %v", tool, whose, result, err)
			}
		}
	}
	var one ScopeView
	r.into(&one, "GET", "/api/scopes/"+scopes["hers"].ID, "")
	if one.Servers[0].Tools == 0 || one.Servers[0].State != "ready" {
		t.Errorf("%+v", one)
	}
	if status, body := r.send("DELETE", "/api/scopes/"+one.ID, ""); status != http.StatusNoContent || body != "" {
		t.Errorf("ending it: %d %s", status, body)
	}
	if _, err := sessions["hers"].CallTool(t.Context(), &mcp.CallToolParams{Name: "mcp_mine_env", Arguments: map[string]any{}}); err == nil {
		t.Error("a scope that has ended answers")
	}
	if _, err := sessions["his"].CallTool(t.Context(), &mcp.CallToolParams{Name: "mcp_mine_env", Arguments: map[string]any{}}); err != nil {
		t.Errorf("the other one does not: %v", err)
	}
	var left []ScopeView
	if r.into(&left, "GET", "/api/scopes", ""); len(left) != 1 || left[0].ID != scopes["his"].ID {
		t.Errorf("%+v", left)
	}
	for _, method := range []string{"GET", "DELETE"} {
		if p := r.problem(method, "/api/scopes/"+one.ID, ""); p.Status != 404 || p.Kind() != "unknown_scope" {
			t.Errorf("%s: %+v", method, p)
		}
	}
}

// TestRegistered registers a server by the API and takes it away.
func TestRegistered(t *testing.T) {
	r := allowed(t, "any")
	entry, err := json.Marshal(stdio("well"))
	if err != nil {
		t.Fatal(err)
	}
	if status, _, text := r.json("PUT", "/api/servers/new", string(entry)); status != http.StatusOK || !strings.Contains(text, `"added":["new"]`) {
		t.Fatalf("%d %s", status, text)
	}
	if status, text := r.post("/api/tools/new_echo", `{}`); status != http.StatusOK {
		t.Errorf("its tool: %d %s", status, text)
	}
	var d ServerDetail
	if r.into(&d, "GET", "/api/servers/new", ""); d.Source != "registered" || d.State != "ready" {
		t.Errorf("%+v", d)
	}
	var approved Approved
	if r.into(&approved, "POST", "/api/servers/well/approve", ""); approved.Tools == nil || len(approved.Tools) > 0 {
		t.Errorf("%+v", approved)
	}
	var done Reloaded
	if r.into(&done, "DELETE", "/api/servers/new", ""); len(done.Removed) != 1 {
		t.Errorf("%+v", done)
	}
	if p := r.problem("DELETE", "/api/servers/well", ""); p.Status != 409 || !strings.Contains(p.Detail, "mcphub remove well") {
		t.Errorf("%+v", p)
	}
}

// TestHandingOverIsRefused in each way there is, with the reason.
func TestHandingOverIsRefused(t *testing.T) {
	const program, web = `{"command":"true"}`, `{"url":"http://127.0.0.1:1/mcp"}`
	for _, c := range []struct {
		setting, method, path, body string
		status                      int
		kind, says                  string
	}{
		{"off", "POST", "/api/scopes", `{"mcpServers":{"a":` + web + `}}`, 403, "switched_off", "sessionServers"},
		{"off", "PUT", "/api/servers/a", web, 403, "switched_off", "sessionServers"},
		{"http", "POST", "/api/scopes", `{"mcpServers":{"a":` + program + `}}`, 422, "bad_servers", "is a program"},
		{"http", "PUT", "/api/servers/a", program, 422, "bad_servers", "is a program"},
		{"any", "POST", "/api/scopes", `{"mcpServers":{"a":{"comand":"x"},"b":{}}}`, 422, "bad_servers", `"command"`},
		{"any", "POST", "/api/scopes", `{"mcpServers":{"well":` + web + `}}`, 409, "taken", "well"},
		{"any", "PUT", "/api/servers/well", web, 409, "taken", "configuration"},
		{"any", "POST", "/api/scopes", `{}`, 422, "bad_servers", "no server"},
		{"any", "POST", "/api/scopes", `[`, 400, "bad_request", "JSON object"},
		{"any", "POST", "/api/scopes", `{"mcpServers":{"a":` + web + `},"ttlSeconds":-1}`, 400, "bad_request", "ttlSeconds"},
		{"any", "PUT", "/api/servers/a", `{`, 400, "bad_request", "no JSON"},
		{"any", "POST", "/api/scopes", `{"mcpServers":"` + strings.Repeat("x", 2<<20) + `"}`, 413, "body_too_large", "1048576"},
	} {
		r := allowed(t, c.setting)
		status, _, text := r.json(c.method, c.path, c.body)
		var p Problem
		if err := json.Unmarshal([]byte(text), &p); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		if status != c.status || p.Kind() != c.kind || !strings.Contains(p.Detail+strings.Join(p.Errors, " "), c.says) {
			t.Errorf("%s %s %.60s: %d %s", c.method, c.path, c.body, status, text)
		}
	}
	r := allowed(t, "any")
	if p := r.problem("POST", "/api/scopes", `{"mcpServers":{}}`); p.Status != 415 { // as a form of a web page would
		t.Errorf("%+v", p)
	}
	if p := r.problem("POST", "/api/servers/nobody/approve", ""); p.Status != 404 {
		t.Errorf("%+v", p)
	}
}
