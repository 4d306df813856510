package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/admin"
	"mcphub/config"
	"mcphub/front"
	"mcphub/hub"
	"mcphub/internal/atomicfile"
	"mcphub/upstream"
	"mcphub/wire"
)

// grace is how long calls under way may take to finish once the hub has been told to end.
const grace = 5 * time.Second

// gcPercent trades memory for time: most of what a relayed call allocates is gone with its answer.
const gcPercent = 200

func serveCommand(g *globals) *cobra.Command {
	var listen string
	var insecure bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the configured servers over HTTP",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, log, err := g.start()
			if err != nil {
				return err
			}
			if err := mayListen(listen, insecure); err != nil {
				return usageError{err}
			}
			return serve(g, cfg, listen, log)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "address to listen on; port 0 picks a free one")
	cmd.Flags().BoolVar(&insecure, "insecure", false, "listen beyond this machine without authentication")
	return cmd
}

// start reads the configuration into the log that the flags ask for.
func (g *globals) start() (*config.Config, zerolog.Logger, error) {
	log, err := g.logger()
	if err != nil {
		return nil, log, err
	}
	if g.configs = g.named(); len(g.configs) == 0 {
		g.configs = []string{defaultConfig()} // not those of another hub
	}
	cfg, err := g.load(func(p config.Problem) { logProblem(log, p) })
	return cfg, log, err
}

func logProblem(log zerolog.Logger, p config.Problem) {
	event := log.Warn()
	if p.Severity == config.Error {
		event = log.Error()
	}
	event.Str("file", p.File).Int("line", p.Line).Str("path", p.Path).Str("server", p.Server).Msg(p.Message)
}

// mayListen refuses an address that others can reach, as long as nobody is asked who they are.
func mayListen(listen string, insecure bool) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return fmt.Errorf("--listen: %w", err)
	}
	addr, err := netip.ParseAddr(host)
	if insecure || host == "localhost" || err == nil && addr.IsLoopback() {
		return nil
	}
	return fmt.Errorf("--listen %s: others could reach the hub there and nobody would be asked who they are; "+
		"listen on 127.0.0.1, or add --insecure if the network keeps strangers out", listen)
}

// serve runs the hub until a signal ends it.
func serve(g *globals, cfg *config.Config, listen string, log zerolog.Logger) error {
	debug.SetGCPercent(gcPercent)
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("listening on %s: %w; is another hub running? --listen picks another port", listen, err)
	}
	key, err := stateKey(g.dataDir)
	if err != nil {
		return err
	}
	h, closeHub, err := newHub(g, cfg, log, key)
	if err != nil {
		return err
	}
	opt := frontOptions(cfg, log)
	opt.SessionDir = filepath.Join(g.dataDir, "sessions")
	opt.Refuse = admin.Refuse
	f := front.New(h, opt)
	router := chi.NewRouter()
	f.Mount(router)
	again, draining := newReloader(g, cfg, h, f, log), make(chan struct{})
	router.Group(func(r chi.Router) {
		r.Use(f.Guard)
		admin.Mount(r, adminOptions(again, draining))
	})
	server := &http.Server{Handler: router, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	h.Start()
	unfollow := again.follow()
	runFile, err := writeRunFile(g.dataDir, runInfo{Addr: listener.Addr().String(), PID: os.Getpid(), Configs: absolute(g.files())})
	if err == nil {
		log.Info().Str("addr", listener.Addr().String()).Str("version", version).Int("servers", len(h.Servers())).Msg("listening")
		err = untilSignal(served)
	}
	unfollow()
	close(draining)
	f.Drain()
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
	f.Close()
	closeHub()
	_ = os.Remove(runFile)
	log.Info().Msg("ended")
	return err
}

// untilSignal waits for SIGINT or SIGTERM; a second one ends the process at once.
func untilSignal(served <-chan error) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	select {
	case err := <-served:
		return err
	case <-signals:
	}
	go func() {
		<-signals
		os.Exit(exitFailed)
	}()
	return nil
}

// newReaper is this program, started a second time.
func newReaper() *upstream.Reaper {
	self, err := os.Executable()
	if err != nil {
		return &upstream.Reaper{}
	}
	return upstream.NewReaper(self, reaperVerb)
}

// newHub makes the hub and its reaper; the returned function ends both.
func newHub(g *globals, cfg *config.Config, log zerolog.Logger, key []byte) (*hub.Hub, func(), error) {
	if err := enter(g.files()); err != nil {
		return nil, nil, usageError{err}
	}
	in := func(name string) string { return filepath.Join(g.dataDir, name) }
	pins, err := hub.ReadPins(in("approved.json"))
	if err != nil {
		return nil, nil, err
	}
	reaper := newReaper()
	opt := hub.Options{
		Log: log, Version: version, Reaper: reaper, StateKey: key, Pins: pins, CatalogDir: in("catalogs"), Registered: in("registered.json"),
	}
	if key != nil { // scopes are those of the hub that serves on this directory; stdio has no door to them
		opt.ScopeDir = in("scopes")
	}
	h := hub.New(cfg, opt)
	upstream.SweepCatalogs(in("catalogs"))
	return h, func() {
		h.Close()
		_ = reaper.Close()
	}, nil
}

func frontOptions(cfg *config.Config, log zerolog.Logger) front.Options {
	return front.Options{
		Log: log, Settings: &cfg.Settings,
	}
}

// stateKey is the key in <data-dir>/state.key, made on first use: what stateless clients carry for the hub
// stays good over a restart.
func stateKey(dataDir string) ([]byte, error) {
	path := filepath.Join(dataDir, "state.key")
	key, err := os.ReadFile(path)
	if err == nil && len(key) == 32 {
		return key, nil
	}
	key = make([]byte, 32)
	_, _ = rand.Read(key) // never fails: crypto/rand ends the program where it could not
	if err := atomicfile.Write(path, key); err != nil {
		return nil, fmt.Errorf("writing state.key: %w; --data-dir names another directory", err)
	}
	return key, nil
}

// runInfo is how the other verbs find a running hub.
type runInfo struct {
	Addr    string   `json:"addr"`
	PID     int      `json:"pid"`
	Configs []string `json:"configs"` // the files it reads, absolute; verbs that are told of none mean these
}

// writeRunFile writes <data-dir>/run.json whole: under another name, then renamed.
func writeRunFile(dataDir string, info runInfo) (string, error) {
	path := filepath.Join(dataDir, "run.json")
	text, err := json.Marshal(info)
	if err != nil {
		return "", err
	}
	if err := atomicfile.Write(path, append(text, '\n')); err != nil {
		return "", fmt.Errorf("writing run.json: %w; --data-dir names another directory", err)
	}
	return path, nil
}

func stdioCommand(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "stdio",
		Short: "Serve one client on standard input and output",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, log, err := g.start()
			if err != nil {
				return err
			}
			return serveStdio(g, cfg, log)
		},
	}
}

func serveStdio(g *globals, cfg *config.Config, log zerolog.Logger) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	h, closeHub, err := newHub(g, cfg, log, nil)
	if err != nil {
		return err
	}
	h.Start()
	f := front.New(h, frontOptions(cfg, log))
	unfollow := newReloader(g, cfg, h, f, log).follow()
	write := func(line []byte) error {
		_, err := os.Stdout.Write(line)
		return err
	}
	err = f.Stdio(ctx, wire.NewLineReader(os.Stdin, int(cfg.Settings.Limits.MaxMessageBytes)), write)
	unfollow()
	f.Close()
	closeHub()
	if errors.Is(err, context.Canceled) || isEOF(err) {
		return nil
	}
	return err
}
