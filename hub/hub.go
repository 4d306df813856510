package hub

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// Options are what a hub needs besides its configuration.
type Options struct {
	Log     zerolog.Logger
	Version string           // the hub's own version, for serverInfo
	Reaper  *upstream.Reaper // nil: children are ended by the hub itself only

	// StateKey, 32 bytes, seals what stateless clients carry for the hub; hubs that share it understand
	// each other's. nil: a key of this process alone.
	StateKey []byte
	// CatalogDir keeps what servers offer over restarts; "" keeps nothing.
	CatalogDir string
}

// startsAtOnce bounds how many servers are connected in the background at once, so that a hub with
// fifty programs answers its first client while they start.
const startsAtOnce = 4

// Hub answers clients from many servers.
type Hub struct {
	opt     Options
	face    face
	set     *config.Settings
	servers []*upstream.Server
	byName  map[string]*upstream.Server
	catalog atomic.Pointer[catalog]
	changes atomic.Int64 // counts what may have changed the catalog

	building sync.Mutex // held while the catalog is made

	listedFrom atomic.Int64  // when the first list was asked for, in Unix nanoseconds; 0 before
	dirty      chan struct{} // an offer has changed; holds one token
	stop       chan struct{}
	quiet      chan struct{} // closed by Quiet
	quieting   sync.Once
	done       chan struct{}
	tasks      sync.WaitGroup

	sealer  *sealer
	orphans map[*upstream.Server]*atomic.Int64 // questions that could have been for several clients
	level   atomic.Pointer[string]             // of log messages that some session wants
	claims  claims                             // whose a task or an elicitation is

	mu       sync.Mutex // guards the rest
	clients  map[*Client]struct{}
	watchers map[*watcher]struct{}
	parked   map[string]*parked
}

// New makes a hub for a checked configuration. Nothing runs before Start.
func New(cfg *config.Config, opt Options) *Hub {
	h := &Hub{
		opt: opt, face: face(opt.Version), set: &cfg.Settings, byName: map[string]*upstream.Server{}, orphans: map[*upstream.Server]*atomic.Int64{},
		dirty: make(chan struct{}, 1), stop: make(chan struct{}), quiet: make(chan struct{}), done: make(chan struct{}),
		clients: map[*Client]struct{}{}, watchers: map[*watcher]struct{}{}, parked: map[string]*parked{},
		sealer: newSealer(opt.StateKey), claims: newClaims(),
	}
	up := &upstream.Options{
		Log: opt.Log, Version: opt.Version, MaxMessage: int(cfg.Settings.Limits.MaxMessageBytes), Reaper: opt.Reaper, CatalogDir: opt.CatalogDir,
		Processes: upstream.NewProcesses(cfg.Settings.MaxProcesses, cfg.Settings.MaxProcessMemoryMB),
		OnChange: func(*upstream.Server) {
			h.changes.Add(1)
			select {
			case h.dirty <- struct{}{}:
			default:
			}
		},
		OnNotice: subscriptions{h}.notice, OnAsk: apartness{h}.orphan, Starts: make(chan struct{}, startsAtOnce),
	}
	if cfg.Settings.Enabled {
		for _, entry := range cfg.Servers {
			s := upstream.NewServer(entry, up)
			h.servers = append(h.servers, s)
			h.byName[entry.Name] = s
			h.orphans[s] = &atomic.Int64{}
		}
	}
	h.catalog.Store(build(h.set, h.servers, h.face.info()))
	return h
}

// Start starts the servers and the goroutine that keeps the catalog.
func (h *Hub) Start() {
	go h.keepCatalog()
	for _, s := range h.servers {
		s.Start()
	}
}

// Close ends all servers, side by side, and returns when nothing of them is left.
func (h *Hub) Close() {
	h.Quiet()
	close(h.stop)
	<-h.done
	var closing sync.WaitGroup
	for _, s := range h.servers {
		closing.Go(s.Close)
	}
	closing.Wait()
	h.tasks.Wait()
}

// Quiet ends all subscriptions/listen, which would never end by themselves. Other requests go on.
func (h *Hub) Quiet() { h.quieting.Do(func() { close(h.quiet) }) }

// Servers returns the servers in configuration order.
func (h *Hub) Servers() []*upstream.Server { return h.servers }

// Has says whether a server of that name is configured.
func (h *Hub) Has(server string) bool { return h.byName[server] != nil }

// Notes returns what was dropped, repaired or renamed of a server's list.
func (h *Hub) Notes(server string) []string { return h.catalog.Load().notes[server] }

// Published returns how many tools of a server are published.
func (h *Hub) Published(server string) int {
	n := 0
	for _, t := range h.catalog.Load().tools {
		if t.server.Name() == server {
			n++
		}
	}
	return n
}

// current is the catalog of the newest offers. Whoever has waited for an offer must not miss it
// because the goroutine that keeps the catalog comes later.
func (h *Hub) current() *catalog {
	if c := h.catalog.Load(); c.change == h.changes.Load() {
		return c
	}
	return h.rebuild()
}

// rebuild makes the catalog anew and tells the clients whose list that changed.
func (h *Hub) rebuild() *catalog {
	h.building.Lock()
	defer h.building.Unlock()
	change := h.changes.Load()
	old := h.catalog.Load()
	if old.change == change {
		return old
	}
	now := build(h.set, h.servers, h.face.info())
	now.change = change
	h.catalog.Store(now)
	told := map[string]bool{}
	for _, l := range listed {
		if !told[l.changed] && !old.lists[l.method].same(now.lists[l.method]) {
			told[l.changed] = true
			h.announce("", l.changed)
		}
	}
	subscriptions{h}.followAll(now)
	return now
}

// keepCatalog rebuilds the catalog when an offer changes. Changes that come together are one change.
func (h *Hub) keepCatalog() {
	defer close(h.done)
	for {
		select {
		case <-h.dirty:
			h.rebuild()
		case <-h.stop:
			return
		}
	}
}

// settle waits for the first offers of servers that have had no time to give them, each within its
// startup window, which opens with the first list that anybody asks for.
func (h *Hub) settle(ctx context.Context) {
	h.listedFrom.CompareAndSwap(0, time.Now().UnixNano())
	opened := time.Unix(0, h.listedFrom.Load())
	for _, s := range h.servers {
		await(ctx, s, time.Until(opened.Add(s.Config().StartupTimeout)))
	}
}

// announce tells everybody who sees server, or the merged view for "", that a list has changed.
func (h *Hub) announce(server, method string) {
	msg := wire.AppendNotification(nil, method, nil)
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.clients {
		if c.Server == server && c.own == nil && c.Push != nil {
			c.Push(msg)
		}
	}
	for w := range h.watchers {
		if w.server == server && w.wants[method] {
			w.tell(news{method: method})
		}
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
