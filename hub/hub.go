package hub

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/upstream"
)

// Options are what a hub needs besides its configuration.
type Options struct {
	Log     zerolog.Logger
	Version string           // the hub's own version, for serverInfo
	Reaper  *upstream.Reaper // nil: children are ended by the hub itself only

	// StateKey, 32 bytes, seals what stateless clients carry for the hub; hubs that share it understand
	// each other's. nil: a key of this process alone.
	StateKey []byte
	// ScopeDir is where scopes outlast the process; "": they do not.
	ScopeDir string
	// Registered is the file in which registered servers outlast the process; "": they do not.
	Registered string
	// Pins are the tools that were approved; nil: those of this process.
	Pins *Pins
	// ScopeGrace is how long a scope outlasts its last session, which may come back; 0 means 30 s.
	ScopeGrace time.Duration
	// CatalogDir keeps what servers offer over restarts; "" keeps nothing.
	CatalogDir string
}

// startsAtOnce bounds how many servers are connected in the background at once, so that a hub with
// fifty programs answers its first client while they start.
const startsAtOnce = 4

// Hub answers clients from many servers.
type Hub struct {
	opt  Options
	face face
	id   string // by which a ring of hubs is known
	base *view  // of all configured servers

	scopes scopeTable

	dirty    chan struct{}   // an offer has changed; holds one token
	ctx      context.Context // ends with the hub
	stop     context.CancelFunc
	quiet    chan struct{} // closed by Quiet
	quieting sync.Once
	done     chan struct{}
	tasks    sync.WaitGroup

	sealer *sealer
	level  atomic.Pointer[string] // of log messages that some session wants
	claims claims                 // whose a task or an elicitation is
	pins   *Pins

	problems atomic.Pointer[[]config.Problem]

	reloading  sync.Mutex     // held while servers are started and retired; guards the next three
	cfg        *config.Config // the one that holds
	registered registered
	upstreams  *upstream.Options // of the servers made now

	mu       sync.Mutex // guards the rest
	clients  map[*Client]struct{}
	watchers map[*watcher]struct{}
	parked   map[string]*parked
}

// New makes a hub for a checked configuration. Nothing runs before Start.
func New(cfg *config.Config, opt Options) *Hub {
	opt.ScopeGrace = cmp.Or(opt.ScopeGrace, 30*time.Second)
	h := &Hub{
		opt: opt, face: face(opt.Version), id: randomKey(),
		dirty: make(chan struct{}, 1), quiet: make(chan struct{}), done: make(chan struct{}),
		clients: map[*Client]struct{}{}, watchers: map[*watcher]struct{}{}, parked: map[string]*parked{},
		sealer: newSealer(opt.StateKey), claims: newClaims(),
	}
	if h.pins = opt.Pins; h.pins == nil {
		h.pins, _ = ReadPins("") // reads nothing
	}
	h.ctx, h.stop = context.WithCancel(context.Background())
	h.base = newView(h, newRoster(&cfg.Settings, h.pins, nil))
	if err := h.Registry().load(); err != nil {
		opt.Log.Error().Err(err).Msg("registered servers")
	}
	first, _ := fleet{h}.renew(cfg)
	h.base = newView(h, first)
	h.scopes.byID = map[string]*scope{}
	return h
}

// Start starts the servers and the goroutine that keeps the catalogs.
func (h *Hub) Start() {
	go fleet{h}.keepCatalogs()
	for _, s := range h.Servers() {
		s.Start()
	}
	h.Scopes().restore()
}

// Close ends all servers, side by side, and returns when nothing of them is left.
func (h *Hub) Close() {
	h.Quiet()
	h.scopes.close()
	h.stop()
	<-h.done
	h.reloading.Lock()
	defer h.reloading.Unlock()
	var closing sync.WaitGroup
	for _, s := range (fleet{h}).everyone() {
		closing.Go(s.Close)
	}
	closing.Wait()
	h.tasks.Wait()
}

// Quiet ends all subscriptions/listen, which would never end by themselves. Other requests go on.
func (h *Hub) Quiet() { h.quieting.Do(func() { close(h.quiet) }) }

// Servers returns the configured servers in configuration order.
func (h *Hub) Servers() []*upstream.Server { return h.base.servers() }

// Server returns the configured server of that name, nil where there is none.
func (h *Hub) Server(name string) *upstream.Server { return h.base.server(name) }

// Problems is what is wrong or doubtful in the configuration that holds.
func (h *Hub) Problems() []config.Problem { return *h.problems.Load() }

// Has says whether there is such a door.
func (h *Hub) Has(d Door) bool {
	if d.Scope != "" {
		return h.scopes.get(d.Scope) != nil
	}
	return d.Server == "" || h.base.server(d.Server) != nil
}

// Published says how many tools of a server are published, and what was dropped, repaired or renamed of its list.
func (h *Hub) Published(server string) (tools int, notes []string) {
	return published(h.base.current(), server)
}

// viewOf is what a client sees: of a scope that has ended, what is left.
func (h *Hub) viewOf(c *Client) *view {
	if c.Scope == "" {
		return h.base
	}
	if sc := h.scopes.get(c.Scope); sc != nil {
		return sc.view
	}
	return h.base
}

// sees says whether a server is among those that a client sees as one.
func (h *Hub) sees(c *Client, s *upstream.Server) bool {
	return c.Server == "" && h.viewOf(c).server(s.Name()) == s
}
