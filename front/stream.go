package front

import (
	"strconv"
	"strings"
	"sync"
)

const (
	streamsKept = 8       // resumable streams that a session keeps
	streamBytes = 4 << 20 // of one stream that are kept for a client that comes back
)

// stream is the event stream of one request that the client may leave and take up again
// (MCP 2025-11-25, Resumability and Redelivery).
type stream struct {
	no int // the stream's number in its session; its events are "<no>.<position>"

	mu    sync.Mutex // guards the rest
	msgs  [][]byte
	size  int
	done  bool
	grown chan struct{} // closed and replaced when there is more to read
}

func (s *session) newStream() *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastNo++
	st := &stream{no: s.lastNo, grown: make(chan struct{})}
	s.streams = append(s.streams, st)
	if len(s.streams) > streamsKept {
		s.streams = s.streams[1:]
	}
	return st
}

// find returns the stream of an event id and how many of its messages the client has.
func (s *session) find(eventID string) (*stream, int) {
	no, at, ok := strings.Cut(eventID, ".")
	n, errNo := strconv.Atoi(no)
	have, errAt := strconv.Atoi(at)
	if !ok || errNo != nil || errAt != nil || have < 0 {
		return nil, 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.no == n {
			return st, have
		}
	}
	return nil, 0
}

func (st *stream) eventID(at int) string { return strconv.Itoa(st.no) + "." + strconv.Itoa(at) }

// add keeps a message and returns its event id. Over the limit the oldest are given up.
func (st *stream) add(msg []byte) string {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.msgs = append(st.msgs, msg)
	st.size += len(msg)
	for i := 0; st.size > streamBytes && i < len(st.msgs)-1; i++ {
		st.size -= len(st.msgs[i])
		st.msgs[i] = nil
	}
	st.wake()
	return st.eventID(len(st.msgs))
}

func (st *stream) finish() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.done = true
	st.wake()
}

// wake must be called with mu held.
func (st *stream) wake() {
	close(st.grown)
	st.grown = make(chan struct{})
}

// after returns the messages behind the first n, whether they are the last, and what is closed when there are more.
func (st *stream) after(n int) (msgs [][]byte, done bool, grown <-chan struct{}) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.msgs[min(n, len(st.msgs)):], st.done, st.grown
}
