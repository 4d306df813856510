// Package admin is the operator's view of a running hub.
package admin

import (
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/hub"
)

// Options are what the operator's door needs. Only Hub has to be there.
type Options struct {
	Hub     *hub.Hub
	Log     zerolog.Logger
	Version string    // the hub's own
	Started time.Time // of the process; zero: now
	MaxBody int64     // bytes of a tool's arguments; 0 means 64 MiB

	// Config is the configuration in use; nil: there is none to speak of.
	Config func() *config.Config
	// Reload reads the configuration anew and applies it. It is an error where a file cannot be used, and then nothing has
	// changed. nil: there is nothing to read.
	Reload func() (Reloaded, error)
	// Sessions counts the sessions of clients; nil: nobody counts them.
	Sessions func() int
	// Done is closed when streams that would never end have to; nil: they end with their clients.
	Done <-chan struct{}
}

// Mount adds the operator's routes to r: /healthz, /readyz and everything under /api.
func Mount(r chi.Router, opt Options) {
	if opt.Started.IsZero() {
		opt.Started = time.Now()
	}
	if opt.MaxBody == 0 {
		opt.MaxBody = 64 << 20
	}
	if opt.Config == nil {
		none := &config.Config{Settings: config.Settings{Enabled: true}}
		opt.Config = func() *config.Config { return none }
	}
	a := &api{Options: opt}
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	r.Get("/readyz", a.ready)
	r.Route("/api", a.mount)
}

// settledWait is how long /readyz?servers=settled waits.
const settledWait = 30 * time.Second

// ready answers once the hub serves; with ?servers=settled it waits until every server has been tried.
func (a *api) ready(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("servers") == "settled" {
		limit := time.NewTimer(settledWait)
		defer limit.Stop()
		for _, s := range a.Hub.Servers() {
			select {
			case <-s.Settled():
			case <-limit.C:
				http.Error(w, "server "+s.Name()+" is still "+string(s.Status().State), http.StatusServiceUnavailable)
				return
			case <-r.Context().Done():
				return
			}
		}
	}
	_, _ = w.Write([]byte("ready\n"))
}
