package front

import (
	"net/http"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// modern sends a well-formed stateless request; edits are header changes, as name and value.
func (r *rig) modern(path, id, method, params string, edits ...string) response {
	r.t.Helper()
	name := wire.String(wire.Get([]byte(params), "name"))
	headers := []string{"Mcp-Protocol-Version", wire.V20260728, "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(params, "{"), "}")
	if inner != "" {
		inner += ","
	}
	body := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{` + inner + modernMeta + `}}`
	return r.post(path, body, append(headers, edits...)...)
}

func TestModernListAndCall(t *testing.T) {
	r := newRig(t, map[string]entry{"old": stdio("well"), "new": {"url": testmcp.HTTP(t, "modern").URL}}, Options{})
	list := r.modern("/mcp", `"l"`, wire.ToolsList, "{}")
	m, err := wire.Scan([]byte(list.body))
	if err != nil || list.status != http.StatusOK {
		t.Fatalf("HTTP %d %s", list.status, list.body)
	}
	for key, want := range map[string]string{"resultType": `"complete"`, "cacheScope": `"private"`, "ttlMs": "0"} {
		if got := string(wire.Get(m.Result, key)); got != want {
			t.Errorf("tools/list: %s is %s", key, got)
		}
	}
	for _, server := range []string{"old", "new"} {
		got := r.modern("/mcp", "1", wire.ToolsCall, `{"name":"mcp_`+server+`_echo","arguments":{"text":"hi"}}`)
		m, _ := wire.Scan([]byte(got.body))
		if got.status != http.StatusOK || string(wire.Get(m.Result, "resultType")) != `"complete"` || !strings.Contains(got.body, "hi") {
			t.Errorf("%s: HTTP %d %s", server, got.status, got.body)
		}
		if info := wire.Path(m.Result, "_meta", wire.MetaServerInfo, "name"); string(info) != `"mcphub"` {
			t.Errorf("%s: the answer poses as %s", server, info)
		}
		session := r.initialize("/mcp", wire.V20251125)
		legacy := r.post("/mcp", call("1", "mcp_"+server+"_echo", `{"text":"hi"}`), session...)
		if strings.Contains(legacy.body, wire.MetaServerInfo) || !strings.Contains(legacy.body, "hi") {
			t.Errorf("%s: a session client got %s", server, legacy.body)
		}
	}
	if n := len(r.front.sessions.all()); n != 2 {
		t.Errorf("stateless requests left %d sessions", n-2)
	}
}

func TestModernChecks(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	tool := `{"name":"mcp_up_echo","arguments":{}}`
	for name, c := range map[string]struct {
		got    response
		status int
		code   string
	}{
		"no method header":   {r.modern("/mcp", "1", wire.ToolsList, "{}", "Mcp-Method", ""), 400, "-32020"},
		"other method":       {r.modern("/mcp", "1", wire.ToolsList, "{}", "Mcp-Method", "prompts/list"), 400, "-32020"},
		"method's case":      {r.modern("/mcp", "1", wire.ToolsList, "{}", "Mcp-Method", "TOOLS/LIST"), 400, "-32020"},
		"no name header":     {r.modern("/mcp", "1", wire.ToolsCall, tool, "Mcp-Name", ""), 400, "-32020"},
		"other name":         {r.modern("/mcp", "1", wire.ToolsCall, tool, "Mcp-Name", "other"), 400, "-32020"},
		"blanks around name": {r.modern("/mcp", "1", wire.ToolsCall, tool, "Mcp-Name", "  mcp_up_echo  "), 200, ""},
		"name in base64":     {r.modern("/mcp", "1", wire.ToolsCall, tool, "Mcp-Name", "=?base64?bWNwX3VwX2VjaG8=?="), 200, ""},
		"no version header":  {r.modern("/mcp", "1", wire.ToolsList, "{}", "Mcp-Protocol-Version", ""), 400, "-32020"},
		"versions differ":    {r.modern("/mcp", "1", wire.ToolsList, "{}", "Mcp-Protocol-Version", "v999.0.0"), 400, "-32020"},
		"no _meta": {r.post("/mcp", `{"jsonrpc":"2.0","id":101,"method":"server/discover","params":{}}`,
			"Mcp-Protocol-Version", wire.V20260728, "Mcp-Method", wire.Discover), 400, "-32602"},
		"unknown version": {r.post("/mcp", strings.ReplaceAll(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{`+modernMeta+`}}`, wire.V20260728, "v999.0.0"),
			"Mcp-Protocol-Version", "v999.0.0", "Mcp-Method", wire.Discover), 400, "-32022"},
		"initialize":     {r.modern("/mcp", "1", wire.Initialize, "{}"), 404, "-32601"},
		"ping":           {r.modern("/mcp", "1", wire.Ping, "{}"), 404, "-32601"},
		"set level":      {r.modern("/mcp", "1", wire.SetLevel, "{}"), 404, "-32601"},
		"unknown method": {r.modern("/mcp", "601", "unknown/method", "{}"), 404, "-32601"},
		"unknown tool":   {r.modern("/mcp", "1", wire.ToolsCall, `{"name":"nope"}`), 400, "-32602"},
		"discover":       {r.modern("/mcp", "1", wire.Discover, "{}"), 200, ""},
	} {
		m, err := wire.Scan([]byte(c.got.body))
		code := string(wire.Get(m.Error, "code"))
		if err != nil || c.got.status != c.status || code != c.code || m.ID == nil {
			t.Errorf("%s: HTTP %d %s", name, c.got.status, c.got.body)
		}
	}
}

func TestModernRelay(t *testing.T) {
	up := testmcp.HTTP(t, "modern")
	r := newRig(t, map[string]entry{"new": {"url": up.URL}, "old": stdio("well")}, Options{})
	for _, server := range []string{"new", "old"} {
		path := "/servers/" + server + "/mcp"
		if got := r.modern(path, "1", wire.ToolsCall, `{"name":"echo","arguments":{"text":"hi"}}`); got.status != 200 || !strings.Contains(got.body, `"resultType"`) {
			t.Errorf("%s: HTTP %d %s", server, got.status, got.body)
		}
		got := r.modern(path, "1", wire.Discover, "{}")
		m, _ := wire.Scan([]byte(got.body))
		if !strings.Contains(string(wire.Get(m.Result, "supportedVersions")), wire.V20260728) || wire.Path(m.Result, "capabilities", "resources") == nil {
			t.Errorf("%s: discover gave %s", server, got.body)
		}
		got = r.modern(path, "1", wire.ResourcesList, "{}")
		m, _ = wire.Scan([]byte(got.body))
		for _, key := range []string{"resources", "resultType", "ttlMs", "cacheScope"} {
			if wire.Get(m.Result, key) == nil {
				t.Errorf("%s: resources/list lacks %s: %s", server, key, got.body)
			}
		}
	}
}
