package front

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcphub/config"
	"mcphub/wire"
)

func TestCurlNeedsNoHandshake(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	list := r.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "Accept", "*/*")
	if list.status != http.StatusOK || list.header.Get("Content-Type") != "application/json" || !strings.Contains(list.body, `"mcp_up_echo"`) {
		t.Fatalf("tools/list: HTTP %d %s", list.status, list.body)
	}
	got := r.post("/mcp", call("1", "mcp_up_echo", `{"text":"hi"}`), "Accept", "*/*")
	if got.status != http.StatusOK || !strings.Contains(got.body, "hi") {
		t.Fatalf("tools/call: HTTP %d %s", got.status, got.body)
	}
	if n := len(r.front.sessions.all()); n != 0 {
		t.Errorf("%d sessions were opened", n)
	}
}

func TestIDsComeBackAsTheyWere(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	for _, id := range []string{`1`, `"1"`, `9007199254740993`, `1.5`, `-0`, `"ü\u00fc"`, `""`} {
		got := r.post("/mcp", call(id, "mcp_up_echo", `{}`))
		if m, err := wire.Scan([]byte(got.body)); err != nil || string(m.ID) != id || m.Result == nil {
			t.Errorf("id %s: %s (%v)", id, got.body, err)
		}
	}
}

// TestB093 has a client use one id for two requests at once.
func TestB093(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	session := r.initialize("/mcp", wire.V20250618)
	var both sync.WaitGroup
	for _, text := range []string{"AAA", "BBB"} {
		both.Go(func() {
			for range 50 {
				got := r.post("/mcp", call("1", "mcp_up_echo", `{"text":"`+text+`"}`), session...)
				if !strings.Contains(got.body, text) {
					t.Errorf("asked for %s, got %s", text, got.body)
				}
			}
		})
	}
	both.Wait()
}

func TestBadRequests(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{Settings: &config.Settings{Limits: config.Limits{MaxMessageBytes: 1 << 20}}})
	session := r.initialize("/mcp", wire.V20251125)
	for name, c := range map[string]struct {
		body    string
		headers []string
		status  int
		text    string
	}{
		"no JSON":              {`{"jsonrpc":`, nil, 400, `-32700`},
		"no message":           {`{"jsonrpc":"2.0"}`, nil, 400, `-32600`},
		"id null":              {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, nil, 400, `-32600`},
		"duplicate method":     {`{"id":1,"method":"ping","method":"tools/call"}`, nil, 400, `stands twice`},
		"unknown method":       {`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, nil, 200, `-32601`},
		"unknown in session":   {`{"jsonrpc":"2.0","id":1,"method":"no/such"}`, session, 200, `-32601`},
		"unknown notification": {`{"jsonrpc":"2.0","method":"notifications/no/such"}`, session, 202, ``},
		"unknown session":      {`{"jsonrpc":"2.0","id":7,"method":"ping"}`, []string{"Mcp-Session-Id", "x"}, 404, `"id":7`},
		"other view":           {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, append([]string{"view", "up"}, session...), 404, `session not found`},
		"old version":          {`{"jsonrpc":"2.0","id":1,"method":"ping"}`, []string{"Mcp-Protocol-Version", "2023-01-01"}, 400, `-32022`},
		"form":                 {`a=b`, []string{"Content-Type", "application/x-www-form-urlencoded"}, 415, `Content-Type: application/json`},
		"too large":            {strings.Repeat(" ", 1<<20+1), nil, 413, `limits.maxMessageBytes`},
		"ambiguous name":       {`{"id":1,"method":"tools/call","params":{"name":"mcp_up_echo","n\u0061me":"x"}}`, nil, 200, `stands twice`},
		"no name":              {`{"id":1,"method":"tools/call","params":{}}`, nil, 200, `-32602`},
		"unknown tool":         {call("1", "nope", "{}"), nil, 200, `unknown tool nope`},
		"bad cursor":           {`{"id":1,"method":"tools/list","params":{"cursor":"zzz"}}`, nil, 200, `-32602`},
	} {
		path := "/mcp"
		if len(c.headers) > 0 && c.headers[0] == "view" {
			path, c.headers = "/servers/up/mcp", c.headers[2:]
		}
		got := r.post(path, c.body, c.headers...)
		if got.status != c.status || !strings.Contains(got.body, c.text) {
			t.Errorf("%s: HTTP %d %s", name, got.status, got.body)
		}
	}
	if got := r.post("/servers/nope/mcp", `{}`); got.status != http.StatusNotFound {
		t.Errorf("unknown server: HTTP %d", got.status)
	}
}

func TestSessionLifecycle(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	for _, version := range []string{wire.V20241105, wire.V20250326, wire.V20250618, wire.V20251125} {
		session := r.initialize("/mcp", version)
		if got := r.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, session...); got.body != `{"jsonrpc":"2.0","id":1,"result":{}}` {
			t.Errorf("%s: ping gave %s", version, got.body)
		}
		if got := r.post("/mcp", call("1", "mcp_up_echo", `{"text":"x"}`), session...); got.header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: an answer with nothing before it came as %s", version, got.header.Get("Content-Type"))
		}
		if got := r.do(http.MethodDelete, "/mcp", "", session...); got.status != http.StatusNoContent {
			t.Errorf("%s: DELETE gave HTTP %d", version, got.status)
		}
		if got := r.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, session...); got.status != http.StatusNotFound {
			t.Errorf("%s: after DELETE: HTTP %d", version, got.status)
		}
	}
	if got := r.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2030-01-01"}}`); !strings.Contains(got.body, wire.V20251125) {
		t.Errorf("an unknown version was answered with %s", got.body)
	}
	if got := r.do(http.MethodGet, "/mcp", ""); got.status != http.StatusMethodNotAllowed {
		t.Errorf("GET without a session: HTTP %d", got.status)
	}
}

func TestBatches(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	batch := `[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},` + call(`"b"`, "mcp_up_echo", `{"text":"two"}`) + `,7]`
	old := r.initialize("/mcp", wire.V20250326)
	got := r.post("/mcp", batch, old...)
	answers, ok := wire.Batch([]byte(got.body))
	if !ok || len(answers) != 3 || !strings.Contains(string(answers[1]), "two") || !strings.Contains(string(answers[2]), "-32600") {
		t.Errorf("HTTP %d %s", got.status, got.body)
	}
	newer := r.initialize("/mcp", wire.V20250618)
	if got := r.post("/mcp", batch, newer...); got.status != http.StatusBadRequest {
		t.Errorf("a batch in 2025-06-18: HTTP %d %s", got.status, got.body)
	}
}

// TestB131 sends what a foreign web page would.
func TestB131(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	r.front.Reload(&config.Settings{PublicURL: "https://hub.example", Inbound: config.Inbound{
		AllowedHosts: []string{"mcphub.lan"}, AllowedOrigins: []string{"https://app.example"},
	}, Limits: config.Limits{MaxMessageBytes: 1 << 20}})
	own := strings.TrimPrefix(r.url, "http://")
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"evil.test", "", 403}, {"evil.test:80", "http://evil.test:80", 403}, {own, "http://evil.test", 403}, {own, "null", 403},
		{own, "", 200}, {own, "http://" + own, 200}, {"localhost:1", "http://localhost:5173", 200}, {"[::1]:80", "", 200},
		{"mcphub.lan:8080", "", 200}, {"MCPHUB.lan", "", 200}, {"hub.example", "https://hub.example", 200}, {own, "https://app.example", 200},
		{"10.0.0.7:8080", "", 200}, {"127.0.0.1.evil.test", "", 403}, {"localhost.evil.test", "", 403},
	} {
		headers := []string{"Host", c.host}
		if c.origin != "" {
			headers = append(headers, "Origin", c.origin)
		}
		for _, path := range []string{"/mcp", "/servers/up/mcp"} {
			if got := r.post(path, call("1", "mcp_up_echo", "{}"), headers...); got.status != c.status {
				t.Errorf("%s Host %q Origin %q: HTTP %d %s", path, c.host, c.origin, got.status, got.body)
			}
		}
	}
}

func TestPagesWhenAskedFor(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	whole := r.post("/mcp", `{"id":1,"method":"tools/list"}`)
	var all, paged int
	m, _ := wire.Scan([]byte(whole.body))
	for range wire.Elements(wire.Get(m.Result, "tools")) {
		all++
	}
	cursor := ""
	for range 100 {
		got := r.post("/mcp", `{"id":1,"method":"tools/list","params":{`+cursor+`"_meta":{"mcphub/pageSize":3}}}`)
		m, err := wire.Scan([]byte(got.body))
		if err != nil || m.Error != nil {
			t.Fatal(got.body)
		}
		n := 0
		for range wire.Elements(wire.Get(m.Result, "tools")) {
			n++
		}
		if paged += n; n > 3 {
			t.Errorf("a page of %d tools", n)
		}
		next := wire.Get(m.Result, "nextCursor")
		if next == nil {
			break
		}
		cursor = `"cursor":` + string(next) + `,`
	}
	if all == 0 || paged != all {
		t.Errorf("%d tools in one page, %d in pages", all, paged)
	}
}

// A client that has gone while its session was opened will never use it.
func TestClientGoneWhileInitializing(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	before := len(r.front.sessions.all())
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(gone, http.MethodPost, "/mcp", strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}`))
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	web{r.front}.streamable(w, req)
	if id := w.Header().Get("Mcp-Session-Id"); id != "" || len(r.front.sessions.all()) != before {
		t.Errorf("session %q was opened; %d are open, %d were before", id, len(r.front.sessions.all()), before)
	}
}
