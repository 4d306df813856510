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

// Drain returns when the server's calls have ended, those on clients' own connections among them; after the longest that
// one may take; or when ctx ends.
func (s *Server) Drain(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, max(s.cfg.MaxRequestTimeout, drainLinger))
	defer cancel()
	for quiet := time.Now(); time.Since(quiet) < drainLinger; {
		if !sleep(ctx, drainPause) {
			return
		}
		if s.InFlight() > 0 {
			quiet = time.Now()
		}
	}
}
