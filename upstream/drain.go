package upstream

import (
	"context"
	"time"
)

const (
	// drainLinger is how long a server without calls is kept once nobody finds it any more: whoever has just found it
	// still gets there.
	drainLinger = time.Second
	// drainPause is between two looks at the calls in flight.
	drainPause = 20 * time.Millisecond
)

// Drain returns when the calls of clients have ended, or ctx does.
func (c *connections) Drain(ctx context.Context) {
	for quiet := time.Now(); time.Since(quiet) < drainLinger; {
		if !sleep(ctx, drainPause) {
			return
		}
		if c.InFlight() > 0 {
			quiet = time.Now()
		}
	}
}
