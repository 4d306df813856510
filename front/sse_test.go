package front

import (
	"context"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"mcphub/internal/testmcp"
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

// piped is a client of the stdio door.
type piped struct {
	t       *testing.T
	toHub   *io.PipeWriter
	answers *wire.LineReader
	ended   chan error
}

func (r *rig) piped(t *testing.T) *piped {
	in, toHub := io.Pipe()
	fromHub, out := io.Pipe()
	p := &piped{t, toHub, wire.NewLineReader(fromHub, 1<<20), make(chan error, 1)}
	go func() {
		err := r.front.Stdio(context.Background(), wire.NewLineReader(in, 1<<20), func(line []byte) error {
			_, err := out.Write(line)
			return err
		})
		out.Close()
		p.ended <- err
	}()
	return p
}

func (p *piped) send(msg string) {
	p.t.Helper()
	if _, err := io.WriteString(p.toHub, msg+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// next returns what comes next and holds text.
func (p *piped) next(text string) []byte {
	p.t.Helper()
	for {
		line, err := p.answers.Next()
		if err != nil {
			p.t.Fatalf("%s did not come: %v", text, err)
		}
		if strings.Contains(string(line), text) {
			return line
		}
	}
}

// accept answers a question.
func (p *piped) accept(question []byte) {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":` + string(wire.Get(question, "id")) + `,"result":{"action":"accept","content":{"name":"Ada"}}}`)
}

const pipedHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":` + allCapabilities + `,"clientInfo":{"name":"t","version":"1"}}}`

// TestStdioReadsOn has the client asked while it has as many requests under way as run at once, and a batch. It is
// read on: answers and pings come through, and whatever waited for its turn is answered too.
func TestStdioReadsOn(t *testing.T) {
	r := newRig(t, map[string]entry{"web": {"url": testmcp.HTTP(t, "well").URL}}, Options{})
	p := r.piped(t)
	p.send(pipedHello)
	p.next(`"id":0`)
	p.send("[" + call("1", "mcp_web_ask", `{}`) + "]")
	question := p.next(wire.ElicitationCreate)
	p.send(`{"jsonrpc":"2.0","id":"alive","method":"ping"}`)
	p.next(`"alive"`)
	p.accept(question)
	p.next("Ada")
	const calls = duplexAtOnce + 3
	for i := range calls {
		p.send(call(strconv.Itoa(100+i), "mcp_web_ask", `{}`))
	}
	p.send(`{"jsonrpc":"2.0","id":"still","method":"ping"}`)
	var questions [][]byte
	for ping := false; len(questions) < duplexAtOnce || !ping; {
		line := p.next("{")
		if strings.Contains(string(line), wire.ElicitationCreate) {
			questions = append(questions, line)
		}
		ping = ping || strings.Contains(string(line), `"still"`)
	}
	for range calls {
		p.accept(questions[0])
		line := p.next("{")
		for ; !strings.Contains(string(line), "Ada"); line = p.next("{") {
			questions = append(questions, line)
		}
		questions = questions[1:]
	}
	p.toHub.Close()
	if err := <-p.ended; err != io.EOF {
		t.Errorf("ended with %v", err)
	}
}

// TestStdioEndsWithItsInput ends the input while a server waits for the client's answer, a subscription is open and a
// call is under way: the question is declined, what the client asked for is answered, and the door closes.
func TestStdioEndsWithItsInput(t *testing.T) {
	servers := map[string]entry{"old": {"url": testmcp.HTTP(t, "well").URL}, "new": {"url": testmcp.HTTP(t, "modern-only").URL}}
	r := newRig(t, servers, Options{})
	p := r.piped(t)
	p.send(pipedHello)
	p.next(`"id":0`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},` + modernMeta + `}}`)
	p.next(wire.Acknowledged)
	for id, server := range map[string]string{"2": "old", "3": "new"} {
		p.send(call(id, "mcp_"+server+"_ask", `{"times":2}`))
		p.next(wire.ElicitationCreate)
	}
	p.send(call("4", "mcp_old_slow", `{"ms":100}`))
	p.toHub.Close()
	slept, declined := false, 0
	for line, err := p.answers.Next(); err == nil; line, err = p.answers.Next() {
		slept = slept || strings.Contains(string(line), "slept")
		if strings.Contains(string(line), `"got":[{"action":"decline"},{"action":"decline"}]`) {
			declined++
		}
	}
	if err := <-p.ended; err != io.EOF || !slept || declined != 2 {
		t.Errorf("ended with %v; the call was answered: %v; %d of 2 questions were declined", err, slept, declined)
	}
}

func TestStdio(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	p := r.piped(t)
	ask := func(msg, want string) {
		t.Helper()
		p.send(msg)
		line, err := p.answers.Next()
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
	p.toHub.Close()
	if err := <-p.ended; err != io.EOF {
		t.Errorf("ended with %v", err)
	}
}
