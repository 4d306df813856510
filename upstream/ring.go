package upstream

import (
	"bytes"
	"slices"
	"strings"
	"sync"
)

// ring keeps the last lines that a server printed outside the protocol, bounded in lines and bytes and
// without its secrets.
type ring struct {
	redact *strings.Replacer // nil: there are no secrets

	mu    sync.Mutex // guards the rest
	lines []string
	size  int
	total uint64        // lines that there ever were
	more  chan struct{} // closed with the next line; nil where nobody waits for it
}

const (
	ringLines    = 400
	ringBytes    = 64 << 10
	ringLineKept = 2 << 10 // bytes of one line that are kept
)

// add keeps one line, cut where it is long, and drops the oldest over the bounds.
func (r *ring) add(line []byte) {
	line = bytes.TrimRight(line[:min(len(line), 2*ringLineKept)], "\r\n")
	text := strings.ToValidUTF8(string(line), "\uFFFD")
	if r.redact != nil {
		text = r.redact.Replace(text)
	}
	text = cut(text, ringLineKept)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, text)
	r.size += len(text)
	r.total++
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
	for len(r.lines) > ringLines || r.size > ringBytes {
		r.size -= len(r.lines[0])
		r.lines = r.lines[1:]
	}
}

// cut shortens text to max bytes and a mark.
func cut(text string, max int) string {
	if len(text) <= max {
		return text
	}
	return strings.ToValidUTF8(text[:max], "") + " …"
}

// here is the place behind the last line.
func (r *ring) here() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// words is the end of what came behind a place, on one line and at most max bytes long. Whole lines are left out in
// front, blank ones and frames of a stack everywhere.
func (r *ring) words(from uint64, max int) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var kept []string
	size := 0
	for _, line := range slices.Backward(r.after(from)) {
		if isFrame(line) {
			continue
		}
		if line = cut(strings.TrimSpace(line), max); line == "" {
			continue
		}
		if size += len(line) + len(" | "); size > max && kept != nil {
			break
		}
		kept = append(kept, line)
	}
	slices.Reverse(kept)
	return strings.Join(kept, " | ")
}

// isFrame says whether a line is one of a stack trace as Node, Java and .NET print it: behind the error, which it would push out
// of the last words.
func isFrame(line string) bool {
	text := strings.TrimLeft(line, " \t")
	return text != line && strings.HasPrefix(text, "at ")
}

// Logs returns up to n of the last lines that the server printed outside the protocol, oldest first.
func (r *ring) Logs(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines[max(0, len(r.lines)-n):]...)
}

// LogsAfter returns the lines that came behind the first seq ones, as far as they are kept, the seq to go on from, and
// what is closed once there are more. A seq that there cannot have been yet, of another run of the hub, is taken for 0.
func (r *ring) LogsAfter(seq uint64) (lines []string, next uint64, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if seq > r.total {
		seq = 0
	}
	if r.more == nil {
		r.more = make(chan struct{})
	}
	return append([]string(nil), r.after(seq)...), r.total, r.more
}

// after is the lines behind a place, as far as they are kept; mu is held.
func (r *ring) after(seq uint64) []string {
	kept := uint64(len(r.lines))
	return r.lines[kept-min(kept, r.total-seq):]
}
