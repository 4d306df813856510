package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// action is what a scenario wants its client to do.
type action func(context.Context, *mcp.ClientSession) error

var actions = map[string]action{
	"initialize":       listTools,
	"request-metadata": listTools,
	"tools_call":       call("add_numbers", map[string]any{"a": 5, "b": 3}),
	// That a field left out gets its default is the work of the driver's own client. Of the hub it proves that the
	// question arrives whole and its answer goes back as it was.
	"elicitation-sep1034-client-defaults": call("test_client_elicitation_defaults", nil),
	"sse-retry":                           call("test_reconnection", nil),
	// Which fields requestState has to have is judged at the hub: it keeps the server's state in one of its own for a
	// stateless driver, and itself asks and calls again for a driver with a session.
	"sep-2322-client-request-state": inOrder(
		call("test_mrtr_echo_state", nil), call("test_mrtr_no_state", nil), call("test_mrtr_unrelated", nil), call("test_mrtr_no_result_type", nil)),
	"http-standard-headers":            touchEverything,
	"http-custom-headers":              contextCalls,
	"http-invalid-tool-headers":        callAll,
	"json-schema-ref-no-deref":         listTools,
	"json-schema-2020-12-preservation": echoSchema,
	"sep-2640-client-no-prefetch":      listSkills,
	// To verify what was read is the host's part, which is the driver's own. Of the hub they prove that digests and
	// contents pass, and that it reads no file on its own.
	"sep-2640-client-verify-digest":      loadSkills,
	"sep-2640-client-verify-size":        loadSkills,
	"sep-2640-client-verify-frontmatter": loadSkills,
}

func inOrder(all ...action) action {
	return func(ctx context.Context, session *mcp.ClientSession) error {
		for _, act := range all {
			if err := act(ctx, session); err != nil {
				return err
			}
		}
		return nil
	}
}

func listTools(ctx context.Context, session *mcp.ClientSession) error {
	_, err := tools(ctx, session)
	return err
}

func tools(ctx context.Context, session *mcp.ClientSession) (map[string]*mcp.Tool, error) {
	named := map[string]*mcp.Tool{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("listing the tools: %w", err)
		}
		named[tool.Name] = tool
	}
	return named, nil
}

// call lists the tools, as a client would, and calls one of them.
func call(name string, arguments map[string]any) action {
	return func(ctx context.Context, session *mcp.ClientSession) error {
		named, err := tools(ctx, session)
		if err != nil {
			return err
		}
		if named[name] == nil {
			return fmt.Errorf("the hub lists %q, not %s", slices.Sorted(maps.Keys(named)), name)
		}
		if arguments == nil {
			arguments = map[string]any{}
		}
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
		if err == nil {
			err = result.GetError()
		}
		if err != nil {
			return fmt.Errorf("calling %s: %w", name, err)
		}
		return nil
	}
}

// contextCalls makes the calls that the scenario lists in the suite's context.
func contextCalls(ctx context.Context, session *mcp.ClientSession) error {
	var wanted struct {
		ToolCalls []struct {
			Name      string
			Arguments map[string]any
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted); err != nil {
		return fmt.Errorf("reading the scenario's context: %w", err)
	}
	for _, c := range wanted.ToolCalls {
		if err := call(c.Name, c.Arguments)(ctx, session); err != nil {
			return err
		}
	}
	return nil
}

// callAll calls every tool that the hub lists. Those whose header annotations are invalid must not be among them, or
// not with that annotation.
func callAll(ctx context.Context, session *mcp.ClientSession) error {
	named, err := tools(ctx, session)
	for name := range named {
		err = errors.Join(err, call(name, map[string]any{"region": "us-west1"})(ctx, session))
	}
	return err
}

// touchEverything uses one thing of each kind.
func touchEverything(ctx context.Context, session *mcp.ClientSession) error {
	if err := callAll(ctx, session); err != nil {
		return err
	}
	for resource, err := range session.Resources(ctx, nil) {
		if err == nil {
			_, err = session.ReadResource(ctx, &mcp.ReadResourceParams{URI: resource.URI})
		}
		if err != nil {
			return fmt.Errorf("reading the resources: %w", err)
		}
	}
	for prompt, err := range session.Prompts(ctx, nil) {
		if err == nil {
			args := map[string]string{}
			for _, a := range prompt.Arguments {
				args[a.Name] = "x"
			}
			_, err = session.GetPrompt(ctx, &mcp.GetPromptParams{Name: prompt.Name, Arguments: args})
		}
		if err != nil {
			return fmt.Errorf("getting the prompts: %w", err)
		}
	}
	return nil
}

// echoSchema sends the schema of one tool back as it arrived.
func echoSchema(ctx context.Context, session *mcp.ClientSession) error {
	const focal = "json_schema_2020_12_tool"
	named, err := tools(ctx, session)
	if err != nil {
		return err
	}
	if named[focal] == nil {
		return fmt.Errorf("the hub lists %q, not %s", slices.Sorted(maps.Keys(named)), focal)
	}
	return call("json_schema_echo", map[string]any{"schema": named[focal].InputSchema})(ctx, session)
}
