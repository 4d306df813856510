package e2e

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Every protocol version of a session client, and the stateless one, over every transport that carries it.
func TestGoSDKInEveryVersion(t *testing.T) {
	hub, calls := startExamples(t)
	transports := map[string]func() mcp.Transport{
		"streamable": func() mcp.Transport { return &mcp.StreamableClientTransport{Endpoint: hub.URL + "/mcp"} },
		"sse":        func() mcp.Transport { return &mcp.SSEClientTransport{Endpoint: hub.URL + "/sse"} },
		"stdio": func() mcp.Transport {
			line := lab.StdioHub(t, hub.Config)
			return &mcp.CommandTransport{Command: exec.Command(line[0], line[1:]...)}
		},
	}
	for name, connect := range transports {
		for _, version := range mcp.SupportedProtocolVersions() {
			t.Run(name+"/"+version, func(t *testing.T) {
				session := openSession(t, connect(), version)
				if got := session.InitializeResult().ProtocolVersion; got != version {
					t.Errorf("the hub chose %s, want %s", got, version)
				}
				useSession(t, session, calls)
			})
		}
	}
}

func openSession(t *testing.T, transport mcp.Transport, version string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "e2e-go-sdk", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connecting with %s: %v", version, err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

func useSession(t *testing.T, session *mcp.ClientSession, calls []call) {
	t.Helper()
	list, err := session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatalf("listing the tools: %v", err)
	}
	for _, call := range calls {
		if !slices.ContainsFunc(list.Tools, func(tool *mcp.Tool) bool { return tool.Name == call.Tool }) {
			t.Errorf("tools/list has no %s", call.Tool)
		}
		result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: call.Tool, Arguments: call.Arguments})
		if err != nil {
			t.Errorf("calling %s: %v", call.Tool, err)
			continue
		}
		if text := firstText(result); !strings.Contains(text, call.text) {
			t.Errorf("%s answered %q, want %q", call.Tool, text, call.text)
		}
	}
}

func firstText(result *mcp.CallToolResult) string {
	for _, content := range result.Content {
		if text, ok := content.(*mcp.TextContent); ok {
			return text.Text
		}
	}
	return ""
}
