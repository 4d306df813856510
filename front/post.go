package front

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"mcphub/hub"
	"mcphub/wire"
)

// web is the door over HTTP.
type web struct{ *Front }

// streamable serves one MCP endpoint.
func (f web) streamable(w http.ResponseWriter, r *http.Request) {
	at, ok := f.target(r)
	if !ok {
		http.Error(w, "no server of that name is configured", http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodPost:
		f.post(w, r, at)
	case http.MethodGet:
		f.get(w, r, at)
	case http.MethodDelete:
		f.delete(w, r, at)
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

// post takes one message, or a batch, and finds out which era it is of.
func (f web) post(w http.ResponseWriter, r *http.Request, at hub.Door) {
	body, ok := f.readBody(w, r)
	if !ok {
		return
	}
	version := r.Header.Get(wire.HeaderVersion)
	if msgs, isBatch := wire.Batch(body); isBatch {
		f.postBatch(w, r, at, msgs)
		return
	}
	m, err := wire.Scan(body)
	if err != nil {
		fail(w, http.StatusBadRequest, nil, scanError(err))
		return
	}
	if wire.Modern(version) || r.Header.Get(wire.HeaderSession) == "" && isModern(m) {
		f.postModern(w, r, at, m)
		return
	}
	if version != "" && !wire.Known(version) {
		fail(w, http.StatusBadRequest, m.ID, unsupported(version))
		return
	}
	s, ok := f.session(w, r, at, m)
	if !ok {
		return
	}
	if m.IsRequest() {
		f.answerPost(w, r, s, m)
		return
	}
	f.accept(r.Context(), s, m)
	w.WriteHeader(http.StatusAccepted)
}

// scanError tells bad JSON from a bad message.
func scanError(err error) *wire.Error {
	var syntax *wire.SyntaxError
	if errors.As(err, &syntax) {
		return &wire.Error{Code: wire.CodeParse, Message: err.Error()}
	}
	return &wire.Error{Code: wire.CodeInvalidRequest, Message: err.Error()}
}

// readBody reads a POST's body within the limit.
func (f web) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if kind := r.Header.Get("Content-Type"); kind != "application/json" && !isJSON(kind) {
		http.Error(w, "send the header Content-Type: application/json", http.StatusUnsupportedMediaType)
		return nil, false
	}
	most := f.door.Load().maxBody
	if r.ContentLength > most {
		http.Error(w, "the body is over limits.maxMessageBytes", http.StatusRequestEntityTooLarge)
		return nil, false
	}
	var body []byte
	var err error
	if n := r.ContentLength; n >= 0 {
		body = make([]byte, n)
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	}
	if err == nil {
		return body, true
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		http.Error(w, "the body is over limits.maxMessageBytes", http.StatusRequestEntityTooLarge)
	} else {
		http.Error(w, "the body broke off", http.StatusBadRequest)
	}
	return nil, false
}

func isJSON(contentType string) bool {
	kind, _, _ := mime.ParseMediaType(contentType)
	return kind == "application/json"
}

// session finds the session of a message, makes one for initialize, and makes do without for a single
// request of someone who wants no handshake. ok is false where the request has been answered.
func (f web) session(w http.ResponseWriter, r *http.Request, at hub.Door, m wire.Message) (*session, bool) {
	id := r.Header.Get(wire.HeaderSession)
	switch {
	case m.Method == wire.Initialize:
		return newSession(at), true
	case id == "":
		return passing(at, r.Header.Get(wire.HeaderVersion)), true
	}
	if s := f.lookup(id, at); s != nil {
		s.touch()
		return s, true
	}
	fail(w, http.StatusNotFound, m.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: "session not found: send initialize again"})
	return nil, false
}

// answerPost answers one request of the session era. Its context ends when the client goes, unless
// that client could take up the answer's stream again.
func (f web) answerPost(w http.ResponseWriter, r *http.Request, s *session, m wire.Message) {
	p := &reply{f: f.Front, w: w, id: m.ID, sess: s}
	parent := r.Context()
	if s.client.Version >= wire.V20251125 {
		p.prime, parent = true, context.WithoutCancel(parent)
	}
	ctx, pending := s.begin(parent, m.ID)
	defer s.finish(pending)
	if p.prime {
		p.cancel = pending.cancel
		stop := context.AfterFunc(r.Context(), p.disconnected)
		defer stop()
	}
	req := &hub.Request{Client: s.client, Msg: m, Out: p}
	if onlyJSON(r.Header.Get("Accept")) {
		req.Out = nil
	}
	answer := f.serve(ctx, req)
	switch opens := m.Method == wire.Initialize; {
	case opens && answer.Error == nil && ctx.Err() == nil:
		f.opened(w, s, answer)
	case opens: // refused, or the client has gone and will never use it
		f.hub.Leave(s.client)
	}
	if s.client.Unsaved() || changesSession(m.Method) {
		f.keep(s)
	}
	p.finish(ctx, answer)
}

// onlyJSON says whether a client has excluded event streams, as a hasty curl does.
func onlyJSON(accept string) bool {
	return strings.Contains(accept, "application/json") && !strings.Contains(accept, "text/event-stream") && !strings.Contains(accept, "*/*")
}

// opened makes a session known once its initialize has been answered well.
func (f *Front) opened(w http.ResponseWriter, s *session, answer hub.Answer) {
	s.client.Version = wire.String(wire.Get(answer.Result, "protocolVersion"))
	f.sessions.add(s)
	f.hub.Join(s.client)
	w.Header()[wire.HeaderSession] = []string{s.id}
	f.keep(s)
}

// changesSession says whether a method changes what a session's record holds.
func changesSession(method string) bool {
	return method == wire.SetLevel || method == wire.ResourcesSubscribe || method == wire.ResourceUnsubscribe
}

// keep writes a session's record, unless the session has ended. Where that fails, it only ends with this process.
func (f *Front) keep(s *session) {
	if s.id == "" {
		return
	}
	s.keeping.Lock()
	defer s.keeping.Unlock()
	select {
	case <-s.ended:
		return
	default:
	}
	if err := f.store.save(s); err != nil {
		f.opt.Log.Warn().Err(err).Msg("keeping a session's record; it will not outlive a restart")
	}
}

// accept takes what needs no answer: a notification, or the answer to a server's request.
func (f *Front) accept(ctx context.Context, s *session, m wire.Message) {
	switch {
	case m.IsResponse():
		f.hub.Respond(ctx, s.client, m)
	case m.Method == wire.Cancelled:
		s.cancel(m.Params)
	default:
		f.hub.Notify(ctx, s.client, m)
	}
}

// postBatch answers a batch, which only protocol version 2025-03-26 has. Its requests run side by side.
func (f web) postBatch(w http.ResponseWriter, r *http.Request, at hub.Door, msgs [][]byte) {
	s, ok := f.session(w, r, at, wire.Message{})
	if !ok {
		return
	}
	if v := s.client.Version; v != "" && v != wire.V20250326 || len(msgs) == 0 {
		fail(w, http.StatusBadRequest, nil, &wire.Error{Code: wire.CodeInvalidRequest, Message: "batches exist in protocol version 2025-03-26 only: send one message a POST"})
		return
	}
	b := f.readBatch(r.Context(), s, msgs)
	answers := b.run()
	if b.changes {
		f.keep(s)
	}
	if len(answers) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header()["Content-Type"] = jsonType
	_, _ = w.Write(joinArray(answers))
}
