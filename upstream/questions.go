package upstream

import (
	"sync"

	"mcphub/wire"
)

// questions are the server's requests that wait for an answer, by raw id, with the calls that they hold up.
type questions struct {
	mu   sync.Mutex // guards open
	open map[string]*exchange
}

// asked notes a request that somebody will answer; the call's clock stands until then.
func (q *questions) asked(id []byte, x *exchange) {
	q.mu.Lock()
	q.open[string(id)] = x
	q.mu.Unlock()
	x.hold(1)
}

// answered lets the call go on whose question msg answers, if it answers one.
func (q *questions) answered(msg []byte) {
	if m, err := wire.Scan(msg); err == nil && m.IsResponse() {
		q.done(m.ID)
	}
}

func (q *questions) done(id []byte) {
	q.mu.Lock()
	x := q.open[string(id)]
	delete(q.open, string(id))
	q.mu.Unlock()
	if x != nil {
		x.hold(-1)
	}
}

// drop forgets the questions of a call that is over.
func (q *questions) drop(x *exchange) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, asking := range q.open {
		if asking == x {
			delete(q.open, id)
		}
	}
}
