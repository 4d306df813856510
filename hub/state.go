package hub

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// State is what a session's client has told the hub, so that the session can go on in another process.
type State struct {
	Params json.RawMessage `json:"params"` // of initialize
	Level  string          `json:"level,omitempty"`
	Subs   []string        `json:"subs,omitempty"` // subscribed resources
	Own    bool            `json:"own,omitempty"`  // it has a connection of its own
	Scope  string          `json:"scope,omitempty"`

	Revealed []string `json:"revealed,omitempty"` // the skills that it has read

	Lasting map[string]lasting `json:"lasting,omitempty"` // what it has asked for there
}

// State describes the session as it is now.
func (c *Client) State() State {
	subs := c.subs.uris()
	c.mu.Lock()
	defer c.mu.Unlock()
	subs = append(subs, c.pending...)
	slices.Sort(subs)
	st := State{Params: c.Params, Level: c.level, Subs: slices.Compact(subs), Own: c.own != nil, Scope: c.Scope, Revealed: slices.Clone(c.revealed)}
	if c.own != nil {
		st.Lasting = c.own.kept()
	}
	return st
}

// Resume gives a session its state back, before Join. Connections are opened when they are needed.
func (h *Hub) Resume(c *Client, st State) {
	c.Params, c.level, c.pending = st.Params, st.Level, st.Subs
	c.Scope, c.revealed = st.Scope, st.Revealed
	if s := h.Server(c.Server); s != nil && st.Own {
		c.own = relayed{h}.newOwn(c, s)
		c.own.ready, c.own.lasting = true, st.Lasting
	}
}

// restore brings the servers up to what a resumed session wants of them. After a start of the hub they have yet
// to say what they have, so that goes on in the background.
func (h subscriptions) restore(c *Client) {
	c.mu.Lock()
	level, pending := c.level, slices.Clone(c.pending)
	c.mu.Unlock()
	if level != "" {
		logs(h).lowerLevel()
	}
	if len(pending) == 0 {
		return
	}
	h.tasks.Go(func() {
		for n := restorePause; h.resubscribe(h.ctx, c); n = min(2*n, restoreMost) {
			timer := time.NewTimer(n)
			select {
			case <-timer.C:
			case <-h.ctx.Done():
				timer.Stop()
				return
			}
		}
	})
}

// The pauses between attempts to subscribe anew, while a server cannot be reached.
const (
	restorePause = time.Second
	restoreMost  = time.Minute
)

// resubscribe tries once to subscribe a session to what is pending, and says whether something is left.
func (h subscriptions) resubscribe(ctx context.Context, c *Client) bool {
	c.mu.Lock()
	pending := slices.Clone(c.pending)
	c.mu.Unlock()
	for _, uri := range pending {
		c.mu.Lock()
		wanted := slices.Contains(c.pending, uri) && !c.left
		c.mu.Unlock()
		if wanted && h.subscribeTo(ctx, c, uri).Error != nil && ctx.Err() == nil {
			continue
		}
		c.mu.Lock()
		c.pending = slices.DeleteFunc(c.pending, func(p string) bool { return p == uri })
		c.mu.Unlock()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pending) > 0 && !c.left
}
