package hub

import (
	"os"
	"strings"
	"testing"
	"time"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// TestB089 and B092: servers that do not come up hold nobody else up.
func TestB089(t *testing.T) {
	h := start(t, nil, "one", stdio("well"), "mute", stdio("mute"), "two", stdio("well"), "none", entry{"command": "/does/not/exist"})
	deadline := time.Now().Add(10 * time.Second)
	for {
		began := time.Now()
		names, _ := tools(t, h)
		if d := time.Since(began); d > 2*time.Second {
			t.Fatalf("a list took %v", d)
		}
		if text := strings.Join(names, " "); strings.Contains(text, "mcp_one_echo") && strings.Contains(text, "mcp_two_echo") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %q", names)
		}
	}
	got := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_none_x"}`)
	if _, text := wire.ErrorOf(got.Error); !strings.Contains(text, `"/does/not/exist" not found`) {
		t.Errorf("the error is %s", got.Error)
	}
}

// TestB056 calls a tool of a server that is still starting.
func TestB056(t *testing.T) {
	h := start(t, nil, "up", stdio("well"))
	if got := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_echo","arguments":{"text":"early"}}`); !strings.Contains(string(got.Result), "early") {
		t.Errorf("got %s %s", got.Result, got.Error)
	}
}

// TestB132 has a child tell its environment.
func TestB132(t *testing.T) {
	t.Setenv("MCPHUB_TEST_SECRET", "hidden-from-children")
	own := stdio("well")
	own["env"].(map[string]string)["OWN"] = "its-own"
	all := stdio("well")
	all["inheritEnv"] = true
	h := settled(t, nil, "up", own, "all", all)
	got := string(ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_env"}`).Result)
	if strings.Contains(got, "hidden-from-children") || !strings.Contains(got, "its-own") || !strings.Contains(got, os.Getenv("PATH")) {
		t.Errorf("the child has %s", got)
	}
	if got := string(ask(t, h, "", wire.ToolsCall, `{"name":"mcp_all_env"}`).Result); !strings.Contains(got, "hidden-from-children") {
		t.Errorf("inheritEnv hands over only %s", got)
	}
}

// TestFailuresSayWhatToDo checks the table of errors on real trouble.
func TestFailuresSayWhatToDo(t *testing.T) {
	slow := stdio("well")
	slow["requestTimeoutMs"] = 200
	h := settled(t, nil, "slow", slow, "exits", stdio("exits-mid-call"), "auth", entry{"url": testmcp.HTTP(t, "401:tools/call").URL})
	for tool, want := range map[string][2]string{
		"mcp_slow_slow":  {"timeout", "requestTimeoutMs"},
		"mcp_exits_echo": {"outcome_unknown", "may have run"},
		"mcp_auth_echo":  {"needs_auth", "bearerTokenEnv"},
	} {
		got := ask(t, h, "", wire.ToolsCall, `{"name":"`+tool+`","arguments":{"ms":10000}}`)
		if kind := wire.String(wire.Path(got.Error, "data", "kind")); kind != want[0] || !strings.Contains(string(got.Error), want[1]) {
			t.Errorf("%s: %s %s", tool, got.Error, got.Result)
		}
	}
}

func TestDisabledAndBrokenEntries(t *testing.T) {
	h := settled(t, nil, "off", entry{"command": "x", "disabled": true}, "up", stdio("well"))
	if st := h.Servers()[0].Status(); st.State != "disabled" {
		t.Errorf("off is %+v", st)
	}
	if names, _ := tools(t, h); len(names) == 0 {
		t.Error("the other server's tools are missing")
	}
	down := settled(t, map[string]any{"enabled": false}, "up", stdio("well"))
	if names, _ := tools(t, down); len(names) != 0 || len(down.Servers()) != 0 {
		t.Errorf("settings.enabled false publishes %q", names)
	}
}

func TestInstructionsAreMergedAndBounded(t *testing.T) {
	h := settled(t, nil, "up", stdio("well"))
	for _, text := range []string{"short", strings.Repeat("字", 2000)} {
		if got := cut(text, instructionsEach); len(got) > instructionsEach || !strings.HasPrefix(text, strings.TrimSuffix(got, " …")) {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
	}
	said := h.Servers()[0].Offer().Instructions()
	got := wire.String(wire.Get(ask(t, h, "", wire.Initialize, `{"protocolVersion":"2025-06-18"}`).Result, "instructions"))
	if said != "" && !strings.Contains(got, "## up\n"+said) {
		t.Errorf("the server says %q, the hub %q", said, got)
	}
}

// TestCapabilitiesAreJoined greets clients of both eras at once after the start.
func TestCapabilitiesAreJoined(t *testing.T) {
	able := func(capabilities string) entry {
		e := stdio(testmcp.Replies{"initialize": `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"t","version":"1"}}`}.Name(t))
		e["startupTimeoutMs"] = 20_000
		return e
	}
	for method, params := range map[string]string{wire.Initialize: `{"protocolVersion":"2025-11-25","capabilities":{}}`, wire.Discover: `{}`} {
		h := start(t, nil, "a", able(`{"tasks":{"list":{}},"extensions":{"x/y":{"a":1}}}`), "b", able(`{"tasks":{"list":{},"requests":{"tools":{"call":{}}}},"extensions":{"x/y":{"b":[2]},"z":{}}}`))
		got := wire.Get(ask(t, h, "", method, params).Result, "capabilities")
		if tasks := string(wire.Get(got, "tasks")); tasks != `{"list":{},"requests":{"tools":{"call":{}}}}` {
			t.Errorf("%s: tasks are %s", method, tasks)
		}
		if extensions := string(wire.Get(got, "extensions")); extensions != `{"x/y":{"a":1,"b":[2]},"z":{}}` {
			t.Errorf("%s: extensions are %s", method, extensions)
		}
	}
}

func TestHeadersMirrorArguments(t *testing.T) {
	schema := []byte(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"o":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}}}}`)
	found, err := bindings(schema)
	if err != nil || len(found) != 2 {
		t.Fatalf("%v, %v", found, err)
	}
	tool := &tool{headers: found}
	args := []byte(`{"region":"Hello, 世界","o":{"n":42}}`)
	headers := tool.mirror(args)
	if headers["Region"] != "=?base64?SGVsbG8sIOS4lueVjA==?=" || headers["N"] != "42" {
		t.Errorf("mirrored %v", headers)
	}
	for _, c := range []struct {
		sent map[string]string
		args string
		ok   bool
	}{
		{map[string]string{"region": headers["Region"], "n": "42.0"}, string(args), true},
		{map[string]string{"region": "=?base64?SGVsbG8?="}, `{"region":"Hello"}`, false},
		{map[string]string{"region": "=?base64?SGVs!!!bG8=?="}, `{"region":"Hello"}`, false},
		{map[string]string{"region": "=?base64?SGVsbG8="}, `{"region":"=?base64?SGVsbG8="}`, true},
		{map[string]string{}, `{"region":"Hello"}`, false},
		{map[string]string{}, `{"region":null}`, true},
		{map[string]string{"region": "x"}, `{}`, false},
	} {
		if err := tool.checkHeaders(c.sent, []byte(c.args)); (err == nil) != c.ok {
			t.Errorf("%v with %s: %v", c.sent, c.args, err)
		}
	}
	for _, bad := range []string{
		`{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}`, `{"properties":{"a":{"type":"string","x-mcp-header":""}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A B"}}}`,
		`{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}`,
	} {
		if _, err := bindings([]byte(bad)); err == nil {
			t.Errorf("%s passed", bad)
		}
	}
}
