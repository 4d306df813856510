package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// runUpstream is the server behind every gateway: go-sdk's, with tools that echo,
// answer at length and wait, and as many more as are asked for.
func runUpstream(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	listen := flags.String("listen", "", "address to serve Streamable HTTP on, any path; stdio when empty")
	tools := flags.Int("tools", 10, "number of tools")
	asJSON := flags.Bool("json", false, "answer POSTs with application/json instead of SSE")
	if err := flags.Parse(args); err != nil {
		return err
	}
	server := newUpstream(*tools)
	if *listen == "" {
		return server.Run(ctx, &mcp.StdioTransport{})
	}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{JSONResponse: *asJSON, Logger: slog.New(slog.DiscardHandler)})
	return serveHTTP(ctx, *listen, handler)
}

// serveHTTP serves until ctx or standard input ends, so that nothing outlives the
// run that started it. It prints "listening ADDRESS" first.
func serveHTTP(ctx context.Context, listen string, handler http.Handler) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	fmt.Println("listening", listener.Addr())
	server := &http.Server{Handler: handler}
	go func() {
		io.Copy(io.Discard, os.Stdin) //nolint:errcheck // its end is all that counts
		server.Close()                //nolint:errcheck // the process ends next
	}()
	defer context.AfterFunc(ctx, func() { server.Close() })() //nolint:errcheck // as above
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return fmt.Errorf("serving: %w", err)
	}
	return nil
}

const (
	echoSchema  = `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`
	blobSchema  = `{"type":"object","properties":{"text":{"type":"string"},"kib":{"type":"integer"}},"required":["text","kib"]}`
	sleepSchema = `{"type":"object","properties":{"text":{"type":"string"},"ms":{"type":"integer"}},"required":["text","ms"]}`
	// fillerSchema has the size of a middling real tool's.
	fillerSchema = `{"type":"object","properties":{` +
		`"project":{"type":"string","description":"Key or numeric id of the project the items belong to."},` +
		`"filter":{"type":"string","description":"Expression that items have to match; terms are joined by AND unless OR stands between them."},` +
		`"sort":{"type":"string","enum":["created","updated","priority"],"description":"Field to sort by, newest or highest first."},` +
		`"limit":{"type":"integer","minimum":1,"maximum":200,"default":50,"description":"Largest number of items to return."},` +
		`"cursor":{"type":"string","description":"Where to go on, as returned by the call before."}},"required":["project"]}`
)

// input is the union of the arguments of all tools.
type input struct {
	Text string
	KiB  int
	MS   int
}

func newUpstream(tools int) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "bench-upstream", Version: "1.0.0"},
		&mcp.ServerOptions{PageSize: 10_000, Logger: slog.New(slog.DiscardHandler)})
	add := func(name, about, schema string, run func(context.Context, input) string) {
		tool := &mcp.Tool{Name: name, Description: about, InputSchema: json.RawMessage(schema), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
		server.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in input
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, fmt.Errorf("reading the arguments: %w", err)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: run(ctx, in)}}}, nil
		})
	}
	add("echo", "Returns the text.", echoSchema, func(_ context.Context, in input) string { return in.Text })
	add("blob", "Returns the text and kib KiB more.", blobSchema, func(_ context.Context, in input) string { return in.Text + blob(in.KiB) })
	add("sleep", "Returns the text after ms milliseconds.", sleepSchema, func(ctx context.Context, in input) string {
		select {
		case <-time.After(time.Duration(in.MS) * time.Millisecond):
		case <-ctx.Done():
		}
		return in.Text
	})
	for i := 3; i < tools; i++ {
		add(fmt.Sprintf("list_items_%04d", i), "Lists the items of a project that match a filter, page by page, with their fields and links.", fillerSchema,
			func(_ context.Context, in input) string { return in.Text })
	}
	return server
}

// blobs are made once per size: making them is no part of what is measured.
var blobs sync.Map

func blob(kib int) string {
	made, _ := blobs.LoadOrStore(kib, strings.Repeat(strings.Repeat("All work and no play makes a long text. ", 26)[:1023]+"\n", kib))
	return made.(string)
}
