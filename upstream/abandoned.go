package upstream

import (
	"sync"
	"sync/atomic"
	"time"

	"mcphub/wire"
)

// abandonedMost bounds how many abandoned calls of one connection are remembered.
const abandonedMost = 1024

// abandoned are the calls that were given up before they were answered. Many servers ignore that and go on, so for as
// long as the call could have taken, or until its answer comes, it may still ask something.
type abandoned struct {
	count atomic.Int32 // len(calls), so that an answer costs no lock where nothing was given up

	mu    sync.Mutex // guards calls, and the writing of count
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
	a.count.Store(int32(len(a.calls) + 1)) // before it is looked whether the answer has come: whoever brings it then looks here
	if len(a.calls) < abandonedMost && !x.hasAnswer() {
		a.calls[x.id] = givenUp{x.call.Owner, time.Now().Add(max(x.call.Max, x.call.Timeout))}
	}
	a.count.Store(int32(len(a.calls)))
}

// answered notes that a call's answer has come.
func (a *abandoned) answered(rawID []byte) {
	if a.count.Load() == 0 {
		return
	}
	if id, ok := wire.Int(rawID); ok {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.calls, id)
		a.count.Store(int32(len(a.calls)))
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
	a.count.Store(int32(len(a.calls)))
	return others
}
