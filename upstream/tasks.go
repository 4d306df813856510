package upstream

import "sync"

// tasks are goroutines that end with their owner. Unlike those of a bare WaitGroup they may be started
// while the owner ends.
type tasks struct {
	mu    sync.Mutex // guards ended, and the start of one against the wait for all
	ended bool
	wait  sync.WaitGroup
}

// Go runs f beside its caller. It is false, and f is not run, once the owner has ended.
func (t *tasks) Go(f func()) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		t.wait.Go(f)
	}
	return !t.ended
}

// end starts no more goroutines and waits for those that run.
func (t *tasks) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.wait.Wait()
}
