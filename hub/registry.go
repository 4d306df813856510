package hub

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"

	"mcphub/config"
	"mcphub/internal/atomicfile"
	"mcphub/wire"
)

// Registry has the servers that are registered while the hub runs, for everybody. They outlast the process, and are published
// without the prefix.
type Registry struct{ hub *Hub }

// Registry returns the servers that are registered while the hub runs.
func (h *Hub) Registry() Registry { return Registry{h} }

// registered is the registry's part of the hub; reloading guards it.
type registered struct {
	path    string
	err     error                      // path cannot be read, and is not written then
	given   map[string]json.RawMessage // entries by name, as they were handed over
	entries []*config.Server
}

// The errors of names.
var (
	ErrConfigured    = errors.New("a server of that name is in the configuration, which wins: change it there, or take another name")
	ErrNotRegistered = errors.New("no server of that name is registered")
)

// Add registers a server, or replaces one that is registered, by an entry as in a file. What holds for servers that are
// handed over holds for it, see [config.HandedOver].
func (g Registry) Add(name string, entry []byte) (Report, error) {
	h := g.hub
	h.reloading.Lock()
	defer h.reloading.Unlock()
	if s := h.cfg.Server(name); s != nil && s.Untrusted == "" {
		return Report{}, ErrConfigured
	}
	given := maps.Clone(h.registered.given)
	given[name] = entry
	if _, err := config.HandedOver(wrap(map[string]json.RawMessage{name: entry}), config.SourceRegistered, h.cfg.Settings.SessionServers); err != nil {
		return Report{}, err
	}
	return g.set(given)
}

// Remove takes a registered server away.
func (g Registry) Remove(name string) (Report, error) {
	h := g.hub
	h.reloading.Lock()
	defer h.reloading.Unlock()
	if h.registered.given[name] == nil {
		return Report{}, ErrNotRegistered
	}
	given := maps.Clone(h.registered.given)
	delete(given, name)
	return g.set(given)
}

// set exchanges what is registered; reloading is held.
func (g Registry) set(given map[string]json.RawMessage) (Report, error) {
	h := g.hub
	if h.registered.err != nil {
		return Report{}, h.registered.err
	}
	if h.registered.path != "" {
		if err := atomicfile.Write(h.registered.path, wrap(given)); err != nil {
			return Report{}, fmt.Errorf("keeping the registered servers: %w", err)
		}
	}
	h.registered.given = given
	g.read()
	return fleet{h}.apply(h.cfg), nil
}

// read makes entries of what is registered, each by itself: one that is not allowed any more leaves the others.
func (g Registry) read() {
	reg := &g.hub.registered
	reg.entries = nil
	for _, name := range slices.Sorted(maps.Keys(reg.given)) {
		entries, err := config.HandedOver(wrap(map[string]json.RawMessage{name: reg.given[name]}), config.SourceRegistered, g.hub.cfg.Settings.SessionServers)
		if err != nil {
			g.hub.opt.Log.Warn().Str("server", name).Err(err).Msg("a registered server is left out")
			continue
		}
		reg.entries = append(reg.entries, entries...)
	}
}

// load reads what the hub's last process has left.
func (g Registry) load() error {
	reg := &g.hub.registered
	reg.path, reg.given = g.hub.opt.Registered, map[string]json.RawMessage{}
	if reg.path == "" {
		return nil
	}
	text, err := os.ReadFile(reg.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err == nil {
		err = json.Unmarshal(text, &file)
	}
	if err != nil {
		reg.err = fmt.Errorf("reading %s: %w; mend or remove the file and start the hub again", reg.path, err)
		return reg.err
	}
	if file.Servers != nil {
		reg.given = file.Servers
	}
	return nil
}

// wrap is entries as a file has them.
func wrap(given map[string]json.RawMessage) []byte {
	edits := make([]wire.Edit, 0, len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		edits = append(edits, wire.Edit{Key: name, Value: given[name]})
	}
	return wire.Splice(nil, wire.Edit{Key: "mcpServers", Value: wire.Splice([]byte("{}"), edits...)})
}

// entries are those of a configuration and of the registry, with what is lost by that.
func (g Registry) merge(cfg *config.Config) (entries []*config.Server, lost []config.Problem) {
	entries = slices.Clone(cfg.Servers)
	for _, entry := range g.hub.registered.entries {
		i := slices.IndexFunc(entries, func(s *config.Server) bool { return s.Name == entry.Name })
		switch {
		case i < 0:
			entries = append(entries, entry)
		case entries[i].Untrusted != "":
			entries[i] = entry
		default:
			lost = append(lost, config.Problem{Server: entry.Name, Severity: config.Warning,
				Message: "the registered server of this name has no effect: the configuration has one too, and wins"})
		}
	}
	return entries, lost
}
