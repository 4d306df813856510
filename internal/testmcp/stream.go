package testmcp

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
)

// eventStream writes messages as server-sent events.
type eventStream struct {
	format func(raw []byte) []byte

	mu sync.Mutex
	w  http.ResponseWriter
}

// newEventStream begins an SSE answer; nothing is sent before the first flush.
func newEventStream(w http.ResponseWriter, hits []*step) *eventStream {
	s := &eventStream{w: w, format: event}
	for _, step := range hits {
		if step.event != nil {
			s.format = step.event
		}
	}
	w.Header().Set("Content-Type", typeSSE)
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusOK)
	return s
}

// event is a message event; a message with line breaks takes several data lines.
func event(raw []byte) []byte {
	data := bytes.ReplaceAll(raw, []byte("\n"), []byte("\ndata: "))
	return slices.Concat([]byte("event: message\ndata: "), data, []byte("\n\n"))
}

func (s *eventStream) send(raw []byte) { s.raw(string(s.format(raw))) }

// raw writes bytes that need not be an event, and flushes.
func (s *eventStream) raw(b string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(b)
}

// write needs the lock.
func (s *eventStream) write(b string) {
	io.WriteString(s.w, b)                  //nolint:errcheck // the client may be gone
	http.NewResponseController(s.w).Flush() //nolint:errcheck // as above
}

// inbox is where messages for a session go outside of requests: its newest GET
// stream. Without one they are lost, as the protocol allows.
type inbox struct {
	mu      sync.Mutex
	streams []*eventStream
}

func (i *inbox) send(raw []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n := len(i.streams); n > 0 {
		i.streams[n-1].send(raw)
	}
}

func (i *inbox) add(s *eventStream) (remove func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.streams = append(i.streams, s)
	return func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.streams = slices.DeleteFunc(i.streams, func(other *eventStream) bool { return other == s })
	}
}

// get serves a session's GET stream until its client leaves.
func (v *visit) get() {
	if v.srv.eng.stateless || !v.srv.eng.legacy {
		v.fail(http.StatusMethodNotAllowed, "text/plain", "Method Not Allowed\n")
		return
	}
	ses := v.known()
	if ses == nil {
		return
	}
	v.listen(ses, newEventStream(v.w, v.hits), "")
}

// listen keeps a stream as its session's until its client leaves. The stream is
// the session's before the client sees first, or any of it.
func (v *visit) listen(ses *session, stream *eventStream, first string) {
	s := v.srv
	s.countStream(1)
	s.mu.Lock()
	drop := s.drop
	s.mu.Unlock()
	stream.mu.Lock()
	remove := ses.inbox.add(stream)
	s.Log.add(Event{Kind: EventStream, Session: ses.id, Method: methodHTTPGet})
	stream.write(first)
	stream.mu.Unlock()
	select {
	case <-v.r.Context().Done():
	case <-s.eng.ctx.Done():
	case <-drop:
	}
	remove()
	s.countStream(-1)
	s.Log.add(Event{Kind: EventStreamEnd, Session: ses.id, Method: methodHTTPGet})
}

func (s *Server) countStream(by int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.streams += by
}

// dropStreams ends all GET streams.
func (s *Server) dropStreams() {
	s.mu.Lock()
	drop := s.drop
	s.drop = make(chan struct{})
	s.mu.Unlock()
	close(drop)
}
