package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"mcphub/config"
)

// trusted is what trust prints of one file as JSON.
type trusted struct {
	File    string       `json:"file"`
	Did     string       `json:"did"` // trusted, or revoked
	Servers []trustedOne `json:"servers,omitempty"`
}

// trustedOne is a server that may run from now on.
type trustedOne struct {
	Name string `json:"name"`
	Runs string `json:"runs"` // its command line or URL, as it is written
}

func trustCommand(g *globals) *cobra.Command {
	var revoke bool
	cmd := &cobra.Command{
		Use:   "trust DIR",
		Short: "Let the servers of a project's files run, as the files are now",
		Long: "The files that a project keeps for MCP clients, and its .mcphub/config.json, run nothing before somebody has looked at them. " +
			"trust prints what they would run and lets it; a file that changes has to be trusted again.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := config.CanonicalDir(args[0])
			if err != nil {
				return usageError{fmt.Errorf("%s is no directory: %w", args[0], err)}
			}
			known, err := config.LoadTrust(g.trustFile())
			if err != nil {
				return err
			}
			var rows []trusted
			if revoke {
				for _, file := range known.Revoke(dir) {
					rows = append(rows, trusted{File: file, Did: "revoked"})
				}
			} else if rows, err = trustAll(known, dir); err != nil {
				return err
			}
			if len(rows) == 0 {
				return fmt.Errorf("%s has no file that waits for trust or has it", dir)
			}
			if err := known.Save(); err != nil {
				return err
			}
			if g.json {
				return printJSON(cmd.OutOrStdout(), rows)
			}
			for _, r := range rows {
				fmt.Fprintln(cmd.OutOrStdout(), r.Did, r.File)
				for _, s := range r.Servers {
					fmt.Fprintf(cmd.OutOrStdout(), "  %s: %s\n", s.Name, s.Runs)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&revoke, "revoke", false, "take trust back from every file below DIR")
	return cmd
}

// trustAll trusts the files of a project that are there. One that cannot be read is an error, and then nothing is trusted.
func trustAll(known *config.Trust, dir string) (rows []trusted, err error) {
	for _, file := range config.Trustable(dir) {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		servers, problems := config.Preview(file, text)
		for _, p := range problems {
			if p.Server == "" && p.Severity == config.Error {
				return nil, usageError{errors.New(p.String())}
			}
		}
		row := trusted{File: file, Did: "trusted"}
		for _, s := range servers {
			row.Servers = append(row.Servers, trustedOne{shown(s.Name), runs(s)})
		}
		known.Add(file, text)
		rows = append(rows, row)
	}
	return rows, nil
}
