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

// asked notes a request that somebody will answer; the call's clock stands until then. It is false where a request of
// that id waits already.
func (q *questions) asked(id []byte, x *exchange) bool {
	q.mu.Lock()
	_, again := q.open[string(id)]
	if !again {
		q.open[string(id)] = x
	}
	q.mu.Unlock()
	if !again {
		x.hold(1)
	}
	return !again
}

// of is the call that a question holds up, nil where it waits for no answer.
func (q *questions) of(id []byte) *exchange {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.open[string(id)]
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
