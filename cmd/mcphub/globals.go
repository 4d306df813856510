package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/config"
)

// globals are the flags that several verbs have.
type globals struct {
	configs  []string
	dataDir  string
	logLevel string
	logForm  string
	json     bool
}

func (g *globals) flags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringArrayVarP(&g.configs, "config", "c", nil, "configuration file, repeatable (default $MCPHUB_CONFIG, then the running hub's, then "+defaultConfig()+")")
	f.StringVar(&g.dataDir, "data-dir", defaultDataDir(), "where the hub keeps its state")
	f.StringVar(&g.logLevel, "log-level", "info", "trace, debug, info, warn or error")
	f.StringVar(&g.logForm, "log-format", "", "json or console (default: console on a terminal, else json)")
	f.BoolVar(&g.json, "json", false, "print JSON")
}

func defaultConfig() string {
	return filepath.Join(xdg("XDG_CONFIG_HOME", ".config"), "mcphub", "config.json")
}

func defaultDataDir() string { return filepath.Join(xdg("XDG_STATE_HOME", ".local/state"), "mcphub") }

// xdg is a base directory of the XDG specification.
func xdg(variable, inHome string) string {
	if dir := os.Getenv(variable); filepath.IsAbs(dir) {
		return dir
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	return filepath.Join(home, inHome)
}

// files are the configuration files that are named, else those of the running hub: what it says of them, and what it advises to
// do with them, means the files that it reads.
func (g *globals) files() []string {
	if files := g.named(); len(files) > 0 {
		return files
	}
	if info, err := g.running(); err == nil && len(info.Configs) > 0 && syscall.Kill(info.PID, 0) == nil {
		return info.Configs
	}
	return []string{defaultConfig()}
}

// named are the configuration files of the flags, else of the environment; none where neither says.
func (g *globals) named() []string {
	if path := os.Getenv("MCPHUB_CONFIG"); len(g.configs) == 0 && path != "" {
		return []string{path}
	}
	return g.configs
}

// trustFile is where trusted files are kept.
func (g *globals) trustFile() string { return filepath.Join(g.dataDir, "trust.json") }

// load reads the configuration and prints what is wrong with it. A problem of one server leaves the
// others; one of the hub as a whole is an error.
func (g *globals) load(report func(config.Problem)) (*config.Config, error) {
	trust, err := config.LoadTrust(g.trustFile())
	if err != nil {
		return nil, usageError{err}
	}
	cfg, err := config.Gather(g.files(), os.LookupEnv, trust)
	if err != nil {
		return nil, usageError{err}
	}
	bad := 0
	for _, p := range cfg.Problems {
		report(p)
		own := p.File == "" || slices.Contains(g.files(), p.File) // what others wrote stops nothing
		if own && p.Server == "" && p.Severity == config.Error {
			bad++
		}
	}
	if bad > 0 {
		return cfg, usageError{fmt.Errorf("%d settings of the configuration are wrong; see: mcphub check", bad)}
	}
	return cfg, nil
}

func (g *globals) logger() (zerolog.Logger, error) {
	level, err := zerolog.ParseLevel(g.logLevel)
	if err != nil {
		return zerolog.Logger{}, usageError{fmt.Errorf("--log-level: %w", err)}
	}
	var out io.Writer = os.Stderr
	switch g.logForm {
	case "json":
	case "console":
		out = zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: time.TimeOnly}
	case "":
		if isTerminal(os.Stderr) {
			out = zerolog.ConsoleWriter{Out: os.Stderr, TimeFormat: time.TimeOnly}
		}
	default:
		return zerolog.Logger{}, usageError{fmt.Errorf("--log-format: %q is neither json nor console", g.logForm)}
	}
	return zerolog.New(out).Level(level).With().Timestamp().Logger(), nil
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat() // an error for a nil file
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	nowhere, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, nowhere)
}

// printJSON prints v as indented JSON.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
