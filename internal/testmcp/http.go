package testmcp

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

const (
	headerSession = "Mcp-Session-Id"
	headerVersion = "Mcp-Protocol-Version"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	typeJSON      = "application/json"
	typeSSE       = "text/event-stream"
)

// Server is a server on a loopback port.
type Server struct {
	// URL is the endpoint.
	URL string
	// Log holds what came in.
	Log *Log

	t       testing.TB
	eng     *engine
	origin  string
	addr    string
	handler http.Handler

	mu       sync.Mutex
	server   *http.Server // nil while down
	listener net.Listener
	conns    map[net.Conn]struct{}
	streams  int
	other    *httptest.Server
	drop     chan struct{} // closed to end all GET streams
	served   chan struct{} // closed when the running listener is done
}

// HTTP starts the named server for Streamable HTTP. It ends with the test.
func HTTP(t testing.TB, name string) *Server {
	t.Helper()
	s := newServer(t, name)
	s.handler = http.HandlerFunc(s.serveStreamable)
	s.Up()
	s.URL = s.origin + "/mcp"
	return s
}

func newServer(t testing.TB, name string) *Server {
	t.Helper()
	log := &Log{}
	eng, err := newEngine(name, log)
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{Log: log, t: t, eng: eng, addr: "127.0.0.1:0", conns: map[net.Conn]struct{}{}, drop: make(chan struct{})}
	t.Cleanup(s.Close)
	return s
}

// Up listens, again on the same port after [Server.Down].
func (s *Server) Up() {
	s.t.Helper()
	listener, err := net.Listen("tcp", s.addr)
	if err != nil {
		s.t.Fatalf("listening: %v", err)
	}
	s.addr = listener.Addr().String()
	s.origin = "http://" + s.addr
	server := &http.Server{Handler: s.handler, ConnState: s.connState}
	served := make(chan struct{})
	s.mu.Lock()
	s.server, s.listener, s.served = server, listener, served
	s.mu.Unlock()
	serve := func() { server.Serve(listener) } //nolint:errcheck // Down closes it
	if slices.ContainsFunc(s.eng.steps, func(step *step) bool { return step.accept }) {
		serve = func() { s.hold(listener) }
	}
	go func() {
		defer close(served)
		serve()
	}()
}

// hold accepts connections and never reads from them.
func (s *Server) hold(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		s.connState(conn, http.StateNew)
	}
}

// Down closes the port and all connections; sessions are kept.
func (s *Server) Down() {
	s.mu.Lock()
	server, listener, served := s.server, s.listener, s.served
	s.server = nil
	conns := make([]net.Conn, 0, len(s.conns))
	for conn := range s.conns {
		conns = append(conns, conn)
	}
	s.mu.Unlock()
	if server == nil {
		return
	}
	listener.Close() //nolint:errcheck // it is gone either way
	server.Close()   //nolint:errcheck // as above
	for _, conn := range conns {
		conn.Close() //nolint:errcheck // so is the connection
		s.connState(conn, http.StateClosed)
	}
	<-served
}

// Close ends the server and waits for what it was doing.
func (s *Server) Close() {
	s.eng.end()
	s.Down()
	s.eng.work.Wait()
	s.mu.Lock()
	other := s.other
	s.other = nil
	s.mu.Unlock()
	if other != nil {
		other.Close()
	}
}

func (s *Server) connState(conn net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[conn] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, conn)
	}
}

// Connections is the number of open TCP connections.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Streams is the number of open streams that no POST waits for: GET streams.
func (s *Server) Streams() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams
}

// Sessions is the number of sessions the server knows.
func (s *Server) Sessions() int {
	s.eng.mu.Lock()
	defer s.eng.mu.Unlock()
	return len(s.eng.sessions)
}

// ForgetSessions makes the server answer 404 to all its sessions, as after a restart.
func (s *Server) ForgetSessions() {
	s.eng.forget(func(*session) bool { return false })
}

// Grow adds a tool and tells every client, without any call.
func (s *Server) Grow(name string) {
	s.eng.mu.Lock()
	s.eng.extra = append(s.eng.extra, name)
	s.eng.mu.Unlock()
	s.eng.toolsChanged()
}

// Push sends raw bytes as one message to every session's open stream.
func (s *Server) Push(raw []byte) {
	s.eng.mu.Lock()
	var sessions []*session
	for _, ses := range s.eng.sessions {
		sessions = append(sessions, ses)
	}
	s.eng.mu.Unlock()
	for _, ses := range sessions {
		ses.push(raw)
	}
}

// elsewhere is the origin of another server, which only logs.
func (s *Server) elsewhere() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.other == nil {
		s.other = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // what can be read is what is logged
			s.Log.add(Event{Kind: EventAway, Method: r.Method, Header: r.Header.Clone(), Body: string(body)})
			w.WriteHeader(http.StatusAccepted)
		}))
	}
	return s.other.URL
}
