package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"mcphub/admin"
	"mcphub/config"
	"mcphub/upstream"
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

func checkCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Check the configuration without running it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := cmd.OutOrStdout()
			cfg, err := g.load(func(p config.Problem) {
				if !g.json {
					fmt.Fprintln(out, p)
				}
			})
			if cfg == nil {
				return err
			}
			wrong := 0
			for _, p := range cfg.Problems {
				if p.Severity == config.Error {
					wrong++
				}
			}
			if g.json {
				if err := printJSON(out, admin.ProblemsOf(cfg.Problems, admin.All)); err != nil {
					return err
				}
			}
			if wrong > 0 {
				return usageError{fmt.Errorf("the configuration has %d errors", wrong)}
			}
			if !g.json {
				fmt.Fprintf(out, "%d servers, no errors\n", len(cfg.Servers))
			}
			return nil
		},
	}
}

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the configuration file",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(config.Schema())
			return err
		},
	}
}

func versionCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if g.json {
				return printJSON(cmd.OutOrStdout(), map[string]string{"version": version})
			}
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "mcphub", version)
			return err
		},
	}
}

// reaperVerb is the hidden verb under which the hub starts itself as its reaper.
const reaperVerb = "reaper"

func reaperCommand() *cobra.Command {
	return &cobra.Command{
		Use:    reaperVerb,
		Short:  "End the programs of a hub that is gone (started by the hub itself)",
		Hidden: true,
		Args:   cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP) // it ends when the hub has
			upstream.Reap(os.Stdin)
		},
	}
}
