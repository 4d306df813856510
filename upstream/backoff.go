package upstream

import (
	"math/rand/v2"
	"time"
)

const (
	backoffFirst = 500 * time.Millisecond
	backoffMax   = 30 * time.Second
)

// backoff is how long to wait after n failures in a row: doubling, with up to a quarter of jitter so
// that servers which fell together do not come back together.
func backoff(n int) time.Duration {
	d := backoffMax
	if n < 8 {
		d = min(backoffMax, backoffFirst<<max(0, n-1))
	}
	return d - rand.N(d/4+1)
}
