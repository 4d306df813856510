package upstream

import (
	"sync"
	"time"

	"mcphub/wire"
)

// abandonedMost bounds how many abandoned calls of one connection are remembered.
const abandonedMost = 1024

// abandoned are the calls that were given up before they were answered. Many servers ignore that and go on, so for as
// long as the call could have taken, or until its answer comes, it may still ask something.
type abandoned struct {
	mu    sync.Mutex // guards calls
	calls map[int64]givenUp
}

type givenUp struct {
	owner any
	until time.Time
}

// add notes that nobody waits for x any more.
func (a *abandoned) add(x *exchange) {
	if x.call.Sink == nil || x.call.Method == wire.Listen {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls == nil {
		a.calls = map[int64]givenUp{}
	}
	if len(a.calls) < abandonedMost && !x.hasAnswer() {
		a.calls[x.id] = givenUp{x.call.Owner, time.Now().Add(max(x.call.Max, x.call.Timeout))}
	}
}

// answered notes that a call's answer has come.
func (a *abandoned) answered(rawID []byte) {
	if id, ok := wire.Int(rawID); ok {
		a.mu.Lock()
		delete(a.calls, id)
		a.mu.Unlock()
	}
}

// byOthers says whether a call of somebody else than owner may still go on.
func (a *abandoned) byOthers(owner any) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	others := false
	for id, call := range a.calls {
		switch {
		case time.Now().After(call.until):
			delete(a.calls, id)
		case owner == nil || call.owner != owner:
			others = true
		}
	}
	return others
}
