package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"mcphub/config"
)

// imported is what import prints of one server as JSON.
type imported struct {
	Server string `json:"server"`
	Runs   string `json:"runs"`             // its command line or URL
	Did    string `json:"did"`              // imported, or why not
	Reason string `json:"reason,omitempty"` // of what was not
}

func importCommand(g *globals) *cobra.Command {
	var replace, dry bool
	cmd := &cobra.Command{
		Use:       "import CLIENT [FILE]",
		Short:     "Copy the servers of another client (" + strings.Join(config.Clients(), ", ") + ") into the configuration file",
		Args:      cobra.RangeArgs(1, 2),
		ValidArgs: config.Clients(),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, file, err := foreign(args)
			if err != nil {
				return usageError{err}
			}
			files := g.files()
			into := files[len(files)-1]
			out := cmd.OutOrStdout()
			rows, failed := []imported{}, 0
			for _, one := range found.entries {
				row := imported{Server: one.Server.Name, Runs: runs(one.Server), Did: "imported"}
				if !dry {
					err = config.SetServer(into, row.Server, one.Entry, replace)
				} else if names, _ := config.ServerNames(into); slices.Contains(names, row.Server) && !replace {
					err = config.ErrServerExists
				}
				switch {
				case errors.Is(err, config.ErrServerExists):
					row.Did, row.Reason = "skipped", "it is there already; --replace writes over it"
				case err != nil:
					row.Did, row.Reason = "failed", err.Error()
					failed++
				case dry:
					row.Did = "would be imported"
				}
				err = nil
				rows = append(rows, row)
			}
			if g.json {
				if err := printJSON(out, rows); err != nil {
					return err
				}
			} else {
				for _, p := range found.problems {
					fmt.Fprintln(cmd.ErrOrStderr(), p)
				}
				for _, r := range rows {
					fmt.Fprintln(out, strings.TrimSuffix(fmt.Sprintf("%s %s: %s; %s", r.Did, r.Server, r.Runs, r.Reason), "; "))
				}
				fmt.Fprintf(out, "from %s into %s\n", file, into)
			}
			if failed > 0 {
				return fmt.Errorf("%d servers could not be imported", failed)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&replace, "replace", false, "write over servers of the same names")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be done, and do nothing")
	return cmd
}

// foreignFile is what is in another client's file.
type foreignFile struct {
	entries  []config.Imported
	problems []config.Problem
}

// foreign reads the file of the client that the arguments name, by default that of the user.
func foreign(args []string) (found foreignFile, file string, err error) {
	if !slices.Contains(config.Clients(), args[0]) {
		return found, "", fmt.Errorf("%s is no client that the hub knows; there are %s", args[0], strings.Join(config.Clients(), ", "))
	}
	home, err := os.UserHomeDir()
	if err != nil && len(args) == 1 {
		return found, "", err
	}
	file = config.UserFile(args[0], home)
	if len(args) == 2 {
		file = args[1]
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return found, file, fmt.Errorf("%s has no file %s; name another behind the client", args[0], file)
	}
	if err != nil {
		return found, file, err
	}
	found.entries, found.problems = config.ReadClient(args[0], file, text)
	return found, file, nil
}

// runs is what a server runs or reaches. Its variables and headers are nobody's business.
func runs(s *config.Server) string {
	if s.Command == "" {
		if u, err := url.Parse(s.URL); err == nil {
			return shown(u.Redacted())
		}
		return "a URL that cannot be read"
	}
	return shown(strings.Join(append([]string{s.Command}, s.Args...), " "))
}

// shown is text that a stranger may have written, without power over the terminal: what cannot be seen is escaped.
func shown(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.QuoteToGraphic(text)
	}
	return text
}
