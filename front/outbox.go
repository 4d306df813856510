package front

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"mcphub/wire"
)

// outboxLimit is how many messages wait for a client that has no stream open.
const outboxLimit = 256

// outbox holds messages on their way to a client outside of its requests. Putting one in never blocks.
type outbox struct {
	mu    sync.Mutex // guards queue
	queue [][]byte
	wake  chan struct{} // holds one token when the queue has something new
}

// push adds a message that may be lost: over the limit the oldest goes, and news of a change that waits already
// need not wait twice.
func (o *outbox) push(msg []byte) {
	o.mu.Lock()
	if !isChange(msg) || !slices.ContainsFunc(o.queue, func(old []byte) bool { return bytes.Equal(old, msg) }) {
		o.queue = append(o.queue, msg)
	}
	if len(o.queue) > outboxLimit {
		o.queue = o.queue[1:]
	}
	o.mu.Unlock()
	o.signal()
}

// isChange says whether a message only says that something has changed.
func isChange(msg []byte) bool {
	m, err := wire.Scan(msg)
	return err == nil && (m.Method == wire.ResourceUpdated || strings.HasSuffix(m.Method, "/list_changed"))
}

// put adds a message that must not be lost: an answer.
func (o *outbox) put(msg []byte) {
	o.mu.Lock()
	o.queue = append(o.queue, msg)
	o.mu.Unlock()
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// take empties the outbox.
func (o *outbox) take() [][]byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	queue := o.queue
	o.queue = nil
	return queue
}
