package front

import (
	"encoding/base64"
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
	name string // by chance, so that another process's stream is never taken for it
	id   []byte // of the request, raw

	mu    sync.Mutex // guards the rest
	msgs  [][]byte
	size  int
	done  bool
	grown chan struct{} // closed and replaced when there is more to read
}

func (s *session) newStream(id []byte) *stream {
	st := &stream{name: randomID(), id: id, grown: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams = append(s.streams, st)
	if len(s.streams) > streamsKept {
		s.streams = s.streams[1:]
	}
	return st
}

// find returns the stream of that name, nil where it is not kept any more, or was another process's.
func (s *session) find(name string) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range s.streams {
		if st.name == name {
			return st
		}
	}
	return nil
}

// position is what the id of an event of a request's stream says: "<stream's name>.<messages so far>.<request's id>".
// It holds the request's id, so that a client who comes back for a stream that is lost can be told.
type position struct {
	stream string
	at     int
	id     []byte // raw; empty: there is nothing to come back for
}

func (p position) String() string {
	return p.stream + "." + strconv.Itoa(p.at) + "." + base64.RawURLEncoding.EncodeToString(p.id)
}

// parsePosition reads an event id; ok is false where it is none of a request's stream.
func parsePosition(eventID string) (p position, ok bool) {
	parts := strings.Split(eventID, ".")
	if len(parts) != 3 {
		return p, false
	}
	at, errAt := strconv.Atoi(parts[1])
	id, errID := base64.RawURLEncoding.DecodeString(parts[2])
	return position{parts[0], at, id}, errAt == nil && errID == nil && at >= 0
}

func (st *stream) eventID(at int) string { return position{st.name, at, st.id}.String() }

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

// over says whether the stream has ended and holds nothing behind the first n messages.
func (st *stream) over(n int) bool {
	msgs, done, _ := st.after(n)
	return done && len(msgs) == 0
}
