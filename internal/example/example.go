// Package example is a small real MCP server on go-sdk, the upstream of the first minute.
//
// Whoever starts the hub without any server of their own meets this one: a tool,
// a resource and a prompt of each kind, none of which touches anything outside
// the process.
package example

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const instructions = "An example server that ships with mcphub. Its tools touch nothing outside of it: try echo, add, time and countdown."

// languages are the greetings the prompt and the resource template know.
var languages = map[string]string{"english": "Hello", "finnish": "Hei", "french": "Bonjour", "german": "Guten Tag"}

// Run serves on stdin and stdout until the client leaves or ctx ends, neither of
// which is an error.
func Run(ctx context.Context) error {
	err := newServer().Run(ctx, &mcp.StdioTransport{})
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("serving the example on stdio: %w", err)
	}
	return nil
}

func newServer() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "mcphub-example", Title: "mcphub example", Version: "1.0.0"},
		&mcp.ServerOptions{Instructions: instructions, CompletionHandler: complete})
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true}
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Returns the text it is given.", Annotations: readOnly}, echo)
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two numbers.", Annotations: readOnly}, add)
	mcp.AddTool(s, &mcp.Tool{Name: "time", Description: "Tells the time in a time zone.", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, tellTime)
	mcp.AddTool(s, &mcp.Tool{Name: "countdown", Description: "Counts down and reports progress at each step.", Annotations: readOnly}, countdown)
	s.AddResource(&mcp.Resource{Name: "readme", URI: "example://readme", MIMEType: "text/plain", Description: "What this server is."}, readme)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "greeting", URITemplate: "example://greetings/{language}", MIMEType: "text/plain", Description: "A greeting in a language."}, greeting)
	s.AddPrompt(&mcp.Prompt{Name: "introduce", Description: "Has the model explain what it can do here."}, introduce)
	s.AddPrompt(&mcp.Prompt{Name: "greet", Description: "Has the model greet somebody.", Arguments: []*mcp.PromptArgument{
		{Name: "name", Description: "Whom to greet.", Required: true},
		{Name: "language", Description: "In which language; english when left out."},
	}}, greet)
	return s
}

func say(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

type echoArgs struct {
	Text string `json:"text" jsonschema:"the text to return"`
}

func echo(_ context.Context, _ *mcp.CallToolRequest, in echoArgs) (*mcp.CallToolResult, any, error) {
	return say(in.Text), nil, nil
}

type addArgs struct {
	A float64 `json:"a" jsonschema:"the first number"`
	B float64 `json:"b" jsonschema:"the second number"`
}

type sum struct {
	Sum float64 `json:"sum" jsonschema:"a and b together"`
}

func add(_ context.Context, _ *mcp.CallToolRequest, in addArgs) (*mcp.CallToolResult, sum, error) {
	return nil, sum{Sum: in.A + in.B}, nil
}

type timeArgs struct {
	Zone string `json:"zone,omitempty" jsonschema:"an IANA time zone such as Europe/Helsinki; UTC when left out"`
}

func tellTime(_ context.Context, _ *mcp.CallToolRequest, in timeArgs) (*mcp.CallToolResult, any, error) {
	zone, err := time.LoadLocation(in.Zone)
	if err != nil {
		return nil, nil, fmt.Errorf("finding the time zone %q: give an IANA name such as Europe/Helsinki", in.Zone)
	}
	return say(time.Now().In(zone).Format(time.RFC3339)), nil, nil
}

// maxSteps bounds a countdown, so that nobody has to wait for the end of one.
const maxSteps = 60

type countdownArgs struct {
	From       int `json:"from" jsonschema:"where to begin, 1 to 60"`
	IntervalMs int `json:"intervalMs,omitempty" jsonschema:"milliseconds between two steps; 100 when left out, 1000 at most"`
}

func countdown(ctx context.Context, r *mcp.CallToolRequest, in countdownArgs) (*mcp.CallToolResult, any, error) {
	if in.From < 1 || in.From > maxSteps || in.IntervalMs < 0 || in.IntervalMs > 1000 {
		return nil, nil, fmt.Errorf("counting down: from goes from 1 to %d, intervalMs up to 1000", maxSteps)
	}
	if in.IntervalMs == 0 {
		in.IntervalMs = 100
	}
	step := time.NewTicker(time.Duration(in.IntervalMs) * time.Millisecond)
	defer step.Stop()
	for left := in.From - 1; left >= 0; left-- {
		select {
		case <-step.C:
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
		if token := r.Params.GetProgressToken(); token != nil {
			progress := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: float64(in.From - left), Total: float64(in.From), Message: fmt.Sprintf("%d left", left)}
			if err := r.Session.NotifyProgress(ctx, progress); err != nil {
				return nil, nil, fmt.Errorf("reporting progress: %w", err)
			}
		}
	}
	return say("Lift-off!"), nil, nil
}

func contents(uri, text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: text}}}
}

func readme(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return contents(r.Params.URI, instructions), nil
}

func greeting(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	language, err := url.PathUnescape(strings.TrimPrefix(r.Params.URI, "example://greetings/"))
	word, known := languages[language]
	if err != nil || !known {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	return contents(r.Params.URI, word+"!"), nil
}

func userSays(text string) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: text}}}}
}

func introduce(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return userSays("List the tools of the example server and say in one line each what they are good for."), nil
}

func greet(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	word, known := languages[r.Params.Arguments["language"]]
	if !known {
		word = languages["english"]
	}
	return userSays(fmt.Sprintf("Greet %s with %q and one kind sentence.", r.Params.Arguments["name"], word)), nil
}

// complete offers languages, the one argument that has a fixed set of values.
func complete(_ context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	if r.Params.Argument.Name == "language" {
		for language := range languages {
			if strings.HasPrefix(language, r.Params.Argument.Value) {
				values = append(values, language)
			}
		}
		slices.Sort(values)
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
