package example_test

import (
	"context"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/internal/example"
)

// asServer makes the test binary the server.
const asServer = "MCPHUB_EXAMPLE_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		if example.Run(context.Background()) != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// connect starts the server as a child process, the way the hub does.
func connect(t *testing.T, options *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = []string{asServer + "=1", "GORACE=atexit_sleep_ms=0"}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, options)
	session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: child}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("closing: %v, want the server to end without an error", err)
		}
	})
	return session
}

func call(t *testing.T, s *mcp.ClientSession, tool string, args map[string]any) *mcp.CallToolResult {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return result
}

func textOf(t *testing.T, result *mcp.CallToolResult) string {
	t.Helper()
	block, ok := result.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("content %#v, want text", result.Content[0])
	}
	return block.Text
}

func TestTools(t *testing.T) {
	s := connect(t, nil)
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := []string{"add", "countdown", "echo", "time"}; !slices.Equal(names, want) {
		t.Errorf("tools %v, want %v", names, want)
	}
	if got := textOf(t, call(t, s, "echo", map[string]any{"text": "héllo"})); got != "héllo" {
		t.Errorf("echo said %q", got)
	}
	sum := call(t, s, "add", map[string]any{"a": 2, "b": 3.5}).StructuredContent
	if !reflect.DeepEqual(sum, map[string]any{"sum": 5.5}) {
		t.Errorf("add said %v", sum)
	}
	if got := textOf(t, call(t, s, "time", nil)); len(got) != len("2006-01-02T15:04:05Z") {
		t.Errorf("time said %q, want UTC", got)
	}
	for tool, args := range map[string]map[string]any{"time": {"zone": "Mars/Base"}, "countdown": {"from": 1000}} {
		if result := call(t, s, tool, args); !result.IsError {
			t.Errorf("%s %v said %v, want isError", tool, args, result.Content)
		}
	}
}

func TestCountdownReportsProgress(t *testing.T) {
	reports := make(chan string, 10)
	s := connect(t, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		reports <- r.Params.Message
	}})
	params := &mcp.CallToolParams{Name: "countdown", Arguments: map[string]any{"from": 3, "intervalMs": 1}}
	params.SetProgressToken("t")
	result, err := s.CallTool(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	if got := textOf(t, result); got != "Lift-off!" {
		t.Errorf("countdown said %q", got)
	}
	for _, want := range []string{"2 left", "1 left", "0 left"} {
		if got := <-reports; got != want {
			t.Errorf("progress %q, want %q", got, want)
		}
	}
}

func TestResources(t *testing.T) {
	s := connect(t, nil)
	for uri, want := range map[string]string{"example://readme": "", "example://greetings/finnish": "Hei!"} {
		result, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil {
			t.Errorf("%s: %v", uri, err)
			continue
		}
		if got := result.Contents[0].Text; got == "" || want != "" && got != want {
			t.Errorf("%s holds %q, want %q", uri, got, want)
		}
	}
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "example://greetings/klingon"}); err == nil {
		t.Error("an unknown language has a greeting")
	}
	templates, err := s.ListResourceTemplates(t.Context(), nil)
	if err != nil || len(templates.ResourceTemplates) != 1 {
		t.Errorf("templates %v, %v; want one", templates, err)
	}
}

func TestPromptsAndCompletion(t *testing.T) {
	s := connect(t, nil)
	for name, want := range map[string]string{
		"introduce": "List the tools of the example server and say in one line each what they are good for.",
		"greet":     `Greet Ada with "Bonjour" and one kind sentence.`,
	} {
		result, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name, Arguments: map[string]string{"name": "Ada", "language": "french"}})
		if err != nil {
			t.Fatal(err)
		}
		if got := result.Messages[0].Content.(*mcp.TextContent).Text; got != want {
			t.Errorf("%s says %q, want %q", name, got, want)
		}
	}
	result, err := s.Complete(t.Context(), &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
		Argument: mcp.CompleteParamsArgument{Name: "language", Value: "f"},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Completion.Values; !slices.Equal(got, []string{"finnish", "french"}) {
		t.Errorf("completion offers %v", got)
	}
}
