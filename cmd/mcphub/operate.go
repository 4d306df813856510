package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/admin"
	"mcphub/hub"
)

func logsCommand(g *globals) *cobra.Command {
	var follow bool
	var lines int
	cmd := &cobra.Command{
		Use:   "logs SERVER",
		Short: "Show what a server printed outside the protocol",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := fmt.Sprintf("/api/servers/%s/logs?lines=%d", url.PathEscape(args[0]), lines)
			out := cmd.OutOrStdout()
			if follow {
				resp, err := g.send(cmd.Context(), http.MethodGet, path+"&follow=true")
				if err != nil {
					return err
				}
				defer resp.Body.Close()
				return copyLog(out, resp.Body, g.json)
			}
			var log admin.LogView
			if err := g.ask(cmd.Context(), http.MethodGet, path, &log); err != nil {
				return err
			}
			if g.json {
				return printJSON(out, log)
			}
			for _, line := range log.Lines {
				fmt.Fprintln(out, line)
			}
			return nil
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with the lines that come")
	cmd.Flags().IntVarP(&lines, "lines", "n", 100, "how many of the last lines")
	return cmd
}

// copyLog prints a followed log as it comes, with asJSON one object a line.
func copyLog(w io.Writer, r io.Reader, asJSON bool) error {
	in := bufio.NewReader(r)
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		var line admin.LogLine
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("reading the log: %w", err)
		}
		if !asJSON {
			text = append([]byte(line.Line), '\n')
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
}

func reconnectCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "reconnect SERVER",
		Short: "End the connection to a server and make it anew",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var f admin.Finding
			if err := g.askLong(cmd.Context(), http.MethodPost, "/api/servers/"+url.PathEscape(args[0])+"/reconnect", &f); err != nil {
				return err
			}
			if err := printFindings(cmd.OutOrStdout(), []admin.Finding{f}, g.json, f); err != nil {
				return err
			}
			return failedAny([]admin.Finding{f})
		},
	}
}

func approveCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "approve SERVER",
		Short: "Take the tools of a server as they are now, though they are not what was approved earlier",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var done admin.Approved
			if err := g.ask(cmd.Context(), http.MethodPost, "/api/servers/"+url.PathEscape(args[0])+"/approve", &done); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			switch {
			case g.json:
				return printJSON(out, done)
			case len(done.Tools) == 0:
				fmt.Fprintln(out, "no tool of", args[0], "has changed")
			default:
				fmt.Fprintln(out, "approved:", strings.Join(done.Tools, ", "))
			}
			return nil
		},
	}
}

func reloadCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "reload",
		Short: "Have the running hub read its configuration anew",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var done admin.Reloaded
			if err := g.ask(cmd.Context(), http.MethodPost, "/api/reload", &done); err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if g.json {
				return printJSON(out, done)
			}
			for _, p := range done.Problems {
				fmt.Fprintf(out, "%s:%d:%d: %s: %s: %s\n", p.File, p.Line, p.Column, p.Severity, p.Path, p.Message)
			}
			for _, part := range []struct {
				what  string
				names []string
			}{{"added", done.Added}, {"removed", done.Removed}, {"changed", done.Changed}} {
				if len(part.names) > 0 {
					fmt.Fprintf(out, "%s: %s\n", part.what, strings.Join(part.names, ", "))
				}
			}
			_, err := fmt.Fprintf(out, "%s left as they were\n", count(len(done.Kept), "server"))
			return err
		},
	}
}

func whyCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "why TOOL",
		Short: "Say what became of a tool, and which line of the configuration did it; exit code 1 when it cannot be called",
		Long: "TOOL is a published name, server/tool, or a server's own name for a tool.\n" +
			"Exit code 0 when it is listed and a call would get to its server, else 1.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var w hub.Why
			if err := g.ask(cmd.Context(), http.MethodGet, "/api/tools/"+url.PathEscape(args[0])+"/why", &w); err != nil {
				return err
			}
			if err := printWhy(cmd.OutOrStdout(), &w, g.json); err != nil || w.Callable {
				return err
			}
			return errTold
		},
	}
}

func printWhy(out io.Writer, w *hub.Why, asJSON bool) error {
	if asJSON {
		return printJSON(out, w)
	}
	fmt.Fprintln(out, w.Text)
	if w.At != nil {
		fmt.Fprintf(out, "  see:  %s:%d: %s\n", w.At.File, w.At.Line, w.At.Path)
	}
	if w.Fix != "" {
		fmt.Fprintf(out, "  next: %s\n", w.Fix)
	}
	if w.Verdict == hub.Listed && len(w.Near) > 0 {
		fmt.Fprintf(out, "  also: %s\n", strings.Join(w.Near, ", "))
	}
	return nil
}
