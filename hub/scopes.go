package hub

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mcphub/config"
	"mcphub/internal/atomicfile"
	"mcphub/upstream"
)

// Scope is a set of servers that only those see who know its id, besides all that everybody sees.
type Scope struct {
	ID       string    `json:"id"`
	Servers  []string  `json:"servers"` // its own
	Sessions int       `json:"sessions"`
	Created  time.Time `json:"created"`
	Ends     time.Time `json:"ends,omitzero"` // at the latest; zero where only the last session ends it
}

// Scopes are the hub's open scopes.
type Scopes struct{ hub *Hub }

// Scopes returns the hub's open scopes.
func (h *Hub) Scopes() Scopes { return Scopes{h} }

// ErrNoScope is the error for an id that no scope has.
var ErrNoScope = errors.New("no scope of that id is open: it has ended, or the id is wrong")

// scopeUnused is how long a scope waits for its first session, after a start of the hub too.
const scopeUnused = time.Hour

// scope is one that is open.
type scope struct {
	id   string
	rec  scopeRecord
	view *view // of the configured servers and its own
	own  []*upstream.Server
	ttl  *time.Timer // nil without one

	sessions int         // the table's mutex guards it
	empty    *time.Timer // ends the scope when nobody is there
}

// scopeRecord is a scope at rest.
type scopeRecord struct {
	Given   json.RawMessage `json:"given"` // {"mcpServers": {…}} as it was handed over
	Created time.Time       `json:"created"`
	Ends    time.Time       `json:"ends,omitzero"`
}

// scopeTable has the open scopes by id.
type scopeTable struct {
	mu   sync.RWMutex // guards the rest
	byID map[string]*scope
	over bool // the hub ends
}

func (st *scopeTable) get(id string) *scope {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.byID[id]
}

func (st *scopeTable) all() []*scope {
	st.mu.RLock()
	defer st.mu.RUnlock()
	all := make([]*scope, 0, len(st.byID))
	for _, sc := range st.byID {
		all = append(all, sc)
	}
	slices.SortFunc(all, func(a, b *scope) int {
		return cmp.Or(a.rec.Created.Compare(b.rec.Created), strings.Compare(a.id, b.id))
	})
	return all
}

// add opens a scope, unless the hub ends.
func (st *scopeTable) add(sc *scope) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.over {
		st.byID[sc.id] = sc
	}
	return !st.over
}

// remove takes a scope out, with ifEmpty only where nobody is there. It is nil where there is none to take out.
func (st *scopeTable) remove(id string, ifEmpty bool) *scope {
	st.mu.Lock()
	defer st.mu.Unlock()
	sc := st.byID[id]
	if sc == nil || st.over || ifEmpty && sc.sessions > 0 {
		return nil
	}
	delete(st.byID, id)
	sc.empty.Stop()
	if sc.ttl != nil {
		sc.ttl.Stop()
	}
	return sc
}

// enter counts a session in, or out with n -1. Once nobody is left, the scope ends after grace.
func (st *scopeTable) enter(id string, n int, grace time.Duration) {
	st.mu.Lock()
	defer st.mu.Unlock()
	sc := st.byID[id]
	if sc == nil || st.over {
		return
	}
	if sc.sessions += n; sc.sessions > 0 {
		sc.empty.Stop()
	} else {
		sc.empty.Reset(grace)
	}
}

// close keeps the scopes from ending by themselves: another process of the hub finds them.
func (st *scopeTable) close() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.over = true
}

// List describes the open scopes, the oldest first.
func (ss Scopes) List() []Scope {
	list := []Scope{}
	for _, sc := range ss.hub.scopes.all() {
		list = append(list, ss.describe(sc))
	}
	return list
}

// Servers are a scope's own servers, none where it has ended.
func (ss Scopes) Servers(id string) []*upstream.Server {
	if sc := ss.hub.scopes.get(id); sc != nil {
		return sc.own
	}
	return nil
}

// Published says of a scope's server what [Hub.Published] says of a configured one.
func (ss Scopes) Published(id, server string) (tools int, notes []string) {
	if sc := ss.hub.scopes.get(id); sc != nil {
		return published(sc.view.current(), server)
	}
	return 0, nil
}

func (ss Scopes) describe(sc *scope) Scope {
	d := Scope{ID: sc.id, Servers: []string{}, Created: sc.rec.Created, Ends: sc.rec.Ends}
	for _, s := range sc.own {
		d.Servers = append(d.Servers, s.Name())
	}
	ss.hub.scopes.mu.RLock()
	defer ss.hub.scopes.mu.RUnlock()
	d.Sessions = sc.sessions
	return d
}

// Open makes a scope of {"mcpServers": {…}}, as [config.HandedOver] reads it. It ends by Close, some time after its last
// session, and after ttl at the latest; 0 sets no such end.
func (ss Scopes) Open(given []byte, ttl time.Duration) (Scope, error) {
	rec := scopeRecord{Given: given, Created: time.Now().UTC()}
	if ttl > 0 {
		rec.Ends = rec.Created.Add(ttl)
	}
	sc, err := ss.open(randomKey(), rec)
	if err != nil {
		return Scope{}, err
	}
	return ss.describe(sc), nil
}

func (ss Scopes) open(id string, rec scopeRecord) (*scope, error) {
	h := ss.hub
	h.reloading.Lock()
	defer h.reloading.Unlock()
	base := h.base.roster.Load()
	entries, err := config.HandedOver(rec.Given, config.SourceScope, base.set.SessionServers)
	if err != nil {
		return nil, err
	}
	sc := &scope{id: id, rec: rec}
	for _, entry := range entries {
		if base.byName[entry.Name] != nil {
			return nil, fmt.Errorf("mcpServers.%s: %w", entry.Name, ErrConfigured)
		}
		sc.own = append(sc.own, upstream.NewServer(entry, h.upstreams))
	}
	if err := ss.save(sc); err != nil {
		return nil, err
	}
	sc.view = newView(h, base.with(sc.own))
	sc.empty = time.AfterFunc(scopeUnused, func() { ss.end(id, true) })
	if !rec.Ends.IsZero() {
		sc.ttl = time.AfterFunc(time.Until(rec.Ends), func() { ss.end(id, false) })
	}
	if !h.scopes.add(sc) {
		return nil, errors.New("the hub ends")
	}
	for _, s := range sc.own {
		s.Start()
	}
	return sc, nil
}

// Close ends a scope: nobody sees its servers any more, and they end once their calls have.
func (ss Scopes) Close(id string) error {
	if !ss.end(id, false) {
		return ErrNoScope
	}
	return nil
}

func (ss Scopes) end(id string, ifEmpty bool) bool {
	h := ss.hub
	h.reloading.Lock()
	defer h.reloading.Unlock()
	sc := h.scopes.remove(id, ifEmpty)
	if sc == nil {
		return false
	}
	if path := ss.path(id); path != "" {
		_ = os.Remove(path) // gone is what it should be
	}
	for _, s := range sc.own {
		h.tasks.Go(func() { fleet{h}.retire(s) })
	}
	return true
}

// path is the file of a scope, "" where scopes do not outlast the process.
func (ss Scopes) path(id string) string {
	if ss.hub.opt.ScopeDir == "" {
		return ""
	}
	return filepath.Join(ss.hub.opt.ScopeDir, id+".json")
}

func (ss Scopes) save(sc *scope) error {
	path := ss.path(sc.id)
	if path == "" {
		return nil
	}
	text, err := json.Marshal(sc.rec)
	if err == nil {
		err = atomicfile.Write(path, text)
	}
	if err != nil {
		return fmt.Errorf("keeping the scope: %w", err)
	}
	return nil
}

// restore opens the scopes of the hub's last process, whose sessions may come back.
func (ss Scopes) restore() {
	if ss.hub.opt.ScopeDir == "" {
		return
	}
	entries, _ := os.ReadDir(ss.hub.opt.ScopeDir) // without the folder there are none
	for _, e := range entries {
		id, isRecord := strings.CutSuffix(e.Name(), ".json")
		if !isRecord || strings.HasPrefix(id, ".") {
			continue
		}
		var rec scopeRecord
		text, err := os.ReadFile(ss.path(id))
		if err == nil {
			err = json.Unmarshal(text, &rec)
		}
		if err == nil && !rec.Ends.IsZero() && time.Now().After(rec.Ends) {
			_ = os.Remove(ss.path(id))
			continue
		}
		if err == nil {
			_, err = ss.open(id, rec)
		}
		if err != nil {
			ss.hub.opt.Log.Warn().Str("file", ss.path(id)).Err(err).Msg("a scope from before the start cannot be opened")
		}
	}
}
