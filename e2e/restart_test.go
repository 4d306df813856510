package e2e

import (
	"context"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/internal/testmcp"
)

// changing is a server whose tools and resources change at a call.
func changing() map[string]any {
	command, args, env := testmcp.Command("well")
	return map[string]any{"command": command, "args": args, "env": env, "startupTimeoutMs": Patience.Milliseconds()}
}

// A hub that is killed and started again goes on with the sessions it had: calls, subscriptions and changes of lists.
func TestSessionsSurviveARestart(t *testing.T) {
	for name, connect := range map[string]func(*testing.T, *Hub) visitor{"go-sdk": visitGo, "sdk-v1": visitNode} {
		t.Run(name, func(t *testing.T) {
			hub := lab.StartHub(t, Servers{"up": changing()})
			v := connect(t, hub)
			v.call("mcp_up_grow", map[string]any{"name": "before"})
			v.hears("notifications/tools/list_changed")
			for range 2 {
				hub = lab.Restart(t, hub)
				if got := v.call("mcp_up_echo", map[string]any{"text": "again"}); !strings.Contains(got, "again") {
					t.Fatalf("the next call gave %s", got)
				}
				v.call("mcp_up_touch", map[string]any{"uri": "test://hello.txt"})
				v.hears("notifications/resources/updated")
				v.forget()
				v.call("mcp_up_grow", map[string]any{"name": "after"})
				v.hears("notifications/tools/list_changed")
			}
		})
	}
}

// A hub that never knew a session says so, and its client begins anew.
func TestUnknownSession(t *testing.T) {
	hub := lab.StartHub(t, Servers{"up": changing()})
	for _, id := range []string{"nobody", strings.Repeat("0", 32), "../../config"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			request, err := http.NewRequestWithContext(t.Context(), method, hub.URL+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Mcp-Session-Id", id)
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
			if response.StatusCode != http.StatusNotFound {
				t.Errorf("%s with session %q: HTTP %d, want 404", method, id, response.StatusCode)
			}
		}
	}
}

// visitor is a client that stays connected.
type visitor struct {
	call   func(tool string, args map[string]any) string
	hears  func(method string) // waits for a notification
	forget func()              // what was heard so far
}

func visitGo(t *testing.T, hub *Hub) visitor {
	heard := make(chan string, 1000)
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e-restart", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { heard <- "notifications/tools/list_changed" },
		ResourceUpdatedHandler: func(context.Context, *mcp.ResourceUpdatedNotificationRequest) {
			heard <- "notifications/resources/updated"
		},
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: hub.URL + "/mcp", MaxRetries: 50}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	if _, err := session.ListTools(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "test://hello.txt"}); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	take := func() {
		for {
			select {
			case method := <-heard:
				seen[method] = true
			default:
				return
			}
		}
	}
	return visitor{
		call: func(tool string, args map[string]any) string {
			result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
			if err != nil {
				t.Fatalf("calling %s: %v", tool, err)
			}
			return firstText(result)
		},
		hears:  func(method string) { Eventually(t, method, func() bool { take(); return seen[method] }) },
		forget: func() { take(); clear(seen) },
	}
}

func visitNode(t *testing.T, hub *Hub) visitor {
	command := exec.Command(lab.node, lab.Script("restart.mjs"), encode(t, job{Transport: "http", URL: hub.URL + "/mcp"}))
	command.Env = append(command.Environ(), "NODE_PATH="+lab.clients)
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	daemon, _ := start(t, command, regexp.MustCompile(`^ready`))
	calls, from := 0, 0
	return visitor{
		call: func(tool string, args map[string]any) string {
			if _, err := io.WriteString(stdin, encode(t, call{Tool: tool, Arguments: args})+"\n"); err != nil {
				t.Fatal(err)
			}
			calls++
			answers := regexp.MustCompile(`(?m)^called .*$`)
			Eventually(t, "the answer of "+tool, func() bool { return len(answers.FindAllString(daemon.log.String(), -1)) == calls })
			return answers.FindAllString(daemon.log.String(), -1)[calls-1]
		},
		hears: func(method string) {
			Eventually(t, method, func() bool { return strings.Contains(daemon.log.String()[from:], "\n"+method) })
		},
		forget: func() { from = len(daemon.log.String()) - 1 },
	}
}
