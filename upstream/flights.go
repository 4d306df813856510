package upstream

import (
	"sync"
	"time"

	"mcphub/wire"
)

// flights are the calls in flight over one connection.
type flights struct {
	mu     sync.Mutex // guards the rest but quiet
	calls  map[int64]*exchange
	active int           // those that are not passive
	served bool          // a call that is not the hub's own was answered
	last   time.Time     // when the last such call ended; zero: never
	quiet  chan struct{} // holds a token once none is active
}

func newFlights() flights {
	return flights{calls: map[int64]*exchange{}, quiet: make(chan struct{}, 1)}
}

// used is how a connection is used.
type used struct {
	clients int       // calls of clients in flight
	active  int       // all that are not passive
	served  bool      // a client's call has been answered
	last    time.Time // when the last client's call ended; zero: never
}

func (f *flights) use() used {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := used{active: f.active, served: f.served, last: f.last}
	for _, x := range f.calls {
		if !x.call.own {
			u.clients++
		}
	}
	return u
}

// find looks a call up by the id that an answer carries. Some servers turn 7 into "7".
func (f *flights) find(rawID []byte) *exchange {
	id, ok := wire.Int(rawID)
	if !ok {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[id]
}

// clientCalls counts the calls in flight that are some client's and returns one of them; the hub's own have
// no sink, and a subscription is told of by its id. f.mu is held.
func clientCalls(f *flights) (one *exchange, n int) {
	for _, x := range f.calls {
		if x.call.Sink != nil && x.call.Method != wire.Listen && !x.hasAnswer() {
			one = x
			n++
		}
	}
	return one, n
}

// Serves is how many calls of clients are in flight.
func (f *flights) Serves() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	_, n := clientCalls(f)
	return n
}
