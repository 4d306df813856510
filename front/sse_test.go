package front

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/wire"
)

func TestLegacySSE(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	for path, tool := range map[string]string{"/sse": "mcp_up_echo", "/servers/up/sse": "echo"} {
		resp := r.open(http.MethodGet, path, "")
		first, err := wire.NewEventReader(resp.Body, 1<<20).Next()
		if err != nil || first.Type != "endpoint" {
			t.Fatalf("%s: %+v, %v", path, first, err)
		}
		s := streamOf(t, resp)
		endpoint := string(first.Data)
		for _, msg := range []string{
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			call("2", tool, `{"text":"over sse"}`),
		} {
			if got := r.post(endpoint, msg); got.status != http.StatusAccepted {
				t.Fatalf("%s: HTTP %d %s", endpoint, got.status, got.body)
			}
		}
		for _, id := range []string{"1", "2"} {
			if m, _ := s.next(); string(m.ID) != id || m.Result == nil {
				t.Fatalf("%s: answer %s is %s", path, id, m.Raw)
			}
		}
		resp.Body.Close()
		for deadline := time.Now().Add(10 * time.Second); len(r.front.sessions.all()) > 0; runtime.Gosched() {
			if time.Now().After(deadline) {
				t.Fatal("the session outlives its stream")
			}
		}
		if got := r.post(endpoint, `{"jsonrpc":"2.0","id":3,"method":"ping"}`); got.status != http.StatusNotFound {
			t.Errorf("after the stream: HTTP %d", got.status)
		}
	}
}

func TestStdio(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	in, toHub := io.Pipe()
	fromHub, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- r.front.Stdio(context.Background(), wire.NewLineReader(in, 1<<20), func(line []byte) error {
			_, err := out.Write(line)
			return err
		})
	}()
	answers := wire.NewLineReader(fromHub, 1<<20)
	ask := func(msg, want string) {
		t.Helper()
		if _, err := io.WriteString(toHub, msg+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := answers.Next()
		if err != nil || !strings.Contains(string(line), want) {
			t.Fatalf("asked %.80s, got %s (%v)", msg, line, err)
		}
	}
	ask(`{"jsonrpc":"2.0","id":0,"method":"server/discover","params":{`+modernMeta+`}}`, `"supportedVersions"`)
	ask(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_up_echo","arguments":{"text":"new"},`+modernMeta+`}}`, `"resultType":"complete"`)
	ask(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`, `"2025-06-18"`)
	ask(call("3", "mcp_up_echo", `{"text":"old"}`), `old`)
	ask(`{`, `-32700`)
	ask(`{"jsonrpc":"2.0","id":4,"method":"no/such"}`, `-32601`)
	toHub.Close()
	if err := <-ended; err != io.EOF {
		t.Errorf("ended with %v", err)
	}
}
