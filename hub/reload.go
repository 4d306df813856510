package hub

import (
	"context"
	"slices"

	"mcphub/config"
	"mcphub/upstream"
)

// Report says what a reload has done, by server's name.
type Report struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []string `json:"changed"` // runs by its new entry
	Kept    []string `json:"kept"`    // was left alone, connection and all
}

// Reload applies another configuration by its differences. A server whose entry is the same keeps its connection and
// its calls; one that is gone or changed ends once its calls have; clients hear of lists that have changed, and only of
// those.
func (h *Hub) Reload(cfg *config.Config) Report {
	h.reloading.Lock()
	defer h.reloading.Unlock()
	return fleet{h}.apply(cfg)
}

// fleet starts and ends the hub's servers.
type fleet struct{ *Hub }

// apply has the servers be those of a configuration and of the registry; reloading is held.
func (h fleet) apply(cfg *config.Config) Report {
	old := h.base.roster.Load()
	now, report := h.renew(cfg)
	for _, s := range now.servers {
		if old.byName[s.Name()] != s {
			s.Start()
		}
	}
	h.base.show(now)
	for _, sc := range h.scopes.all() {
		sc.view.show(now.with(sc.own))
	}
	for _, name := range report.Changed {
		for _, l := range listed {
			herald(h).announceFor(name, l.changed)
		}
	}
	for _, s := range old.servers {
		if now.byName[s.Name()] != s {
			h.tasks.Go(func() { h.retire(s) })
		}
	}
	return report
}

// renew makes the roster of a configuration from the servers that are there and, where an entry is another, new ones.
// They are not started.
func (h fleet) renew(cfg *config.Config) (*roster, Report) {
	old := h.base.roster.Load()
	rep := Report{Added: []string{}, Removed: []string{}, Changed: []string{}, Kept: []string{}}
	anew := h.upstreams == nil || shared(old.set) != shared(&cfg.Settings)
	if anew {
		h.upstreams = h.upstreamOptions(&cfg.Settings)
	}
	h.cfg = cfg
	h.Registry().read()
	entries, lost := h.Registry().merge(cfg)
	problems := slices.Concat(cfg.Problems, lost)
	h.problems.Store(&problems)
	if !cfg.Settings.Enabled {
		entries = nil
	}
	var servers []*upstream.Server
	for _, entry := range entries {
		s := old.byName[entry.Name]
		switch {
		case s == nil:
			rep.Added = append(rep.Added, entry.Name)
		case anew || !s.Config().Equal(entry):
			rep.Changed = append(rep.Changed, entry.Name)
		default:
			rep.Kept = append(rep.Kept, entry.Name)
			servers = append(servers, s)
			continue
		}
		servers = append(servers, upstream.NewServer(entry, h.upstreams))
	}
	now := newRoster(&cfg.Settings, h.pins, servers)
	now.skills = cfg.Skills
	for _, entry := range entries {
		now.entries[entry.Name] = entry
	}
	for _, s := range old.servers {
		if now.byName[s.Name()] == nil {
			rep.Removed = append(rep.Removed, s.Name())
		}
	}
	return now, rep
}

// shared are the settings that servers are made with, so that all are made anew where they change.
func shared(set *config.Settings) [3]int64 {
	return [3]int64{set.Limits.MaxMessageBytes, int64(set.MaxProcesses), int64(set.MaxProcessMemoryMB)}
}

// upstreamOptions are what the servers share.
func (h fleet) upstreamOptions(set *config.Settings) *upstream.Options {
	return &upstream.Options{
		Log: h.opt.Log, Version: h.opt.Version, MaxMessage: int(set.Limits.MaxMessageBytes), Reaper: h.opt.Reaper, CatalogDir: h.opt.CatalogDir,
		Processes: upstream.NewProcesses(set.MaxProcesses, set.MaxProcessMemoryMB),
		OnChange:  h.changed, Accept: ring(h).accept, OnNotice: subscriptions(h).notice, OnAsk: apartness(h).orphan, Starts: make(chan struct{}, startsAtOnce),
	}
}

// retire ends a server that nobody can call any more, once the calls in flight on it have ended.
func (h fleet) retire(s *upstream.Server) {
	ctx, cancel := context.WithTimeout(h.ctx, s.Config().MaxRequestTimeout)
	defer cancel()
	s.Drain(ctx)
	s.Close()
	h.mu.Lock()
	clients := make([]*Client, 0, len(h.clients))
	for c := range h.clients {
		clients = append(clients, c)
	}
	h.mu.Unlock()
	for _, c := range clients {
		c.mu.Lock()
		delete(c.conns, s)
		c.mu.Unlock()
	}
}

// everyone are all servers that run for somebody.
func (h fleet) everyone() (servers []*upstream.Server) {
	for _, v := range h.views() {
		for _, s := range v.servers() {
			if !slices.Contains(servers, s) {
				servers = append(servers, s)
			}
		}
	}
	return servers
}

// keepCatalogs rebuilds the catalogs when an offer changes. Changes that come together are one change.
func (h fleet) keepCatalogs() {
	defer close(h.done)
	for {
		select {
		case <-h.dirty:
			for _, v := range h.views() {
				v.current()
			}
		case <-h.ctx.Done():
			return
		}
	}
}

// views are all views there are.
func (h fleet) views() []*view {
	views := []*view{h.base}
	for _, sc := range h.scopes.all() {
		views = append(views, sc.view)
	}
	return views
}

// changed notes that a server's offer or state is another.
func (h fleet) changed(*upstream.Server) {
	for _, v := range h.views() {
		v.changes.Add(1)
	}
	select {
	case h.dirty <- struct{}{}:
	default:
	}
}
