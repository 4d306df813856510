package upstream

import (
	"sync"
	"sync/atomic"
	"time"
)

// connections are a server's live connections, and what is known of their use.
type connections struct {
	conn    atomic.Pointer[Conn] // the shared one
	started atomic.Int64         // in Unix nanoseconds; 0 before Start
	used    atomic.Int64         // when a connection that is gone was last used, in Unix nanoseconds; 0: never

	mu    sync.Mutex // guards extra
	extra map[*Conn]struct{}
}

// Started is when Start was called, the zero time before.
func (c *connections) Started() time.Time {
	if at := c.started.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// InFlight is how many calls of clients are under way, over all connections.
func (c *connections) InFlight() int {
	n := 0
	for _, conn := range c.all() {
		n += conn.use().clients
	}
	return n
}

// LastUsed is when the last call of a client ended, the zero time before the first.
func (c *connections) LastUsed() time.Time {
	var last time.Time
	if ns := c.used.Load(); ns != 0 {
		last = time.Unix(0, ns)
	}
	for _, conn := range c.all() {
		if used := conn.use().last; used.After(last) {
			last = used
		}
	}
	return last
}

// needed is when the shared connection was last needed: for a call, or to be made.
func (c *connections) needed() time.Time {
	last := c.LastUsed()
	if conn := c.conn.Load(); conn != nil && conn.made.After(last) {
		last = conn.made
	}
	return last
}

// PID is the process of the shared connection, 0 where there is none.
func (c *connections) PID() int {
	if conn := c.conn.Load(); conn != nil && conn.Err() == nil {
		if l, ok := conn.link.(*stdioLink); ok {
			return l.child.cmd.Process.Pid
		}
	}
	return 0
}

func (c *connections) all() []*Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*Conn, 0, len(c.extra)+1)
	for conn := range c.extra {
		all = append(all, conn)
	}
	if conn := c.conn.Load(); conn != nil {
		all = append(all, conn)
	}
	return all
}

// owned is how many connections clients have of their own.
func (c *connections) owned() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.extra)
}

// own keeps a client's own connection.
func (c *connections) own(conn *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extra[conn] = struct{}{}
}

// forget forgets a connection, but not its use.
func (c *connections) forget(conn *Conn) {
	if last := conn.use().last; !last.IsZero() {
		for old := c.used.Load(); old < last.UnixNano() && !c.used.CompareAndSwap(old, last.UnixNano()); old = c.used.Load() {
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.extra, conn)
}
