package hub

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
)

// State is what a session's client has told the hub, so that the session can go on in another process.
type State struct {
	Params json.RawMessage `json:"params"` // of initialize
	Level  string          `json:"level,omitempty"`
	Subs   []string        `json:"subs,omitempty"` // subscribed resources
	Own    bool            `json:"own,omitempty"`  // it has a connection of its own
}

// State describes the session as it is now.
func (c *Client) State() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	return State{Params: c.Params, Level: c.level, Subs: slices.Sorted(maps.Keys(c.subs)), Own: c.own != nil}
}

// Resume gives a session its state back. Connections are opened when they are needed.
func (h *Hub) Resume(ctx context.Context, c *Client, st State) {
	c.Params, c.level = st.Params, st.Level
	if s := h.byName[c.Server]; s != nil && st.Own {
		c.own = relayed{h}.newOwn(c, s)
		c.own.ready = true
	}
	for _, uri := range st.Subs {
		subscriptions{h}.subscribeTo(ctx, c, uri)
	}
	logs{h}.lowerLevel()
}
