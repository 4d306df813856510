package hub

import (
	"context"
	"testing"

	"mcphub/wire"
)

// A call that is still under way when its session ends must not open a connection that nobody closes.
func TestNoConnectionBehindTheSession(t *testing.T) {
	e := stdio("well")
	e["session"] = "client"
	h := settled(t, nil, "up", e)
	c := &Client{Version: wire.V20251125, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{}}`)}
	h.Join(c)
	h.Leave(c)
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_up_echo","arguments":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := h.Serve(context.Background(), &Request{Client: c, Msg: m}); got.Error == nil {
		t.Errorf("a call of an ended session was answered: %s", got.Result)
	}
	if own := (apartness{h}).connOf(c, h.Servers()[0]); own.conn != nil || !own.closed {
		t.Error("an ended session has a connection")
	}
}

// A question may come from a connection whose client has just left: it falls, and nothing else does.
func TestQuestionBehindTheSession(t *testing.T) {
	h := settled(t, nil, "up", stdio("well"))
	c := &Client{Version: wire.V20251125, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{}}`)}
	h.Join(c)
	h.Leave(c)
	m, err := wire.Scan([]byte(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`))
	if err != nil {
		t.Fatal(err)
	}
	logs{h}.ownNotice(c, h.Servers()[0], m)
	h.tasks.Wait()
}
