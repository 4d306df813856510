package hub

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// pid is the process of a server, asked for by its tool, so that it runs.
func pid(t testing.TB, h *Hub, server string) string {
	t.Helper()
	answer := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_`+server+`_whoami"}`)
	if answer.Error != nil {
		t.Fatalf("%s: %s", server, answer.Error)
	}
	return string(wire.Path(answer.Result, "structuredContent", "pid"))
}

// TestReloadByDifference changes a configuration in every way at once.
func TestReloadByDifference(t *testing.T) {
	same, gone, other := stdio("well"), stdio("well"), stdio("well")
	h := settled(t, nil, "same", same, "gone", gone, "other", other)
	before := map[string]string{"same": pid(t, h, "same"), "other": pid(t, h, "other")}
	_, news := session(t, h)
	changed := stdio("well")
	changed["env"].(map[string]string)["CHANGED"] = "1"
	rep := h.Reload(parse(t, nil, "fresh", stdio("well"), "same", same, "other", changed))
	for what, got := range map[string]string{
		"added [fresh]": fmt.Sprint("added ", rep.Added), "removed [gone]": fmt.Sprint("removed ", rep.Removed),
		"changed [other]": fmt.Sprint("changed ", rep.Changed), "kept [same]": fmt.Sprint("kept ", rep.Kept),
	} {
		if got != what {
			t.Errorf("%s, want %s", got, what)
		}
	}
	news.until(wire.ToolsChanged)
	if now := pid(t, h, "same"); now != before["same"] {
		t.Errorf("the server whose entry is the same went from process %s to %s", before["same"], now)
	}
	if now := pid(t, h, "other"); now == before["other"] {
		t.Error("the server whose entry has changed runs by the old one")
	}
	pid(t, h, "fresh")
	if answer := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_gone_echo"}`); !strings.Contains(string(answer.Error), "unknown tool mcp_gone_echo") {
		t.Errorf("a tool of a server that is gone: %s %s", answer.Result, answer.Error)
	}
}

// TestReloadOfTheSame tells nobody of anything, and takes nothing away.
func TestReloadOfTheSame(t *testing.T) {
	servers := []any{"up", stdio("well")}
	h := settled(t, nil, servers...)
	before := pid(t, h, "up")
	_, news := session(t, h)
	for range 3 {
		if rep := h.Reload(parse(t, nil, servers...)); fmt.Sprint(rep.Kept) != "[up]" {
			t.Errorf("%+v", rep)
		}
	}
	if now := pid(t, h, "up"); now != before {
		t.Errorf("process %s became %s", before, now)
	}
	h.Reload(parse(t, map[string]any{"toolPrefix": "x"}, servers...)) // which changes all names, and no server
	news.until(wire.ToolsChanged)
	news.until(wire.PromptsChanged)
	if len(news.msgs) > 0 {
		t.Errorf("then came %s", (<-news.msgs).Raw)
	}
	if answer := ask(t, h, "", wire.ToolsCall, `{"name":"x_up_whoami"}`); string(wire.Path(answer.Result, "structuredContent", "pid")) != before {
		t.Errorf("by its new name: %s %s", answer.Result, answer.Error)
	}
}

// TestReloadLetsCallsFinish removes a server, and changes one, while calls of them are in flight.
func TestReloadLetsCallsFinish(t *testing.T) {
	for name, next := range map[string][]any{"removed": nil, "changed": {"up", stdio("modern")}} {
		t.Run(name, func(t *testing.T) {
			command, args, env, log := testmcp.LoggedCommand(t, "well")
			h := settled(t, nil, "up", entry{"command": command, "args": args, "env": env})
			done := make(chan Answer, 1)
			go func() {
				done <- ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_slow","arguments":{"ms":2500}}`)
			}()
			log.WaitMessages(t, wire.ToolsCall, 1)
			h.Reload(parse(t, nil, next...))
			if answer := <-done; answer.Error != nil {
				t.Errorf("the call that was in flight: %s", answer.Error)
			}
		})
	}
}

// TestReloadUnderLoad reloads a hundred times under 64 calls at a time, while another server comes and goes.
func TestReloadUnderLoad(t *testing.T) {
	up, other := stdio("well"), stdio("well")
	h := settled(t, nil, "up", up)
	before := pid(t, h, "up")
	ctx, stop := context.WithCancel(t.Context())
	var callers sync.WaitGroup
	for n := range 64 {
		callers.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				nonce := fmt.Sprintf("%d-%d", n, i)
				answer := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_echo","arguments":{"text":"`+nonce+`"}}`)
				if got := wire.String(wire.Path(answer.Result, "structuredContent", "text")); got != nonce {
					t.Errorf("call %s was answered %s %s", nonce, answer.Result, answer.Error)
					return
				}
			}
		})
	}
	for i := range 100 {
		servers := []any{"up", up}
		if i%2 == 0 {
			servers = append(servers, "other", other)
		}
		h.Reload(parse(t, nil, servers...))
	}
	stop()
	callers.Wait()
	if now := pid(t, h, "up"); now != before {
		t.Errorf("process %s became %s", before, now)
	}
}

// TestReloadUnderASession changes the server of a relayed session, and of one that has a connection of its own.
func TestReloadUnderASession(t *testing.T) {
	const params = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`
	up := stdio("well")
	up["session"] = "client"
	h := settled(t, nil, "up", up)
	relayedTo := &Client{Door: Door{Server: "up"}, Push: newInbox(t).Send}
	if answer := serve(t, h, relayedTo, wire.Initialize, params); answer.Error != nil {
		t.Fatalf("%s", answer.Error)
	}
	h.Join(relayedTo)
	t.Cleanup(func() { h.Leave(relayedTo) })
	alone, _ := session(t, h)
	who := func(c *Client, tool string) string {
		answer := serve(t, h, c, wire.ToolsCall, `{"name":"`+tool+`"}`)
		if answer.Error != nil {
			t.Errorf("%s: %s", tool, answer.Error)
		}
		return string(wire.Path(answer.Result, "structuredContent", "pid"))
	}
	before := []string{who(relayedTo, "whoami"), who(alone, "mcp_up_whoami")}
	up["cwd"] = t.TempDir()
	h.Reload(parse(t, nil, "up", up))
	for i, now := range []string{who(relayedTo, "whoami"), who(alone, "mcp_up_whoami")} {
		if now == before[i] || now == "" {
			t.Errorf("session %d: process %s, then %s", i, before[i], now)
		}
	}
}

// TestB067 adds a second server while a session is open: both can be used.
func TestB067(t *testing.T) {
	one := stdio("well")
	h := settled(t, nil, "one", one)
	c, news := session(t, h)
	h.Reload(parse(t, nil, "one", one, "two", stdio("well")))
	news.until(wire.ToolsChanged)
	for _, name := range []string{"mcp_one_echo", "mcp_two_echo"} {
		if answer := serve(t, h, c, wire.ToolsCall, `{"name":"`+name+`"}`); answer.Error != nil {
			t.Errorf("%s: %s", name, answer.Error)
		}
		if list := serve(t, h, c, wire.ToolsList, `{}`); !strings.Contains(string(list.Result), name) {
			t.Errorf("%s is not listed", name)
		}
	}
}

// TestMaintenance turns all servers off and on again.
func TestMaintenance(t *testing.T) {
	servers := []any{"up", stdio("well")}
	h := settled(t, nil, servers...)
	h.Reload(parse(t, map[string]any{"enabled": false}, servers...))
	if list := ask(t, h, "", wire.ToolsList, `{}`); string(list.Result) != `{"tools":[]}` {
		t.Errorf("%s", list.Result)
	}
	h.Reload(parse(t, nil, servers...))
	for limit := time.Now().Add(30 * time.Second); ; {
		if list := ask(t, h, "", wire.ToolsList, `{}`); strings.Contains(string(list.Result), "mcp_up_echo") {
			return
		}
		if time.Now().After(limit) {
			t.Fatal("its tools do not come back")
		}
	}
}
