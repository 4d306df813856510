package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"mcphub/internal/example"
)

func exampleCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "example-server",
		Short:  "Be a small MCP server on standard input and output, for a first look",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := example.Run(cmd.Context())
			if errors.Is(err, context.Canceled) || isEOF(err) {
				return nil
			}
			return err
		},
	}
}
