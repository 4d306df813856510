package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"mcphub/admin"
	"mcphub/config"
	"mcphub/front"
	"mcphub/hub"
)

// reloader reads the configuration anew for a hub that runs.
type reloader struct {
	flags *globals
	hub   *hub.Hub
	front *front.Front
	log   zerolog.Logger
	inUse atomic.Pointer[config.Config]

	watcher atomic.Pointer[config.Watcher] // nil where files cannot be watched

	mu sync.Mutex // held while a configuration is read and applied, so that an older one never follows a newer
}

func newReloader(g *globals, cfg *config.Config, h *hub.Hub, f *front.Front, log zerolog.Logger) *reloader {
	r := &reloader{flags: g, hub: h, front: f, log: log}
	r.inUse.Store(cfg)
	return r
}

// reload applies the differences. Where the configuration cannot be used, nothing changes.
func (r *reloader) reload() (admin.Reloaded, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	cfg, err := r.flags.load(func(p config.Problem) { logProblem(r.log, p) })
	if err != nil {
		r.log.Error().Err(err).Msg("the configuration was not reloaded")
		return admin.Reloaded{}, err
	}
	done := admin.Reloaded{Report: r.hub.Reload(cfg)}
	done.Problems = admin.ProblemsOf(r.hub.Problems(), admin.All)
	r.front.Reload(&cfg.Settings)
	r.inUse.Store(cfg)
	if w := r.watcher.Load(); w != nil {
		w.Watch(cfg)
	}
	r.log.Info().Strs("added", done.Added).Strs("removed", done.Removed).Strs("changed", done.Changed).Int("kept", len(done.Kept)).Msg("reloaded")
	return done, nil
}

// follow reloads when a file of the configuration changes, and on SIGHUP. The returned function ends that.
func (r *reloader) follow() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	watcher, err := config.NewWatcher(r.inUse.Load(), func() { _, _ = r.reload() }) // which logs what is wrong
	if err != nil {
		r.log.Warn().Err(err).Msg("the configuration is not watched; SIGHUP or mcphub reload read it anew")
	}
	r.watcher.Store(watcher)
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		for {
			select {
			case <-hangup:
				_, _ = r.reload()
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		signal.Stop(hangup)
		cancel()
		waiting.Wait()
		if watcher != nil {
			watcher.Close()
		}
	}
}

// adminOptions are the operator's door of a hub; done is closed when its streams have to end.
func adminOptions(r *reloader, done <-chan struct{}) admin.Options {
	return admin.Options{
		Hub: r.hub, Log: r.log, Version: version, Started: time.Now(), MaxBody: r.inUse.Load().Settings.Limits.MaxMessageBytes,
		Config: r.inUse.Load, Reload: r.reload, Sessions: func() int { return front.Sessions(r.front) }, Done: done,
	}
}
