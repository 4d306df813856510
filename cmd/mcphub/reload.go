package main

import (
	"sync"
	"sync/atomic"
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

	mu sync.Mutex // held while a configuration is read and applied, so that an older one never follows a newer
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
	r.log.Info().Strs("added", done.Added).Strs("removed", done.Removed).Strs("changed", done.Changed).Int("kept", len(done.Kept)).Msg("reloaded")
	return done, nil
}

// adminOptions are the operator's door of a hub; done is closed when its streams have to end.
func adminOptions(r *reloader, done <-chan struct{}) admin.Options {
	return admin.Options{
		Hub: r.hub, Log: r.log, Version: version, Started: time.Now(), MaxBody: r.inUse.Load().Settings.Limits.MaxMessageBytes,
		Config: r.inUse.Load, Reload: r.reload, Sessions: func() int { return front.Sessions(r.front) }, Done: done,
	}
}
