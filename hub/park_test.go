package hub

import (
	"context"
	"strings"
	"testing"
	"time"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// asking is a tools/call of a stateless client that can be asked, with more members in its params.
func asking(t testing.TB, h *Hub, tool string, more ...wire.Edit) Answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	params := wire.Splice([]byte(`{"name":"`+tool+`","arguments":{},"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}`), more...)
	m, err := wire.Scan(wire.AppendRequest(nil, []byte("1"), wire.ToolsCall, params))
	if err != nil {
		t.Fatal(err)
	}
	return h.Serve(ctx, &Request{Client: &Client{Version: wire.V20260728}, Msg: m})
}

// back is what the client sends with its next round.
func back(a Answer) []wire.Edit {
	responses := []byte("{}")
	for key := range wire.Members(wire.Get(a.Result, "inputRequests")) {
		responses = wire.Splice(responses, wire.Edit{Key: string(key), Value: []byte(`{"action":"accept"}`)})
	}
	return []wire.Edit{{Key: "inputResponses", Value: responses}, {Key: "requestState", Value: wire.Get(a.Result, "requestState")}}
}

// TestStateExpires has clients come back too late. A parked call is cancelled then, at its server too.
func TestStateExpires(t *testing.T) {
	old, now := testmcp.HTTP(t, "well"), testmcp.HTTP(t, "modern-only")
	h := settled(t, nil, "old", entry{"url": old.URL}, "new", entry{"url": now.URL})
	h.sealer.ttl = -2 * time.Second // over as soon as it is sealed
	for server, log := range map[string]*testmcp.Log{"old": old.Log, "new": now.Log} {
		asked := asking(t, h, "mcp_"+server+"_ask")
		if !asksInput(asked.Result) {
			t.Fatalf("%s: %s %s", server, asked.Result, asked.Error)
		}
		calls := log.Count(wire.ToolsCall)
		if got := asking(t, h, "mcp_"+server+"_ask", back(asked)...); !strings.Contains(string(got.Error), "-32602") {
			t.Errorf("%s: a late answer: %s %s", server, got.Result, got.Error)
		}
		if n := log.Count(wire.ToolsCall); n != calls || log.Count("response") != 0 {
			t.Errorf("%s: a late answer reached the server", server)
		}
	}
	old.Log.WaitMessages(t, wire.Cancelled, 1)
	old.Log.WaitKind(t, testmcp.EventStopped, 1)
}

// TestParkedCallsAreBounded has clients that never come back. Those that do are served still.
func TestParkedCallsAreBounded(t *testing.T) {
	up := testmcp.HTTP(t, "well")
	h := settled(t, nil, "up", entry{"url": up.URL})
	first := asking(t, h, "mcp_up_ask")
	for range parkedMost - 1 {
		if got := asking(t, h, "mcp_up_ask"); !asksInput(got.Result) {
			t.Fatalf("%s %s", got.Result, got.Error)
		}
	}
	if got := asking(t, h, "mcp_up_ask"); !strings.Contains(string(got.Error), "too many calls wait") {
		t.Errorf("one too many: %s %s", got.Result, got.Error)
	}
	up.Log.WaitMessages(t, wire.Cancelled, 1) // of that one
	if got := asking(t, h, "mcp_up_ask", back(first)...); !strings.Contains(string(got.Result), "accept") {
		t.Errorf("the first: %s %s", got.Result, got.Error)
	}
	if got := asking(t, h, "mcp_up_ask"); !asksInput(got.Result) {
		t.Errorf("with a place free again: %s %s", got.Result, got.Error)
	}
}

// TestStatesOfAnotherHub opens states with the key that two hubs share: a server's own state goes on, a parked call
// has gone with its hub.
func TestStatesOfAnotherHub(t *testing.T) {
	key := []byte(strings.Repeat("k", 32))
	old, now := testmcp.HTTP(t, "well"), testmcp.HTTP(t, "modern-only")
	start := func(key []byte) *Hub {
		h := settled(t, nil, "old", entry{"url": old.URL}, "new", entry{"url": now.URL})
		h.sealer = newSealer(key)
		return h
	}
	before, after, stranger := start(key), start(key), start(nil)
	parked, sealed := asking(t, before, "mcp_old_ask"), asking(t, before, "mcp_new_ask")
	if got := asking(t, stranger, "mcp_new_ask", back(sealed)...); !strings.Contains(string(got.Error), "-32602") {
		t.Errorf("a hub with another key: %s %s", got.Result, got.Error)
	}
	if got := asking(t, after, "mcp_new_ask", back(sealed)...); !strings.Contains(string(got.Result), "accept") {
		t.Errorf("the sealed state: %s %s", got.Result, got.Error)
	}
	if got := asking(t, after, "mcp_old_ask", back(parked)...); !strings.Contains(string(got.Error), "restarted") {
		t.Errorf("the parked call: %s %s", got.Result, got.Error)
	}
}
