package hub

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/config"
	"mcphub/upstream"
)

// Door is by which of the hub's doors a client came in. The zero value is the merged view of all configured servers.
type Door struct {
	Server string // the one server it is relayed to
	Scope  string // the id of the scope whose servers it sees besides
}

// roster is the servers of a view, and how they are published. It is never changed once it is in use.
type roster struct {
	set     *config.Settings
	servers []*upstream.Server
	byName  map[string]*upstream.Server
	pins    *Pins
	skills  []config.Skill
	entries map[string]*config.Server // by name, as the newest configuration has them; a server that was kept has an older one
}

// entry is the newest entry of a server, which says where it stands now.
func (r *roster) entry(s *upstream.Server) *config.Server {
	if e := r.entries[s.Name()]; e != nil {
		return e
	}
	return s.Config()
}

func newRoster(set *config.Settings, pins *Pins, servers []*upstream.Server) *roster {
	r := &roster{set: set, pins: pins, servers: servers, byName: map[string]*upstream.Server{}, entries: map[string]*config.Server{}}
	for _, s := range servers {
		r.byName[s.Name()] = s
	}
	return r
}

// with is the roster with more servers, without those whose names are taken.
func (r *roster) with(more []*upstream.Server) *roster {
	servers := slices.Clone(r.servers)
	for _, s := range more {
		if r.byName[s.Name()] == nil {
			servers = append(servers, s)
		}
	}
	joined := newRoster(r.set, r.pins, servers)
	joined.entries, joined.skills = r.entries, r.skills
	return joined
}

// changed are the tools of a server that are not what was approved, where that matters. Who has handed a server over has
// approved it.
func (r *roster) changed(s *upstream.Server, offer *upstream.Offer) map[string]bool {
	if r.set.PinTools == "off" || s.Config().Source.HandedOver() {
		return nil
	}
	return r.pins.changed(s.Name(), offer)
}

// view is some servers as one: all that are configured, or those and a scope's.
type view struct {
	hub     *Hub
	roster  atomic.Pointer[roster]
	catalog atomic.Pointer[catalog]
	changes atomic.Int64 // counts what may have changed the catalog

	listedFrom atomic.Int64 // when the first list was asked for, in Unix nanoseconds; 0 before

	building sync.Mutex // held while the catalog is made
}

func newView(h *Hub, r *roster) *view {
	v := &view{hub: h}
	v.roster.Store(r)
	v.catalog.Store(build(r, h.face.info()))
	return v
}

// servers are the view's servers, in the order in which they are listed.
func (v *view) servers() []*upstream.Server { return v.roster.Load().servers }

// server is the server of that name, nil where there is none.
func (v *view) server(name string) *upstream.Server { return v.roster.Load().byName[name] }

// show has the view show other servers, or show them by other settings.
func (v *view) show(r *roster) {
	v.roster.Store(r)
	v.changes.Add(1)
	v.rebuild()
}

// current is the catalog of the newest offers. Whoever has waited for an offer must not miss it
// because the goroutine that keeps the catalogs comes later.
func (v *view) current() *catalog {
	if c := v.catalog.Load(); c.change == v.changes.Load() {
		return c
	}
	return v.rebuild()
}

// rebuild makes the catalog anew and tells the clients whose list that changed.
func (v *view) rebuild() *catalog {
	v.building.Lock()
	defer v.building.Unlock()
	change := v.changes.Load()
	old := v.catalog.Load()
	if old.change == change {
		return old
	}
	now := build(v.roster.Load(), v.hub.face.info())
	now.change = change
	v.catalog.Store(now)
	if err := v.hub.pins.save(); err != nil {
		v.hub.opt.Log.Warn().Err(err).Msg("tools")
	}
	told := map[string]bool{}
	for _, l := range listed {
		if !told[l.changed] && !old.lists[l.method].same(now.lists[l.method]) {
			told[l.changed] = true
			herald{v.hub}.announce(v, l.changed)
		}
	}
	herald{v.hub}.tellRevealed(v, old, now)
	subscriptions{v.hub}.followAll(v, now)
	return now
}

// settle waits for the first offers of servers that have had no time to give them, each within its
// startup window, which opens with the first list that anybody asks for, or with the server's own start after that.
func (v *view) settle(ctx context.Context) {
	v.listedFrom.CompareAndSwap(0, time.Now().UnixNano())
	listed := time.Unix(0, v.listedFrom.Load())
	for _, s := range v.servers() {
		opened := listed
		if started := s.Started(); started.After(opened) {
			opened = started
		}
		await(ctx, s, time.Until(opened.Add(s.Config().StartupTimeout)))
	}
}

// await waits at most d for the server's first offer.
func await(ctx context.Context, s *upstream.Server, d time.Duration) {
	select {
	case <-s.Settled():
		return
	default:
	}
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.Settled():
	case <-timer.C:
	case <-ctx.Done():
	}
}
