package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"mcphub/admin"
)

func statusCommand(g *globals) *cobra.Command {
	var line bool
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how the running hub and its servers are; exit code 1 when one needs attention",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var p panel
			err := g.ask(cmd.Context(), http.MethodGet, "/api/status", &p.Hub)
			if err == nil {
				err = g.ask(cmd.Context(), http.MethodGet, "/api/servers", &p.Servers)
			}
			switch {
			case line && errors.Is(err, errNoHub):
				fmt.Fprintln(cmd.OutOrStdout(), "mcphub: not running")
				return errTold
			case err != nil:
				return err
			case g.json:
				err = printJSON(cmd.OutOrStdout(), p)
			case line:
				_, err = fmt.Fprintln(cmd.OutOrStdout(), p.line())
			default:
				err = p.print(cmd.OutOrStdout(), time.Now())
			}
			if err == nil && len(p.troubled()) > 0 {
				err = errTold
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&line, "line", false, "one line, for a prompt or a status bar")
	return cmd
}

// panel is what status shows.
type panel struct {
	Hub     admin.StatusView   `json:"hub"`
	Servers []admin.ServerView `json:"servers"`
}

// troubled are the servers that need attention.
func (p *panel) troubled() []admin.ServerView {
	return slices.DeleteFunc(slices.Clone(p.Servers), func(s admin.ServerView) bool { return s.Fine() })
}

// line counts servers by state, those that are fine first.
func (p *panel) line() string {
	var parts []string
	states := slices.Sorted(maps.Keys(p.Hub.States))
	for _, fine := range []bool{true, false} {
		for _, state := range states {
			if one := (admin.ServerView{State: state}); one.Fine() == fine {
				parts = append(parts, fmt.Sprintf("%d %s", p.Hub.States[state], state))
			}
		}
	}
	switch {
	case !p.Hub.Enabled:
		return "mcphub: switched off"
	case len(parts) == 0:
		return "mcphub: no servers"
	}
	return "mcphub: " + strings.Join(parts, ", ")
}

// print prints a line of the hub, a row a server, and what to do about those that need it.
func (p *panel) print(w io.Writer, now time.Time) error {
	fmt.Fprintf(w, "mcphub %s, pid %d, up %s, %s, %s\n", p.Hub.Version, p.Hub.PID,
		short(now.Sub(p.Hub.Started)), count(p.Hub.Tools, "tool"), count(*orZero(p.Hub.Sessions), "session"))
	if !p.Hub.Enabled {
		fmt.Fprintln(w, "switched off: settings.enabled is false, so no server is used")
	}
	if n := len(p.Hub.Problems); n > 0 {
		fmt.Fprintf(w, "%s in the configuration; next: mcphub check\n", count(n, "problem"))
	}
	if len(p.Servers) > 0 {
		fmt.Fprintln(w)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(p.Servers) > 0 {
		fmt.Fprintln(table, "SERVER\tSTATE\tSINCE\tTOOLS\tCALLS\tLAST USED")
	}
	for _, s := range p.Servers {
		used := "-"
		if !s.LastUsed.IsZero() {
			used = short(now.Sub(s.LastUsed)) + " ago"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%s\n", s.Name, s.State, short(now.Sub(s.Since)), s.Tools, s.InFlight, used)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range p.troubled() {
		fmt.Fprintf(w, "\n%s is %s: %s\n", s.Name, s.State, s.Reason)
		if s.Fix != "" {
			fmt.Fprintf(w, "  next: %s\n", s.Fix)
		}
	}
	return nil
}

func orZero(n *int) *int {
	if n == nil {
		return new(int)
	}
	return n
}

// count words a number of things.
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// short is a duration in its largest unit that is not zero: 42s, 5m, 3h, 12d.
func short(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
