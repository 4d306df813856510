package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// input is the union of the arguments of all tools.
type input struct {
	Text string
	MS   int
}

const schema = `{"type":"object","properties":{"text":{"type":"string"},"ms":{"type":"integer"}},"required":["text"]}`

// runUpstream is the server of that name behind the hub, go-sdk's, on stdio or on the address to listen on. Every answer
// holds the text of its call, and so does all that is sent on the way.
func runUpstream(name, listen string) error {
	server := newUpstream(name)
	if listen == "" {
		return server.Run(context.Background(), &mcp.StdioTransport{})
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Println("listening", listener.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // its end is all that counts: nobody needs the server any more
		os.Exit(0)
	}()
	return http.Serve(listener, mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Logger: slog.New(slog.DiscardHandler)}))
}

func newUpstream(name string) *mcp.Server {
	nothing := func(context.Context, *mcp.SubscribeRequest) error { return nil }
	server := mcp.NewServer(&mcp.Implementation{Name: "soak-upstream", Version: "1.0.0"}, &mcp.ServerOptions{
		Logger: slog.New(slog.DiscardHandler), SubscribeHandler: nothing,
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	add := func(name string, run func(context.Context, *mcp.CallToolRequest, input) (*mcp.CallToolResult, error)) {
		server.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(schema)},
			func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				var in input
				if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
					return nil, fmt.Errorf("reading the arguments: %w", err)
				}
				return run(ctx, r, in)
			})
	}
	add("echo", func(_ context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, error) {
		return answer(in.Text), nil
	})
	add("slow", func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, error) {
		pause(ctx, time.Duration(in.MS)*time.Millisecond)
		return answer(in.Text), nil
	})
	add("progress", func(ctx context.Context, r *mcp.CallToolRequest, in input) (*mcp.CallToolResult, error) {
		for i := range 3 {
			pause(ctx, time.Duration(in.MS)*time.Millisecond)
			params := &mcp.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Message: in.Text}
			if err := r.Session.NotifyProgress(ctx, params); err != nil {
				return nil, err
			}
		}
		return answer(in.Text), nil
	})
	add("ask", ask)
	add("touch", func(ctx context.Context, _ *mcp.CallToolRequest, in input) (*mcp.CallToolResult, error) {
		return answer(in.Text), server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: itemURI(name, in.Text)})
	})
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "item", URITemplate: itemURI(name, "{item}")},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: r.Params.URI}}}, nil
		})
	return server
}

// itemURI is the URI of a resource of the server.
func itemURI(server, item string) string { return "soak://" + server + "/" + item }

// ask asks the user of the client, in whichever way the protocol version has, and answers with the reply.
func ask(_ context.Context, r *mcp.CallToolRequest, in input) (*mcp.CallToolResult, error) {
	if reply, ok := r.Params.InputResponses["name"].(*mcp.ElicitResult); ok {
		return answer(fmt.Sprint(reply.Action, " ", reply.Content["name"])), nil
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"name": &mcp.ElicitParams{
		Message:         in.Text,
		RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`),
	}}}, nil
}

func answer(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// pause waits, at most until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
