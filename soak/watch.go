package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// watch keeps what happened to all clients.
type watch struct {
	issued atomic.Int64

	mu         sync.Mutex // guards what follows
	kinds      map[string]*kind
	troubles   map[string]int // how often each text of an error came
	violations []string
}

// kind is one kind of action.
type kind struct {
	did, failed, cut int           // cut: by the client itself
	longest          time.Duration // of those that did
}

func newWatch() *watch {
	return &watch{kinds: map[string]*kind{}, troubles: map[string]int{}}
}

// nonce is a new one.
func (w *watch) nonce() string { return fmt.Sprintf("nonce-%d-end", w.issued.Add(1)) }

// violated notes what must never happen. A few are enough to know.
func (w *watch) violated(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.violations) < 20 {
		w.violations = append(w.violations, fmt.Sprintf(format, args...))
	}
}

// note counts what came of an action. cut says that the client gave up on it, on purpose.
func (w *watch) note(name string, took time.Duration, err error, cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.kinds[name]
	if k == nil {
		k = &kind{}
		w.kinds[name] = k
	}
	switch {
	case err == nil:
		k.did++
		k.longest = max(k.longest, took)
	case cut:
		k.cut++
	default:
		k.failed++
		text := name + ": " + nonces.ReplaceAllString(err.Error(), "nonce")
		if len(w.troubles) < 200 || w.troubles[text] > 0 {
			w.troubles[text]++
		}
	}
}

// fewest is the part of each kind of action that has to succeed, since all else would hold if nothing did. What
// fails, fails because its server has just been killed.
const fewest = 0.75

// check holds the counts against that.
func (w *watch) check() {
	for name, k := range w.kinds {
		if all := k.did + k.failed; float64(k.did) < fewest*float64(all) || k.did == 0 {
			w.violated("of %d times %s only %d did", all, name, k.did)
		}
	}
}

// report is the page about all that happened.
func (w *watch) report() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var page strings.Builder
	fmt.Fprintf(&page, "%-16s %9s %9s %9s  %s\n", "action", "did", "failed", "cut", "longest")
	for _, name := range slices.Sorted(maps.Keys(w.kinds)) {
		k := w.kinds[name]
		fmt.Fprintf(&page, "%-16s %9d %9d %9d  %v\n", name, k.did, k.failed, k.cut, k.longest.Round(time.Millisecond))
	}
	texts := slices.SortedFunc(maps.Keys(w.troubles), func(a, b string) int {
		return cmp.Or(cmp.Compare(w.troubles[b], w.troubles[a]), cmp.Compare(a, b))
	})
	for _, text := range texts[:min(len(texts), 12)] {
		fmt.Fprintf(&page, "%9d × %.150s\n", w.troubles[text], text)
	}
	return page.String()
}
