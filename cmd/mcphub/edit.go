package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/config"
)

// edited is what the verbs that edit print as JSON.
type edited struct {
	File     string   `json:"file"`
	Server   string   `json:"server"`
	Did      string   `json:"did"`
	Warnings []string `json:"warnings,omitempty"`
}

func (g *globals) say(out io.Writer, done edited) error {
	if g.json {
		return printJSON(out, done)
	}
	fmt.Fprintf(out, "%s %s in %s; a running hub takes that over by itself\n", done.Did, done.Server, done.File)
	for _, w := range done.Warnings {
		fmt.Fprintln(out, w)
	}
	return nil
}

// addFlags are what add can say of a server.
type addFlags struct {
	env, header, include, exclude        []string
	cwd, kind, bearerTokenEnv, lifecycle string
	disabled, replace                    bool
}

func addCommand(g *globals) *cobra.Command {
	var f addFlags
	cmd := &cobra.Command{
		Use:   "add NAME [flags] (COMMAND [ARGUMENT...] | URL)",
		Short: "Add a server to the configuration file",
		Example: "  mcphub add files npx -y @modelcontextprotocol/server-filesystem /srv\n" +
			"  mcphub add github --bearer-token-env GITHUB_TOKEN https://api.githubcopilot.com/mcp/",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			words, err := wordsOf(cmd, args[1:])
			if err != nil {
				return err
			}
			if len(words) == 0 {
				if words, err = askFor(cmd, name, &f); err != nil {
					return err
				}
			}
			entry, err := f.entry(words)
			if err != nil {
				return usageError{err}
			}
			files := g.files()
			file := files[len(files)-1]
			if at, ok := g.holding(name); ok {
				file = at
			}
			if err := config.SetServer(file, name, entry, f.replace); err != nil {
				return explained(file, name, err)
			}
			return g.say(cmd.OutOrStdout(), edited{file, name, map[bool]string{false: "added", true: "wrote"}[f.replace], warnings(file, name)})
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false)
	flags.StringArrayVarP(&f.env, "env", "e", nil, "variable of the program, NAME=VALUE, repeatable; ${NAME} expands when the hub starts it")
	flags.StringArrayVarP(&f.header, "header", "H", nil, "header of each request, 'Name: value', repeatable; ${NAME} expands")
	flags.StringArrayVar(&f.include, "include", nil, "publish only tools that match this glob, repeatable")
	flags.StringArrayVar(&f.exclude, "exclude", nil, "do not publish tools that match this glob, repeatable")
	flags.StringVar(&f.cwd, "cwd", "", "working directory of the program")
	flags.StringVar(&f.kind, "type", "", "stdio, http or sse, where it cannot be told from the rest")
	flags.StringVar(&f.bearerTokenEnv, "bearer-token-env", "", "name of the variable that holds a bearer token")
	flags.StringVar(&f.lifecycle, "lifecycle", "", "lazy, eager or keep-alive")
	flags.BoolVar(&f.disabled, "disabled", false, "do not start it yet")
	flags.BoolVar(&f.replace, "replace", false, "write over a server of that name")
	return cmd
}

// wordsOf reads the flags behind the name, and behind a URL. What follows a program's name is the program's.
func wordsOf(cmd *cobra.Command, args []string) ([]string, error) {
	if err := cmd.Flags().Parse(args); err != nil {
		return nil, usageError{err}
	}
	words := cmd.Flags().Args()
	if len(words) < 2 || !isURL(words[0]) {
		return words, nil
	}
	if err := cmd.Flags().Parse(words[1:]); err != nil {
		return nil, usageError{err}
	}
	return append(words[:1:1], cmd.Flags().Args()...), nil
}

func isURL(word string) bool {
	return strings.HasPrefix(word, "http://") || strings.HasPrefix(word, "https://")
}

// entry is the entry that the flags and words describe.
func (f *addFlags) entry(words []string) ([]byte, error) {
	entry := struct {
		Type           string            `json:"type,omitempty"`
		Command        string            `json:"command,omitempty"`
		Args           []string          `json:"args,omitempty"`
		Env            map[string]string `json:"env,omitempty"`
		Cwd            string            `json:"cwd,omitempty"`
		URL            string            `json:"url,omitempty"`
		Headers        map[string]string `json:"headers,omitempty"`
		BearerTokenEnv string            `json:"bearerTokenEnv,omitempty"`
		Lifecycle      string            `json:"lifecycle,omitempty"`
		IncludeTools   []string          `json:"includeTools,omitempty"`
		ExcludeTools   []string          `json:"excludeTools,omitempty"`
		Enabled        *bool             `json:"enabled,omitempty"`
	}{Type: f.kind, Cwd: f.cwd, BearerTokenEnv: f.bearerTokenEnv, Lifecycle: f.lifecycle, IncludeTools: f.include, ExcludeTools: f.exclude}
	isURL := isURL(words[0])
	switch {
	case isURL && len(words) > 1:
		return nil, fmt.Errorf("a URL takes no arguments, and there is %q", words[1])
	case isURL:
		entry.URL = words[0]
	default:
		entry.Command, entry.Args = words[0], words[1:]
	}
	var err error
	if entry.Env, err = pairs(f.env, "=", "--env", "NAME=VALUE"); err != nil {
		return nil, err
	}
	if entry.Headers, err = pairs(f.header, ":", "--header", "'Name: value'"); err != nil {
		return nil, err
	}
	if f.disabled {
		entry.Enabled = new(bool)
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(entry); err != nil {
		return nil, err
	}
	return []byte(out.String()), nil
}

// pairs splits what a repeated flag was given.
func pairs(given []string, at, flag, form string) (map[string]string, error) {
	out := map[string]string{}
	for _, text := range given {
		name, value, ok := strings.Cut(text, at)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%s %q: write %s", flag, text, form)
		}
		if at == ":" {
			name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		}
		out[name] = value
	}
	return out, nil
}

// askFor asks for what add was not told.
func askFor(cmd *cobra.Command, name string, f *addFlags) ([]string, error) {
	if in, ok := cmd.InOrStdin().(*os.File); !ok || !isTerminal(in) {
		return nil, usageError{fmt.Errorf("add %s: name its program or its URL behind it", name)}
	}
	in := bufio.NewScanner(cmd.InOrStdin())
	ask := func(question string) string {
		fmt.Fprint(cmd.ErrOrStderr(), question)
		if !in.Scan() {
			return ""
		}
		return strings.TrimSpace(in.Text())
	}
	first := ask("Program or URL: ")
	if first == "" {
		return nil, usageError{errors.New("nothing was added")}
	}
	words := []string{first}
	if isURL(first) {
		for line := ask("Header, as Name: value (empty: no more): "); line != ""; line = ask("Header (empty: no more): ") {
			f.header = append(f.header, line)
		}
		return words, nil
	}
	for line := ask("Argument (empty: no more): "); line != ""; line = ask("Argument (empty: no more): ") {
		words = append(words, line)
	}
	for line := ask("Variable, as NAME=VALUE (empty: no more): "); line != ""; line = ask("Variable (empty: no more): ") {
		f.env = append(f.env, line)
	}
	return words, nil
}

// holding is the last of the configuration files that has a server of that name, which is the one that counts.
func (g *globals) holding(name string) (file string, ok bool) {
	for _, path := range g.files() {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if cfg, err := config.Parse(path, text, os.LookupEnv); err == nil && cfg.Server(name) != nil {
			file, ok = path, true
		}
	}
	return file, ok
}

// warnings are those of one entry, secrets that stand in the file among them.
func warnings(file, name string) (lines []string) {
	cfg, err := config.Load([]string{file}, os.LookupEnv)
	if err != nil {
		return nil
	}
	for _, p := range cfg.Problems {
		if p.Server == name {
			lines = append(lines, p.String())
		}
	}
	return lines
}

// explained says what to do about an edit that was refused.
func explained(file, name string, err error) error {
	switch {
	case errors.Is(err, config.ErrIsThere):
		return fmt.Errorf("%s: %s: %w; --replace writes over it", file, name, err)
	case errors.Is(err, config.ErrNoServer):
		return fmt.Errorf("%s: %s: %w; see: mcphub check", file, name, err)
	}
	return usageError{fmt.Errorf("%s: %s: %w", file, name, err)}
}

func removeCommand(g *globals) *cobra.Command {
	return editCommand(g, "remove NAME...", "Remove servers from the configuration file", "removed", config.RemoveServer)
}

func enableCommand(g *globals) *cobra.Command {
	return editCommand(g, "enable NAME...", "Switch servers on in the configuration file", "enabled", func(path, name string) error { return config.SetEnabled(path, name, true) })
}

func disableCommand(g *globals) *cobra.Command {
	return editCommand(g, "disable NAME...", "Switch servers off in the configuration file", "disabled", func(path, name string) error { return config.SetEnabled(path, name, false) })
}

// editCommand does one edit to each server that is named, in the file that has it.
func editCommand(g *globals, use, short, did string, edit func(path, name string) error) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			var errs []error
			for _, name := range names {
				file, ok := g.holding(name)
				if !ok {
					errs = append(errs, explained(strings.Join(g.files(), ", "), name, config.ErrNoServer))
					continue
				}
				if err := edit(file, name); err != nil {
					errs = append(errs, explained(file, name, err))
					continue
				}
				errs = append(errs, g.say(cmd.OutOrStdout(), edited{File: file, Server: name, Did: did}))
			}
			return errors.Join(errs...)
		},
	}
}
