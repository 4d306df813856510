package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/admin"
	"mcphub/config"
	"mcphub/upstream"
)

// triedAtOnce bounds how many servers doctor tries side by side.
const triedAtOnce = 4

// advice is what to do about each step that can fail, beyond what the reason says. NAME stands for the server's own.
var advice = map[upstream.Step]string{
	upstream.StepConfig:    "mend its entry; mcphub check says where",
	upstream.StepTrust:     "look at the file, then trust it",
	upstream.StepProgram:   "install the program, or correct command and cwd",
	upstream.StepStart:     "run its command in a shell to see why it ends",
	upstream.StepNetwork:   "check url, and whether the server runs and can be reached from here",
	upstream.StepAuth:      "give it valid credentials by bearerTokenEnv or headers",
	upstream.StepHandshake: "check that it is an MCP server: command and args, or url and type; raise connectTimeoutMs if it is slow",
	upstream.StepList:      "see what it wrote: mcphub logs NAME; raise requestTimeoutMs if it is slow",
}

func doctorCommand(g *globals) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "doctor [SERVER…]",
		Short: "Try every server and say which step fails; exit code 1 when one does",
		Long: "doctor tries the servers through the running hub. Where none runs, it starts them itself,\n" +
			"a few side by side, and ends them again.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			d := doctor{g: g, out: cmd.OutOrStdout(), timeout: timeout, only: args}
			report, err := d.examine(cmd.Context())
			if err != nil {
				return err
			}
			if err := printFindings(d.out, report.Servers, g.json, report); err != nil {
				return err
			}
			return failedAny(report.Servers)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "how long one server may take")
	return cmd
}

// doctor tries servers.
type doctor struct {
	g       *globals
	out     io.Writer
	timeout time.Duration
	only    []string // names; none: all
}

// doctorReport is what doctor --json prints.
type doctorReport struct {
	Hub     string          `json:"hub,omitempty"` // the running hub's URL; none: the servers were started by doctor
	Servers []admin.Finding `json:"servers"`
}

// examine tries the servers through the running hub, or by itself where there is none.
func (d *doctor) examine(ctx context.Context) (doctorReport, error) {
	var servers []admin.ServerView
	err := d.g.ask(ctx, http.MethodGet, "/api/servers", &servers)
	if errors.Is(err, errNoHub) {
		found, err := d.alone(ctx)
		return doctorReport{Servers: found}, err
	}
	var names []string
	for _, s := range servers {
		names = append(names, s.Name)
	}
	if err == nil {
		names, err = d.chosen(names)
	}
	if err != nil {
		return doctorReport{}, err
	}
	base, _ := d.g.hubURL() // it was found just now
	d.say("asking the hub at %s", base)
	found := sideBySide(names, func(name string) admin.Finding {
		ctx, cancel := context.WithTimeout(ctx, d.timeout)
		defer cancel()
		var f admin.Finding
		if err := d.g.askLong(ctx, http.MethodPost, "/api/servers/"+url.PathEscape(name)+"/check", &f); err != nil {
			f = admin.Finding{Server: name, Step: upstream.StepHandshake, Reason: err.Error()}
		}
		return f
	})
	return doctorReport{Hub: base, Servers: found}, nil
}

// alone starts the configured servers, tries them, and ends them.
func (d *doctor) alone(ctx context.Context) ([]admin.Finding, error) {
	cfg, err := d.g.load(func(p config.Problem) {
		if p.Server == "" {
			d.say("%v", p)
		}
	})
	if err != nil {
		return nil, err
	}
	d.say("no hub is running; starting each server")
	byName := map[string]*config.Server{}
	var names []string
	for _, entry := range cfg.Servers {
		byName[entry.Name] = entry
		names = append(names, entry.Name)
	}
	if names, err = d.chosen(names); err != nil {
		return nil, err
	}
	reaper := newReaper()
	defer func() { _ = reaper.Close() }() // what it would end has been ended
	opt := &upstream.Options{Log: zerolog.Nop(), Version: version, MaxMessage: int(cfg.Settings.Limits.MaxMessageBytes), Reaper: reaper}
	return sideBySide(names, func(name string) admin.Finding {
		ctx, cancel := context.WithTimeout(ctx, d.timeout)
		defer cancel()
		s := upstream.NewServer(byName[name], opt)
		defer s.Close()
		s.Start()
		f := admin.Examine(ctx, s)
		if f.Step != upstream.StepTrust {
			f.Fix = "" // it is a command for a hub that runs
		}
		return f
	}), nil
}

// chosen are the servers that were asked for, all where none were.
func (d *doctor) chosen(names []string) ([]string, error) {
	for _, name := range d.only {
		if !slices.Contains(names, name) {
			return nil, usageError{fmt.Errorf("there is no server %q; the servers are %s", name, strings.Join(names, ", "))}
		}
	}
	if len(d.only) > 0 {
		return d.only, nil
	}
	return names, nil
}

// say tells what is going on where no program reads along.
func (d *doctor) say(format string, args ...any) {
	if !d.g.json {
		fmt.Fprintf(d.out, format+"\n", args...)
	}
}

// sideBySide tries servers, a few at once, and returns what that has shown in their order.
func sideBySide(names []string, try func(name string) admin.Finding) []admin.Finding {
	found := make([]admin.Finding, len(names))
	free := make(chan struct{}, triedAtOnce)
	var trying sync.WaitGroup
	for i, name := range names {
		free <- struct{}{}
		trying.Go(func() {
			defer func() { <-free }()
			found[i] = try(name)
		})
	}
	trying.Wait()
	return found
}

// printFindings prints a row a server, and what to do about those that fail; whole is the same for programs.
func printFindings(w io.Writer, found []admin.Finding, asJSON bool, whole any) error {
	if asJSON {
		return printJSON(w, whole)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, f := range found {
		switch {
		case f.Skipped:
			fmt.Fprintf(table, "skipped\t%s\tit is disabled\n", f.Server)
		case f.OK:
			fmt.Fprintf(table, "ok\t%s\t%s, %d ms\n", f.Server, count(f.Tools, "tool"), f.Ms)
		default:
			fmt.Fprintf(table, "FAILED\t%s\tat %s: %s\n", f.Server, f.Step, f.Reason)
			next := strings.ReplaceAll(advice[f.Step], "NAME", f.Server)
			if f.Step == upstream.StepTrust {
				next += ": " + f.Fix
			}
			fmt.Fprintf(table, "\t\tnext: %s\n", next)
		}
	}
	return table.Flush()
}

// failedAny is an error where a server has failed.
func failedAny(found []admin.Finding) error {
	if slices.ContainsFunc(found, func(f admin.Finding) bool { return !f.OK }) {
		return errTold
	}
	return nil
}
