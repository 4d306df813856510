package upstream_test

import (
	"context"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// A request that comes right behind a call's answer is not that call's, and must not be lost with it.
func TestRequestBehindAnAnswer(t *testing.T) {
	t.Parallel()
	// The result ends its message and begins another one, which the server's own end of message completes.
	two := testmcp.Replies{"tools/call echo": "{\"content\":[]}}\n" + `{"jsonrpc":"2.0","id":"behind","method":"roots/list"`}
	cfg, _ := program(t, two.Name(t))
	s := start(t, cfg)
	asked := make(chan wire.Message, 1)
	conn, _, err := s.Open(context.Background(),
		[]byte(`{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}`),
		func(m wire.Message) { asked <- m })
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release(conn)
	for range 500 {
		call := &upstream.Call{Method: wire.ToolsCall, Params: []byte(`{"name":"echo","arguments":{}}`), Sink: &heard{}}
		if _, err := conn.Call(context.Background(), call); err != nil {
			t.Fatal(err)
		}
		if m := <-asked; m.Method != wire.RootsList {
			t.Fatalf("behind the answer came %s", m.Raw)
		}
	}
}
