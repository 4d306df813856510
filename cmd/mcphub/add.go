package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mcphub/config"
)

// addition is what add was told about a server.
type addition struct {
	name, target string // target is the program or the URL
	args         []string
	env, headers []string
	cwd, kind    string
	bearer       string
	lifecycle    string
	include      []string
	exclude      []string
	disabled     bool
	replace      bool
}

func addCommand(g *globals) *cobra.Command {
	a := &addition{}
	cmd := &cobra.Command{
		Use:   "add NAME (COMMAND [ARG...] | URL)",
		Short: "Put a server into the configuration file",
		Long: "add puts a server into the configuration file, the last one if there are several. Options stand before COMMAND; what\n" +
			"follows it is the program's. With NAME alone it asks for the rest, on a terminal.",
		Example: "  mcphub add files npx -y @modelcontextprotocol/server-filesystem /tmp\n" +
			"  mcphub add github https://api.githubcopilot.com/mcp/ --bearer-token-env GITHUB_TOKEN",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.read(cmd, args); err != nil {
				return usageError{err}
			}
			if help, _ := cmd.Flags().GetBool("help"); help {
				return cmd.Help()
			}
			if a.target == "" {
				if err := a.ask(cmd); err != nil {
					return usageError{err}
				}
			}
			return g.add(cmd, a)
		},
	}
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringArrayVar(&a.env, "env", nil, "NAME=VALUE, a variable for the program, repeatable; ${VAR} takes it from the hub's environment")
	f.StringArrayVar(&a.headers, "header", nil, "'NAME: VALUE', a header for the URL, repeatable; ${VAR} as in --env")
	f.StringVar(&a.cwd, "cwd", "", "working directory of the program")
	f.StringVar(&a.kind, "type", "", "stdio, http or sse (default: http for a URL, else stdio)")
	f.StringVar(&a.bearer, "bearer-token-env", "", "name of the variable that holds a bearer token for the URL")
	f.StringVar(&a.lifecycle, "lifecycle", "", "when it is connected: lazy, eager or keep-alive (default lazy)")
	f.StringArrayVar(&a.include, "include", nil, "glob of tools to publish, repeatable (default all)")
	f.StringArrayVar(&a.exclude, "exclude", nil, "glob of tools not to publish, repeatable")
	f.BoolVar(&a.disabled, "disabled", false, "do not use it yet")
	f.BoolVar(&a.replace, "replace", false, "take the place of a server of that name")
	return cmd
}

// read takes options from before and after the name, and from after a URL; everything from the program on is the program's.
func (a *addition) read(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	a.name = args[0]
	if err := cmd.Flags().Parse(args[1:]); err != nil {
		return err
	}
	rest := cmd.Flags().Args()
	if len(rest) == 0 {
		return nil
	}
	a.target, a.args = rest[0], rest[1:]
	if !a.isURL() {
		return nil
	}
	if err := cmd.Flags().Parse(a.args); err != nil {
		return err
	}
	a.args = nil
	if cmd.Flags().NArg() > 0 {
		return fmt.Errorf("%q follows the URL, which takes no arguments", cmd.Flags().Arg(0))
	}
	return nil
}

func (a *addition) isURL() bool {
	return strings.Contains(a.target, "://") || a.kind != "" && a.kind != string(config.TypeStdio)
}

// entry is the server as it stands in a file.
func (a *addition) entry() ([]byte, error) {
	env, err := pairs("--env", "=", a.env)
	if err != nil {
		return nil, err
	}
	headers, err := pairs("--header", ":", a.headers)
	if err != nil {
		return nil, err
	}
	e := struct {
		Type           string            `json:"type,omitempty"`
		Command        string            `json:"command,omitempty"`
		URL            string            `json:"url,omitempty"`
		Args           []string          `json:"args,omitempty"`
		Env            map[string]string `json:"env,omitempty"`
		Cwd            string            `json:"cwd,omitempty"`
		Headers        map[string]string `json:"headers,omitempty"`
		BearerTokenEnv string            `json:"bearerTokenEnv,omitempty"`
		Lifecycle      string            `json:"lifecycle,omitempty"`
		IncludeTools   []string          `json:"includeTools,omitempty"`
		ExcludeTools   []string          `json:"excludeTools,omitempty"`
		Disabled       bool              `json:"disabled,omitempty"`
	}{
		Type: a.kind, Args: a.args, Env: env, Cwd: a.cwd, Headers: headers, BearerTokenEnv: a.bearer,
		Lifecycle: a.lifecycle, IncludeTools: a.include, ExcludeTools: a.exclude, Disabled: a.disabled,
	}
	if a.isURL() {
		e.URL = a.target
	} else {
		e.Command = a.target
	}
	var out bytes.Buffer
	err = printJSON(&out, e)
	return out.Bytes(), err
}

// add puts the server where one of that name is, else into the last file.
func (g *globals) add(cmd *cobra.Command, a *addition) error {
	entry, err := a.entry()
	if err != nil {
		return usageError{err}
	}
	r := report{g: g, cmd: cmd}
	if err := r.set(a.name, entry, a.replace); err != nil {
		return editError(err)
	}
	return r.print()
}

// set writes one entry and notes it.
func (r *report) set(name string, entry json.RawMessage, replace bool) error {
	path, err := r.g.holder(name)
	if err != nil {
		return err
	}
	names, err := config.ServerNames(path)
	if err != nil {
		return usageError{err}
	}
	if err := config.SetServer(path, name, entry, replace); err != nil {
		return err
	}
	done := "added"
	if slices.Contains(names, name) {
		done = "replaced"
	}
	r.note(done, name, path)
	return nil
}

// ask asks on the terminal for what the command line does not say.
func (a *addition) ask(cmd *cobra.Command) error {
	if !isTerminal(stdin(cmd)) {
		if a.name == "" {
			return errors.New("add needs a name, and a program or URL: mcphub add NAME COMMAND [ARG...], or mcphub add NAME URL")
		}
		return fmt.Errorf("add %s: a program or URL is missing: mcphub add %s COMMAND [ARG...], or mcphub add %s URL", a.name, a.name, a.name)
	}
	q := newQuestions(cmd)
	if a.name == "" {
		a.name = q.must("Name of the server")
	}
	a.target = q.must("Program or URL")
	if a.isURL() {
		if a.bearer == "" {
			a.bearer = q.may("Variable that holds a bearer token (empty for none)")
		}
		a.headers = append(a.headers, q.several("Header, as NAME: VALUE (empty for no more)")...)
		return q.err
	}
	args, err := words(q.may("Arguments, as in a shell (empty for none)"))
	if err != nil {
		return err
	}
	a.args = args
	a.env = append(a.env, q.several("Variable, as NAME=VALUE (empty for no more)")...)
	return q.err
}
