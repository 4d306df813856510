package testmcp

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// visit is one HTTP request.
type visit struct {
	srv    *Server
	w      http.ResponseWriter
	r      *http.Request
	body   []byte
	msg    message
	method string // what misbehaviours are matched with
	hits   []*step
	x      *exchange
	stream *eventStream // nil until the answer begins as SSE
}

// arrive reads a request, logs it and finds the misbehaviours that apply.
// It is nil when a misbehaviour, or a bad body, has already been answered.
func (s *Server) arrive(w http.ResponseWriter, r *http.Request) *visit {
	v := &visit{srv: s, w: w, r: r, method: r.Method}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil // the client is gone
	}
	v.body = body
	if r.Method == http.MethodPost {
		v.msg, err = parse(body)
		v.method = v.msg.Method
		if v.msg.isResponse() {
			v.method = "response"
		}
	}
	s.Log.add(Event{Kind: EventMessage, Session: r.Header.Get(headerSession), Method: v.method, Header: r.Header.Clone(), Body: string(body)})
	v.hits = s.eng.applying(v.method)
	for _, step := range v.hits {
		if step.door != nil && step.door(v) {
			return nil
		}
	}
	if err != nil {
		v.fail(http.StatusBadRequest, typeJSON, string(errorTo(nil, codeParse, "Parse error", "")))
		return nil
	}
	return v
}

// fail answers with a status and a body.
func (v *visit) fail(status int, contentType, body string) {
	v.w.Header().Set("Content-Type", contentType)
	v.w.WriteHeader(status)
	io.WriteString(v.w, body) //nolint:errcheck // the client may be gone
}

func (s *Server) serveStreamable(w http.ResponseWriter, r *http.Request) {
	v := s.arrive(w, r)
	if v == nil {
		return
	}
	switch r.Method {
	case http.MethodPost:
		v.post()
	case http.MethodGet:
		v.get()
	case http.MethodDelete:
		v.delete()
	default:
		v.fail(http.StatusMethodNotAllowed, "text/plain", "Method Not Allowed\n")
	}
}

func (v *visit) delete() {
	ses := v.known()
	if ses == nil {
		return
	}
	v.srv.Log.add(Event{Kind: EventDelete, Session: ses.id})
	v.srv.eng.forget(func(s *session) bool { return s != ses })
	v.w.WriteHeader(http.StatusNoContent)
}

// known finds the request's session, or answers as the specification of
// 2025-11-25 asks (basic/transports, "Session Management") and returns nil.
func (v *visit) known() *session {
	id := v.r.Header.Get(headerSession)
	if id == "" {
		v.fail(http.StatusBadRequest, typeJSON, string(errorTo(nil, codeServer, "Bad Request: Mcp-Session-Id header is required", "")))
		return nil
	}
	ses := v.srv.eng.session(id)
	if ses == nil {
		v.fail(http.StatusNotFound, typeJSON, string(errorTo(nil, -32001, "Session not found", "")))
	}
	return ses
}

func (v *visit) post() {
	e := v.srv.eng
	v.x = &exchange{eng: e, msg: v.msg, modern: e.isModern(v.msg), hits: v.hits, out: v.send}
	switch {
	case v.x.modern:
		if problem := v.checkHeaders(); problem != nil {
			v.fail(http.StatusBadRequest, typeJSON, string(errorTo(v.msg.ID, problem.code, problem.text, "")))
			return
		}
		v.x.ses = e.anyone
	case e.stateless:
		v.x.ses = e.anyone
	case v.msg.Method == methodInitialize:
		inbox := &inbox{}
		v.x.ses = e.open(inbox.send)
		v.x.ses.inbox = inbox
		v.w.Header().Set(headerSession, v.x.ses.id)
	default:
		if v.x.ses = v.known(); v.x.ses == nil {
			return
		}
	}
	if !v.msg.isRequest() {
		e.notified(v.x.ses, v.msg)
		v.x.ctx = e.ctx
		v.x.observe()
		v.w.WriteHeader(http.StatusAccepted)
		return
	}
	v.answer()
}

// answer serves a request and writes what comes of it.
func (v *visit) answer() {
	e := v.srv.eng
	if !e.begin() {
		http.Error(v.w, "the server ends", http.StatusServiceUnavailable)
		return
	}
	defer e.work.Done()
	ctx, done := v.lifetime()
	defer done()
	v.x.ctx = ctx
	answers := e.serve(v.x)
	if answers == nil {
		if ctx.Err() == nil { // a mute server: nobody hears anything until the client leaves
			select {
			case <-v.r.Context().Done():
			case <-e.ctx.Done():
			}
			return
		}
		v.begin() // a cancelled request: a stream without an answer
		return
	}
	for _, step := range v.hits {
		if step.reply != nil {
			step.reply(v, answers)
			return
		}
	}
	v.reply(answers)
}

// lifetime is the context of a request. A request of the session era lives on
// when its client leaves; one of 2026-07-28 is cancelled by that.
func (v *visit) lifetime() (context.Context, func()) {
	e := v.srv.eng
	gone := context.AfterFunc(v.r.Context(), func() {
		e.log.add(Event{Kind: EventDisconnect, Session: v.x.ses.id, Method: v.msg.Method})
	})
	if !v.x.modern {
		ctx, done := v.x.ses.run(e.ctx, string(v.msg.ID))
		return ctx, func() { gone(); done() }
	}
	ctx, cancel := context.WithCancel(v.r.Context())
	ended := context.AfterFunc(e.ctx, cancel)
	return ctx, func() { gone(); ended(); cancel() }
}

// reply writes the answers as this server does: SSE, or JSON where it is asked
// for and nothing was sent before.
func (v *visit) reply(answers [][]byte) {
	if v.stream == nil && (v.srv.eng.jsonAnswer || v.x.status != 0) {
		v.w.Header().Set("Content-Type", typeJSON)
		if v.x.status != 0 {
			v.w.WriteHeader(v.x.status)
		}
		for _, answer := range answers {
			v.w.Write(answer) //nolint:errcheck // the client may be gone
		}
		return
	}
	v.begin()
	for _, answer := range answers {
		v.stream.send(answer)
	}
}

// begin starts the SSE stream of this request.
func (v *visit) begin() {
	if v.stream != nil {
		return
	}
	v.stream = newEventStream(v.w, v.hits)
	v.stream.raw("")
}

// send sends a message that belongs to the request.
func (v *visit) send(raw []byte) {
	if v.srv.eng.jsonAnswer && v.msg.Method != methodListen {
		if v.x.ses.push != nil {
			v.x.ses.push(raw) // only a GET stream can take it
		}
		return
	}
	v.begin()
	v.stream.send(raw)
}

// checkHeaders holds the headers against the body, as 2026-07-28 asks
// (basic/transports/streamable-http, "Server Validation").
func (v *visit) checkHeaders() *rpcError {
	name := text(v.msg.member("name"))
	switch v.msg.Method {
	case methodToolsCall, "prompts/get":
	case "resources/read":
		name = text(v.msg.member("uri"))
	default:
		name = ""
	}
	for _, want := range []struct{ header, value string }{
		{headerVersion, text(v.msg.meta(metaVersion))}, {headerMethod, v.msg.Method}, {headerName, name},
	} {
		if got := plain(v.r.Header.Get(want.header)); got != want.value {
			return &rpcError{code: codeHeaderMismatch, text: fmt.Sprintf("Header mismatch: %s is %q, the body says %q", want.header, got, want.value)}
		}
	}
	return nil
}

// plain undoes the Base64 form of a header value (same page, "Value Encoding").
func plain(value string) string {
	coded, begins := strings.CutPrefix(value, "=?base64?")
	coded, ends := strings.CutSuffix(coded, "?=")
	if !begins || !ends {
		return value
	}
	decoded, err := base64.StdEncoding.DecodeString(coded)
	if err != nil {
		return value
	}
	return string(decoded)
}
