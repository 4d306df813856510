package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"mcphub/admin"
)

// askTimeout bounds what a verb asks of a running hub, a call's own time aside.
const askTimeout = 30 * time.Second

// hubURL finds the running hub by the file it left in its data directory.
func (g *globals) hubURL() (string, error) {
	info, err := g.running()
	if err != nil {
		return "", fmt.Errorf("no running hub found (%w): start one with mcphub serve, or name its --data-dir", err)
	}
	return "http://" + info.Addr, nil
}

// running reads that file.
func (g *globals) running() (info runInfo, err error) {
	text, err := os.ReadFile(filepath.Join(g.dataDir, "run.json"))
	if err == nil {
		err = json.Unmarshal(text, &info)
	}
	return info, err
}

// connect opens an MCP session with the running hub.
func (g *globals) connect(ctx context.Context) (*mcp.ClientSession, error) {
	base, err := g.hubURL()
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "mcphub-cli", Version: version}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: base + "/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		return nil, fmt.Errorf("asking the hub at %s: %w; is it still running?", base, err)
	}
	return session, nil
}

func listCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the servers of the running hub and their states",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			servers, err := g.servers(cmd.Context())
			if err != nil {
				return err
			}
			if g.json {
				return printJSON(cmd.OutOrStdout(), servers)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "SERVER\tSTATE\tTOOLS\tPROTOCOL\tREASON")
			for _, s := range servers {
				fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\n", s.Name, s.State, s.Tools, s.ProtocolVersion, s.Reason)
			}
			return table.Flush()
		},
	}
}

func (g *globals) servers(ctx context.Context) ([]admin.ServerView, error) {
	base, err := g.hubURL()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/api/servers", nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the hub at %s: %w; is it still running?", base, err)
	}
	defer resp.Body.Close()
	var servers []admin.ServerView
	if err := json.NewDecoder(resp.Body).Decode(&servers); err != nil {
		return nil, fmt.Errorf("reading the hub's answer (HTTP %d): %w", resp.StatusCode, err)
	}
	return servers, nil
}

func toolsCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "tools",
		Short: "List the tools that the running hub publishes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), askTimeout)
			defer cancel()
			session, err := g.connect(ctx)
			if err != nil {
				return err
			}
			defer session.Close()
			list, err := session.ListTools(ctx, nil)
			if err != nil {
				return err
			}
			if g.json {
				return printJSON(cmd.OutOrStdout(), list.Tools)
			}
			table := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, t := range list.Tools {
				first, _, _ := strings.Cut(strings.TrimSpace(t.Description), "\n")
				fmt.Fprintf(table, "%s\t%s\n", t.Name, first)
			}
			return table.Flush()
		},
	}
}

func callCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "call TOOL [ARGUMENTS]",
		Short: "Call a tool of the running hub; ARGUMENTS is a JSON object, - reads it from standard input",
		Args:  cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			arguments, err := argumentsOf(args, cmd.InOrStdin())
			if err != nil {
				return usageError{err}
			}
			session, err := g.connect(cmd.Context())
			if err != nil {
				return err
			}
			defer session.Close()
			result, err := session.CallTool(cmd.Context(), &mcp.CallToolParams{Name: args[0], Arguments: arguments})
			if err != nil {
				return err
			}
			if err := printResult(cmd.OutOrStdout(), result, g.json); err != nil {
				return err
			}
			if result.IsError {
				return errors.New("the tool reported an error")
			}
			return nil
		},
	}
}

func argumentsOf(args []string, stdin io.Reader) (json.RawMessage, error) {
	text := []byte("{}")
	if len(args) == 2 {
		text = []byte(args[1])
	}
	if string(text) == "-" {
		var err error
		if text, err = io.ReadAll(stdin); err != nil {
			return nil, err
		}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, fmt.Errorf("the arguments are no JSON object: %w", err)
	}
	return text, nil
}

// printResult prints text content as it is, and everything else as JSON.
func printResult(w io.Writer, result *mcp.CallToolResult, asJSON bool) error {
	if asJSON {
		return printJSON(w, result)
	}
	for _, c := range result.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			fmt.Fprintln(w, text.Text)
		} else if err := printJSON(w, c); err != nil {
			return err
		}
	}
	if len(result.Content) == 0 && result.StructuredContent != nil {
		return printJSON(w, result.StructuredContent)
	}
	return nil
}
