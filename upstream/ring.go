package upstream

import (
	"bytes"
	"sync"
)

// ring keeps the last lines that a server printed outside the protocol, bounded in lines and bytes.
type ring struct {
	mu    sync.Mutex // guards lines, size and dropped
	lines []string
	size  int
}

const (
	ringLines    = 400
	ringBytes    = 64 << 10
	ringLineKept = 2 << 10 // bytes of one line that are kept
)

// add keeps one line, cut where it is long, and drops the oldest over the bounds.
func (r *ring) add(line []byte) {
	line = bytes.ToValidUTF8(bytes.TrimRight(line, "\r\n"), []byte("\uFFFD"))
	if len(line) > ringLineKept {
		line = append(bytes.ToValidUTF8(line[:ringLineKept:ringLineKept], nil), " …"...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(line))
	r.size += len(line)
	for len(r.lines) > ringLines || r.size > ringBytes {
		r.size -= len(r.lines[0])
		r.lines = r.lines[1:]
	}
}

// last returns up to n of the newest lines, oldest first.
func (r *ring) last(n int) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines[max(0, len(r.lines)-n):]...)
}
