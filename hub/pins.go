package hub

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"mcphub/internal/atomicfile"
	"mcphub/upstream"
	"mcphub/wire"
)

// Pins remember what every tool looked like when it was approved, so that a server cannot change unseen what a model is
// told of it. What is seen for the first time is approved by that.
type Pins struct {
	path string // "": they end with the process

	mu       sync.Mutex                   // guards the rest
	approved map[string]map[string]string // server, tool: digest
	fresh    map[string]map[string]string // what of that is not in the file yet
	seen     map[string]*pinned           // by server
}

// pinned is how a server's present tools compare to what was approved.
type pinned struct {
	offer   *upstream.Offer
	digests map[string]string
	changed map[string]bool // by the tool's own name
}

// ReadPins reads what has been approved from the file at path, which need not be there; with path "" that ends with the
// process. A file that cannot be read is an error, since going on would approve everything.
func ReadPins(path string) (*Pins, error) {
	p := &Pins{path: path, approved: map[string]map[string]string{}, fresh: map[string]map[string]string{}, seen: map[string]*pinned{}}
	if path == "" {
		return p, nil
	}
	return p, p.read()
}

// read takes what is in the file over what is known.
func (p *Pins) read() error {
	text, err := os.ReadFile(p.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p.approved)
	}
	if err != nil {
		return fmt.Errorf("reading the approved tools in %s: %w; remove it to approve all tools anew", p.path, err)
	}
	return nil
}

// set approves one tool.
func (p *Pins) set(server, tool, digest string) {
	for _, known := range []map[string]map[string]string{p.approved, p.fresh} {
		if known[server] == nil {
			known[server] = map[string]string{}
		}
		known[server][tool] = digest
	}
}

// changed are the tools of an offer that are not what was approved.
func (p *Pins) changed(server string, offer *upstream.Offer) map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.seen[server]
	if now != nil && now.offer == offer {
		return now.changed
	}
	now = &pinned{offer: offer, digests: map[string]string{}, changed: map[string]bool{}}
	p.seen[server] = now
	for _, raw := range offer.Tools {
		name, digest := wire.String(wire.Get(raw, "name")), toolDigest(raw)
		now.digests[name] = digest
		if old, known := p.approved[server][name]; !known {
			p.set(server, name, digest)
		} else if old != digest {
			now.changed[name] = true
		}
	}
	return now.changed
}

// approve takes a server's tools as they are now, and returns those that had changed.
func (p *Pins) approve(server string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.seen[server]
	if now == nil {
		return []string{}
	}
	names := slices.AppendSeq([]string{}, maps.Keys(now.changed))
	slices.Sort(names)
	for _, name := range names {
		p.set(server, name, now.digests[name])
	}
	now.changed = map[string]bool{}
	return names
}

// save writes what has been approved since it was last written, into what other hubs have written meanwhile.
func (p *Pins) save() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.path == "" || len(p.fresh) == 0 {
		return nil
	}
	if err := p.read(); err != nil {
		return err
	}
	for server, tools := range p.fresh {
		for tool, digest := range tools {
			p.set(server, tool, digest)
		}
	}
	text, err := json.Marshal(p.approved)
	if err == nil {
		err = atomicfile.Write(p.path, text)
	}
	if err != nil {
		return fmt.Errorf("keeping the approved tools: %w", err)
	}
	p.fresh = map[string]map[string]string{}
	return nil
}

// toolDigest stands for what a model is told of a tool and what it is asked to fill in. The order of members is no change.
func toolDigest(raw []byte) string {
	sum := sha256.New()
	for _, key := range []string{"description", "inputSchema", "outputSchema"} {
		part := wire.Get(raw, key)
		var value any
		read := json.NewDecoder(bytes.NewReader(part))
		read.UseNumber()
		if read.Decode(&value) == nil {
			if ordered, err := json.Marshal(value); err == nil {
				part = ordered
			}
		}
		fmt.Fprintf(sum, "%d ", len(part))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// Approve takes the tools of a server as they are now and returns the names of those that had changed since they were
// approved.
func (h *Hub) Approve(server string) ([]string, error) {
	s := h.base.server(server)
	if s == nil {
		return nil, fmt.Errorf("no server %s is configured", server)
	}
	changed := h.pins.approve(server)
	fleet{h}.changed(s)
	h.base.current()
	return changed, h.pins.save()
}
