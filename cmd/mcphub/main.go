// Command mcphub serves many MCP servers as one.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// version is set when a release is built.
var version = "dev"

// Exit codes of every verb.
const (
	exitFailed = 1 // it was tried and did not work
	exitUsage  = 2 // the command line or the configuration is wrong
)

// errTold is an error of which the output has said everything.
var errTold = errors.New("see the output")

// usageError marks errors of the command line or the configuration.
type usageError struct{ error }

func main() {
	os.Exit(run(os.Args[1:]))
}

func run(args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	if !errors.Is(err, errTold) {
		fmt.Fprintln(os.Stderr, "mcphub:", err)
	}
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailed
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "mcphub",
		Short:         "One MCP server in front of many",
		Long:          "mcphub runs or reaches MCP servers and republishes what they offer at one URL.",
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          usage(cobra.NoArgs),
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	g := &globals{}
	g.flags(root)
	root.AddCommand(
		serveCommand(g), stdioCommand(g), checkCommand(g), listCommand(g), toolsCommand(g), callCommand(g),
		statusCommand(g), logsCommand(g), reconnectCommand(g), reloadCommand(g), doctorCommand(g), whyCommand(g),
		addCommand(g), removeCommand(g), enableCommand(g), disableCommand(g), importCommand(g), trustCommand(g), approveCommand(g),
		schemaCommand(), versionCommand(g), reaperCommand(), exampleCommand(),
	)
	for _, c := range root.Commands() {
		if c.Args != nil {
			c.Args = usage(c.Args)
		}
	}
	return root
}

// usage marks the errors of an argument check as usage errors.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usageError{err}
		}
		return nil
	}
}
