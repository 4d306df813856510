package hub

import (
	"encoding/json"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/wire"
)

// handing lets clients hand over any server.
var handing = map[string]any{"sessionServers": "any"}

// given is one server named "mine", with a variable of its own.
func given(t testing.TB, value string) []byte {
	t.Helper()
	e := stdio("well")
	e["env"].(map[string]string)["WHOSE"] = value
	text, err := json.Marshal(map[string]any{"mcpServers": map[string]any{"mine": e}})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func open(t testing.TB, h *Hub, value string) Scope {
	t.Helper()
	sc, err := h.Scopes().Open(given(t, value), 0)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// visitor is a client in a scope, without a session.
func visitor(id string) *Client { return &Client{Door: Door{Scope: id}} }

// alive says whether a process is there.
func alive(t testing.TB, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.FindProcess(n)
	return err == nil && p.Signal(syscall.Signal(0)) == nil
}

// TestScopesAreApart opens two scopes with a server of one name.
func TestScopesAreApart(t *testing.T) {
	h := settled(t, handing, "all", stdio("well"))
	a, b := open(t, h, "hers"), open(t, h, "his")
	pids := map[string]string{}
	for id, value := range map[string]string{a.ID: "hers", b.ID: "his"} {
		env := serve(t, h, visitor(id), wire.ToolsCall, `{"name":"mcp_mine_env"}`)
		if !strings.Contains(string(env.Result), "WHOSE="+value) {
			t.Errorf("the server of %q has %s %s", value, env.Result, env.Error)
		}
		who := serve(t, h, visitor(id), wire.ToolsCall, `{"name":"mcp_mine_whoami"}`)
		pids[string(wire.Path(who.Result, "structuredContent", "pid"))] = value
		if list := serve(t, h, visitor(id), wire.ToolsList, `{}`); !strings.Contains(string(list.Result), "mcp_mine_echo") || !strings.Contains(string(list.Result), "mcp_all_echo") {
			t.Errorf("%q sees %s", value, list.Result)
		}
	}
	if len(pids) != 2 {
		t.Errorf("the processes are %v", pids)
	}
	for _, id := range []string{"", "nobodys"} {
		if list := serve(t, h, visitor(id), wire.ToolsList, `{}`); strings.Contains(string(list.Result), "mine") {
			t.Errorf("scope %q sees %s", id, list.Result)
		}
		if answer := serve(t, h, visitor(id), wire.ToolsCall, `{"name":"mcp_mine_echo"}`); answer.Error == nil {
			t.Errorf("scope %q reaches it: %s", id, answer.Result)
		}
	}
	if h.Has(Door{Server: "mine"}) || !h.Has(Door{Scope: a.ID}) || h.Has(Door{Scope: "nobodys"}) {
		t.Error("the doors are wrong")
	}
	if list := h.Scopes().List(); len(list) != 2 || list[0].ID != a.ID || list[0].Servers[0] != "mine" {
		t.Errorf("listed: %+v", list)
	}
}

// TestScopesEnd ends scopes in every way there is, and sees their processes end with them.
func TestScopesEnd(t *testing.T) {
	cfg := parse(t, handing)
	h := New(cfg, Options{Log: zerolog.Nop(), Version: "test", ScopeGrace: 50 * time.Millisecond})
	h.Start()
	t.Cleanup(h.Close)
	process := func(id string) string {
		who := serve(t, h, visitor(id), wire.ToolsCall, `{"name":"mcp_mine_whoami"}`)
		return string(wire.Path(who.Result, "structuredContent", "pid"))
	}
	ends := map[string]func() string{
		"by Close": func() string {
			sc := open(t, h, "x")
			pid := process(sc.ID)
			if err := h.Scopes().Close(sc.ID); err != nil {
				t.Error(err)
			}
			if err := h.Scopes().Close(sc.ID); !errors.Is(err, ErrNoScope) {
				t.Errorf("closing it again: %v", err)
			}
			return pid
		},
		"with its last session": func() string {
			sc := open(t, h, "x")
			c := &Client{Door: Door{Scope: sc.ID}, Version: wire.V20251125, Params: []byte(`{}`)}
			h.Join(c)
			pid := process(sc.ID)
			if list := h.Scopes().List(); list[len(list)-1].Sessions != 1 {
				t.Errorf("%+v", list)
			}
			h.Leave(c)
			return pid
		},
		"at its ttl": func() string {
			sc, err := h.Scopes().Open(given(t, "x"), 3*time.Second) // on a slow machine it ends before its server has started
			if err != nil {
				t.Fatal(err)
			}
			return process(sc.ID)
		},
	}
	for name, end := range ends {
		pid := end()
		for limit := time.Now().Add(60 * time.Second); len(h.Scopes().List()) > 0 || pid != "" && alive(t, pid); {
			if time.Now().After(limit) {
				t.Fatalf("%s: process %s is still there, or the scope is", name, pid)
			}
		}
	}
}

// TestScopesOutlastTheHub finds them again in another process of the hub, but for those that have ended.
func TestScopesOutlastTheHub(t *testing.T) {
	opt := Options{Log: zerolog.Nop(), Version: "test", ScopeDir: t.TempDir()}
	before := New(parse(t, handing), opt)
	before.Start()
	kept, gone := open(t, before, "kept"), open(t, before, "gone")
	if err := before.Scopes().Close(gone.ID); err != nil {
		t.Fatal(err)
	}
	before.Close()
	after := New(parse(t, handing), opt)
	after.Start()
	t.Cleanup(after.Close)
	if env := serve(t, after, visitor(kept.ID), wire.ToolsCall, `{"name":"mcp_mine_env"}`); !strings.Contains(string(env.Result), "WHOSE=kept") {
		t.Errorf("%s %s", env.Result, env.Error)
	}
	if after.Has(Door{Scope: gone.ID}) {
		t.Error("an ended scope is back")
	}
}

// TestHandedOverAtInitialize gives a session servers of its own.
func TestHandedOverAtInitialize(t *testing.T) {
	h := settled(t, handing, "all", stdio("well"))
	hers, _ := session(t, h)
	c := &Client{Push: newInbox(t).Send}
	servers := string(wire.Get(given(t, "secret"), "mcpServers"))
	answer := serve(t, h, c, wire.Initialize, `{"protocolVersion":"2025-11-25","capabilities":{},"_meta":{"mcphub/servers":`+servers+`,"x":1}}`)
	if answer.Error != nil {
		t.Fatalf("%s", answer.Error)
	}
	h.Join(c)
	t.Cleanup(func() { h.Leave(c) })
	if env := serve(t, h, c, wire.ToolsCall, `{"name":"mcp_mine_env"}`); !strings.Contains(string(env.Result), "WHOSE=secret") {
		t.Errorf("%s %s", env.Result, env.Error)
	}
	if list := serve(t, h, hers, wire.ToolsList, `{}`); strings.Contains(string(list.Result), "mine") {
		t.Errorf("another session sees %s", list.Result)
	}
	st := c.State()
	if strings.Contains(string(st.Params), "secret") || !strings.Contains(string(st.Params), `"x":1`) || st.Scope == "" {
		t.Errorf("the session's record is %+v, %s", st, st.Params)
	}
	again := &Client{Door: Door{Scope: st.Scope}}
	if answer := serve(t, h, again, wire.Initialize, `{"protocolVersion":"2025-11-25","_meta":{"mcphub/servers":`+servers+`}}`); answer.Error == nil {
		t.Error("a scope in a scope")
	}
}

// TestRefusedScopes hands over what may not be.
func TestRefusedScopes(t *testing.T) {
	t.Setenv("HUBS_OWN", "secret")
	for name, c := range map[string]struct{ allow, given, want string }{
		"nothing allowed":      {"off", `{"mcpServers":{"a":{"url":"http://127.0.0.1:1/"}}}`, `sessionServers is "off"`},
		"a program":            {"http", `{"mcpServers":{"a":{"command":"true"}}}`, "mcpServers.a: is a program"},
		"the hub's variables":  {"any", `{"mcpServers":{"a":{"command":"true","env":{"X":"${HUBS_OWN}"}}}}`, "HUBS_OWN"},
		"all of them":          {"any", `{"mcpServers":{"a":{"command":"true","inheritEnv":true}}}`, "inheritEnv"},
		"the hub's token":      {"any", `{"mcpServers":{"a":{"url":"http://127.0.0.1:1/","bearerTokenEnv":"HUBS_OWN"}}}`, "HUBS_OWN"},
		"nothing":              {"any", `{}`, "there is no server in it"},
		"two mistakes":         {"any", `{"mcpServers":{"a":{"command":"true","argz":[]},"b":{}}}`, "argz"},
		"a name that is taken": {"any", `{"mcpServers":{"all":{"command":"true"}}}`, "is in the configuration, which wins"},
		"what is no JSON":      {"any", `{"mcpServers":`, "the request"},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, map[string]any{"sessionServers": c.allow}, "all", stdio("well"))
			if _, err := h.Scopes().Open([]byte(c.given), 0); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v; want %q", err, c.want)
			}
			if list := h.Scopes().List(); len(list) != 0 {
				t.Errorf("open are %+v", list)
			}
		})
	}
}

// TestReloadReachesScopes changes what everybody sees, and takes a scope's name away.
func TestReloadReachesScopes(t *testing.T) {
	all := stdio("well")
	h := settled(t, handing, "all", all)
	sc := open(t, h, "x")
	h.Reload(parse(t, handing, "all", all, "more", stdio("well"), "mine", stdio("modern")))
	if answer := serve(t, h, visitor(sc.ID), wire.ToolsCall, `{"name":"mcp_more_echo"}`); answer.Error != nil {
		t.Errorf("a server that came later: %s", answer.Error)
	}
	if env := serve(t, h, visitor(sc.ID), wire.ToolsCall, `{"name":"mcp_mine_env"}`); strings.Contains(string(env.Result), "WHOSE=x") || env.Error != nil {
		t.Errorf("the operator's server of the same name: %s %s", env.Result, env.Error)
	}
}
