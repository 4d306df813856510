package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
)

func TestTools(t *testing.T) {
	r := newRig(t, every(t))
	var all, odd []ToolView
	r.into(&all, http.MethodGet, "/api/tools", "")
	r.into(&odd, http.MethodGet, "/api/tools?server=odd", "")
	find := func(tools []ToolView, name string) *ToolView {
		i := slices.IndexFunc(tools, func(v ToolView) bool { return v.Name == name })
		if i < 0 {
			t.Fatalf("%s is not among the tools", name)
		}
		return &tools[i]
	}
	if v := find(odd, "mcp_odd_say"); v.Server != "odd" || v.Tool != "echo" || !v.ReadOnly || v.Destructive || v.Description == "" || !strings.Contains(string(v.InputSchema), `"text"`) {
		t.Errorf("got %+v", v)
	}
	if v := find(all, "mcp_well_append"); v.ReadOnly || !v.Destructive {
		t.Errorf("got %+v", v)
	}
	if v := find(all, "mcp_read_resource"); v.Server != "" || v.Tool != "" || !v.ReadOnly {
		t.Errorf("got %+v", v)
	}
	if len(all) <= len(odd) || slices.ContainsFunc(odd, func(v ToolView) bool { return v.Server != "odd" }) {
		t.Errorf("%d of %d tools are odd's", len(odd), len(all))
	}
}

// TestCall runs tools as curl would, and gets the very bytes of their results.
func TestCall(t *testing.T) {
	script := testmcp.Script{
		Tools:   [][]byte{[]byte(`{"name":"exact"}`), []byte(`{"name":"a/b"}`)},
		Results: map[string][]byte{"exact": []byte(`{"z":12345678901234567890, "content":[],"a":1.0e3}`)},
	}
	r := newRig(t, map[string]entry{"well": stdio("well"), "s": stdio(script.Name(t))})
	var odd []ToolView
	r.into(&odd, http.MethodGet, "/api/tools?server=s", "")
	for _, c := range []struct{ path, body, want string }{
		{"mcp_s_exact", "", `{"z":12345678901234567890, "content":[],"a":1.0e3}`},
		{"mcp_s_exact", " {} ", `{"z":12345678901234567890, "content":[],"a":1.0e3}`},
		{"mcp_s%5Fexact", "\ufeff{}", `{"z":12345678901234567890`},
		{odd[1].Name, `{"n":9007199254740993}`, `"name":"a/b","arguments":{"n":9007199254740993}`},
		{"mcp_well_echo", `{"text":"<hé>"}`, `<hé>`},
		{"mcp_well_fail", "", `"isError":true`},
		{"mcp_list_resources", "", `"content"`},
	} {
		status, body := r.post("/api/tools/"+c.path, c.body)
		if status != http.StatusOK || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s, want %s", c.path, status, body, c.want)
		}
	}
}

// TestCallProblems tells trouble with a server by its kind.
func TestCallProblems(t *testing.T) {
	r := newRig(t, every(t))
	for _, c := range []struct {
		tool, body   string
		status       int
		kind, server string
		says         string
	}{
		{"mcp_well_nothing", "", 404, "unknown_tool", "well", "mcphub tools"},
		{"mcp_odd_big", "", 404, "unknown_tool", "odd", "excludeTools"},
		{"mcp_gone_x", "", 404, "unknown_tool", "gone", "not found"},
		{"mcp_off_x", "", 404, "unknown_tool", "off", "mcphub enable off"},
		{"mcp_slow_slow", `{"ms":60000}`, 504, "timeout", "slow", "requestTimeoutMs"},
		{"mcp_crash_echo", "", 502, "outcome_unknown", "crash", "may have run"},
		{"mcp_errs_echo", "", 502, "server_error", "errs", ""},
		{"mcp_read_resource/x", "", 404, "not_found", "", "openapi.json"},
	} {
		var p Problem
		eventually(t, c.tool+" is answered as it should be", func() bool { // a server that fails is tried again, and then has no reason yet
			p = r.problem(http.MethodPost, "/api/tools/"+c.tool, c.body)
			return strings.Contains(p.Detail, c.says)
		})
		if p.Status != c.status || p.Kind() != c.kind || p.Server != c.server || (p.MCP == nil) != (c.kind == "not_found") {
			t.Errorf("%s: %+v %s", c.tool, p, p.MCP)
		}
	}
}

// TestCallEndsWithItsClient: a curl that is stopped stops its call.
func TestCallEndsWithItsClient(t *testing.T) {
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	r := newRig(t, map[string]entry{"well": {"command": command, "args": args, "env": env}})
	got := func(method string) func() bool {
		return func() bool {
			return slices.ContainsFunc(log.Events(), func(e testmcp.Event) bool { return e.Method == method })
		}
	}
	ctx, leave := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url+"/api/tools/mcp_well_slow", strings.NewReader(`{"ms":60000}`))
	if err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			resp.Body.Close()
		}
		answered <- err
	}()
	eventually(t, "the server has the call", got("tools/call"))
	leave()
	if err := <-answered; err == nil {
		t.Error("the call was answered")
	}
	eventually(t, "the server hears that the call is cancelled", got("notifications/cancelled"))
}
