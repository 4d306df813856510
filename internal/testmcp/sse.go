package testmcp

import (
	"net/http"
	"testing"
)

// SSE starts the named server for the HTTP+SSE transport of 2024-11-05. Its URL
// lies under a path prefix, and a POST to it is answered with 405.
func SSE(t testing.TB, name string) *Server {
	t.Helper()
	s := newServer(t, name)
	s.eng.versions = legacyVersions[:1]
	mux := http.NewServeMux()
	mux.HandleFunc("GET /prefix/sse", s.serveSSE)
	mux.HandleFunc("POST /prefix/messages", s.serveMessages)
	mux.HandleFunc("POST /prefix/sse", s.servePostToSSE)
	s.handler = mux
	s.Up()
	s.URL = s.origin + "/prefix/sse"
	return s
}

// servePostToSSE lets misbehaviours answer the POST that tries Streamable HTTP.
func (s *Server) servePostToSSE(w http.ResponseWriter, r *http.Request) {
	if v := s.arrive(w, r); v != nil {
		v.fail(http.StatusMethodNotAllowed, "text/plain", "Method Not Allowed\n")
	}
}

func (s *Server) serveSSE(w http.ResponseWriter, r *http.Request) {
	v := s.arrive(w, r)
	if v == nil {
		return
	}
	inbox := &inbox{}
	ses := s.eng.open(inbox.send)
	ses.inbox = inbox
	endpoint := "/prefix/messages?session_id=" + ses.id
	for _, step := range s.eng.steps {
		if step.endpoint != nil {
			endpoint = step.endpoint(s, ses.id)
		}
	}
	v.listen(ses, newEventStream(w, v.hits), "event: endpoint\ndata: "+endpoint+"\n\n")
	s.eng.forget(func(other *session) bool { return other != ses })
}

func (s *Server) serveMessages(w http.ResponseWriter, r *http.Request) {
	v := s.arrive(w, r)
	if v == nil {
		return
	}
	e := s.eng
	ses := e.session(r.URL.Query().Get("session_id"))
	if ses == nil {
		v.fail(http.StatusNotFound, "text/plain", "Could not find session\n")
		return
	}
	x := &exchange{ctx: e.ctx, eng: e, ses: ses, msg: v.msg, hits: v.hits, out: ses.push}
	w.WriteHeader(http.StatusAccepted)
	if !v.msg.isRequest() {
		e.notified(ses, v.msg)
		x.observe()
		return
	}
	ctx, done := ses.run(e.ctx, string(v.msg.ID))
	x.ctx = ctx
	if !e.begin() {
		done()
		return
	}
	go func() {
		defer e.work.Done()
		defer done()
		for _, answer := range e.serve(x) {
			ses.push(answer)
		}
	}()
}

// endpointFaults are ways to send the endpoint event of HTTP+SSE, and to answer
// the POST that tries whether the server speaks Streamable HTTP.
var endpointFaults = []Misbehaviour{
	{Name: "endpoint-relative", Over: "sse", Doc: "Its endpoint is relative to the path of the stream.", build: endpoints(func(_ *Server, id string) string { return "messages?session_id=" + id })},
	{Name: "endpoint-absolute", Over: "sse", Doc: "Its endpoint is a whole URL of the same origin.", build: endpoints(func(s *Server, id string) string { return s.origin + "/prefix/messages?session_id=" + id })},
	{Name: "endpoint-other-origin", Over: "sse", Doc: "Its endpoint is on another origin.", build: endpoints(func(s *Server, id string) string { return s.elsewhere() + "/messages?session_id=" + id })},
	{Name: "endpoint-missing", Over: "sse", At: methodHTTPGet, Doc: "Never sends an endpoint.", build: with(hooks{door: func(v *visit) bool {
		newEventStream(v.w, nil).raw("")
		return hang(v)
	}})},
	{Name: "sse-405", Over: "sse", At: methodInitialize, Doc: "Answers 405 to the POST that tries Streamable HTTP.", build: atStreamURL(http.StatusMethodNotAllowed)},
	{Name: "sse-404", Over: "sse", At: methodInitialize, Doc: "Answers 404 to that POST.", build: atStreamURL(http.StatusNotFound)},
	{Name: "sse-400", Over: "sse", At: methodInitialize, Doc: "Answers 400 to that POST.", build: atStreamURL(http.StatusBadRequest)},
	{Name: "sse-drops", Over: "sse", At: methodToolsCall, Doc: "Closes the stream at a call, before the answer.", build: with(hooks{door: func(v *visit) bool {
		v.w.WriteHeader(http.StatusAccepted)
		v.srv.dropStreams()
		return true
	}})},
}

func endpoints(endpoint func(s *Server, id string) string) func(string) hooks {
	return with(hooks{endpoint: endpoint})
}

func atStreamURL(status int) func(string) hooks {
	return with(hooks{door: func(v *visit) bool {
		if v.r.URL.Path != "/prefix/sse" {
			return false
		}
		v.fail(status, "text/plain", http.StatusText(status)+"\n")
		return true
	}})
}
