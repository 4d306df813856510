// Command driver is the client of a conformance scenario, with the hub between itself and the scenario's server.
//
// The suite starts it as "driver VERSION HUB URL": VERSION is what the driver speaks to the hub, HUB is the built program,
// URL is the scenario's server, which becomes the hub's only upstream. The suite's variables MCP_CONFORMANCE_SCENARIO and
// MCP_CONFORMANCE_CONTEXT say what to do. It exits with 0 when its part of the scenario went as it should and the hub
// ended cleanly.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// limit is for the whole scenario, below the 30 s after which the suite gives up.
const limit = 25 * time.Second

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: driver VERSION HUB URL")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, limit)
	err := run(ctx, os.Args[1], os.Args[2], os.Args[3])
	cancel()
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "driver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, version, program, server string) error {
	scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO")
	act := actions[scenario]
	if act == nil {
		return fmt.Errorf("%q is no scenario that the driver has an action for: add one to actions", scenario)
	}
	hub, err := startHub(ctx, program, server)
	if err != nil {
		return err
	}
	session, err := connect(ctx, hub.url, version)
	if err == nil {
		err = errors.Join(act(ctx, session), session.Close())
	}
	return errors.Join(err, hub.stop())
}

// connect opens the driver's session with the hub. It accepts every question with nothing filled in, so the answers
// are the defaults of the question's schema.
func connect(ctx context.Context, url, version string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "conformance-driver", Version: "1.0.0"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
		},
	})
	if err := mcp.AddSendingCustomMethod[*skillsParams, *skillsResult](client, skillsList); err != nil {
		return nil, err
	}
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url + "/mcp"}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub with %s: %w", version, err)
	}
	return session, nil
}
