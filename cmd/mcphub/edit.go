package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"mcphub/admin"
	"mcphub/config"
)

func removeCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "remove NAME...",
		Short: "Take servers out of the configuration file",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return g.editEach(cmd, "removed", names, config.RemoveServer)
		},
	}
}

func enableCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "enable NAME...",
		Short: "Switch servers on in the configuration file",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return g.editEach(cmd, "enabled", names, func(path, name string) error { return config.SetEnabled(path, name, true) })
		},
	}
}

func disableCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "disable NAME...",
		Short: "Switch servers off in the configuration file",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, names []string) error {
			return g.editEach(cmd, "disabled", names, func(path, name string) error { return config.SetEnabled(path, name, false) })
		},
	}
}

// editEach does one edit for each name, in the file that decides about that name.
func (g *globals) editEach(cmd *cobra.Command, done string, names []string, edit func(path, name string) error) error {
	r := report{g: g, cmd: cmd}
	for _, name := range names {
		path, err := g.holder(name)
		if err == nil {
			err = edit(path, name)
		}
		if err != nil {
			return r.failed(err)
		}
		r.note(done, name, path)
		if other, err := g.holder(name); done == "removed" && err == nil && other != path {
			r.extra = append(r.extra, fmt.Sprintf("%s has a %s too, which is used now", other, name))
		}
	}
	return r.print()
}

// holder is the last file that has the server, whose entry is the one in use, or the last file at all.
func (g *globals) holder(name string) (string, error) {
	paths := g.files()
	for _, path := range slices.Backward(paths) {
		names, err := config.ServerNames(path)
		if err != nil {
			return "", usageError{err}
		}
		if slices.Contains(names, name) {
			return path, nil
		}
	}
	return paths[len(paths)-1], nil
}

// failed tells what was done before an edit failed, and marks the error.
func (r *report) failed(err error) error {
	if len(r.edits) > 0 {
		_ = r.print()
	}
	return editError(err)
}

// editError marks an edit that the configuration or the command line is to blame for.
func editError(err error) error {
	var refused *config.RefusedError
	if errors.As(err, &refused) || errors.Is(err, fs.ErrNotExist) {
		return usageError{err}
	}
	return err
}

// report tells what edits have done.
type report struct {
	g     *globals
	cmd   *cobra.Command
	edits []editView
	extra []string // what else there is to say, one line each
}

// editView is one edit as --json prints it.
type editView struct {
	Server string `json:"server"`
	Done   string `json:"done"` // added, replaced, removed, enabled, disabled, skipped
	File   string `json:"file"`
}

// hubView says whether a running hub takes edits over, as --json prints it.
type hubView struct {
	Addr    string `json:"addr"`
	Watches bool   `json:"watches"` // every file that was edited
}

func (r *report) note(done, server, file string) {
	r.edits = append(r.edits, editView{server, done, file})
}

// print tells each edit, what is wrong or doubtful about the entries now, and what a running hub makes of it.
func (r *report) print() error {
	problems := r.problems()
	hub := r.hub()
	out := r.cmd.OutOrStdout()
	if r.g.json {
		views := struct {
			Edits    []editView          `json:"edits"`
			Problems []admin.ProblemView `json:"problems"`
			Hub      *hubView            `json:"hub"`
		}{r.edits, admin.ProblemsOf(problems, admin.All), hub}
		if r.edits == nil {
			views.Edits = []editView{}
		}
		return printJSON(out, views)
	}
	for _, e := range r.edits {
		fmt.Fprintf(out, "%s %s: %s\n", e.Done, e.Server, e.File)
	}
	for _, line := range r.extra {
		fmt.Fprintln(out, line)
	}
	for _, p := range problems {
		fmt.Fprintln(r.cmd.ErrOrStderr(), p)
	}
	switch {
	case len(r.changed()) == 0:
	case hub == nil:
		fmt.Fprintln(out, "no hub is running; the next one to start has this")
	case hub.Watches:
		fmt.Fprintf(out, "the hub at %s watches its files and takes this over by itself\n", hub.Addr)
	default:
		fmt.Fprintf(out, "the hub at %s was started with other files and does not take this over\n", hub.Addr)
	}
	return nil
}

// changed lists the files that were edited, each once.
func (r *report) changed() []string {
	var files []string
	for _, e := range r.edits {
		if e.Done != "skipped" && !slices.Contains(files, e.File) {
			files = append(files, e.File)
		}
	}
	return files
}

// problems are those of the entries that were edited, as the configuration is now.
func (r *report) problems() []config.Problem {
	cfg, err := config.Load(r.g.files(), os.LookupEnv)
	if err != nil {
		return nil // the edits went well, and the verbs that need the other files will say it
	}
	return slices.DeleteFunc(cfg.Problems, func(p config.Problem) bool {
		return !slices.ContainsFunc(r.edits, func(e editView) bool { return e.Server == p.Server && e.File == p.File && e.Done != "skipped" })
	})
}

// hub asks the run file whether a hub runs, and with which files.
func (r *report) hub() *hubView {
	info, err := r.g.running()
	if err != nil || syscall.Kill(info.PID, 0) != nil {
		return nil
	}
	view := &hubView{Addr: info.Addr, Watches: true}
	for _, file := range r.changed() {
		view.Watches = view.Watches && slices.ContainsFunc(info.Configs, func(config string) bool { return sameFile(config, file) })
	}
	return view
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// absolute makes paths mean the same in any directory.
func absolute(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = path
		if abs, err := filepath.Abs(path); err == nil {
			out[i] = abs
		}
	}
	return out
}

// pairs reads "name<sep>value" options into a map.
func pairs(option, sep string, texts []string) (map[string]string, error) {
	var out map[string]string
	for _, text := range texts {
		name, value, ok := strings.Cut(text, sep)
		name = strings.TrimSpace(name)
		if !ok || name == "" {
			return nil, fmt.Errorf("%s must be like NAME%sVALUE; VALUE may be ${VARIABLE} to stay out of the file", option, sep)
		}
		if sep == ":" {
			value = strings.TrimSpace(value)
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = value
	}
	return out, nil
}
