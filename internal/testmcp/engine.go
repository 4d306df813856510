package testmcp

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// engine is the server behind every transport.
type engine struct {
	log  *Log
	ctx  context.Context // ends with the server
	stop context.CancelFunc
	work sync.WaitGroup // requests being served

	steps []*step

	// Written by the setup hooks only, before the first request.
	legacy     bool     // serves initialize
	modern     bool     // serves 2026-07-28
	versions   []string // legacy versions, oldest first
	stateless  bool     // legacy requests need no session over HTTP
	jsonAnswer bool     // POSTs are answered with JSON instead of SSE
	onlyTools  bool     // no resources, prompts, completions or logging

	mu       sync.Mutex
	sessions map[string]*session
	anyone   *session // of requests that have no session
	extra    []string // tools that were added while running
	describe string   // replaces echo's description when set
	subs     []*subscription
	nextID   int // of the server's own requests
}

func newEngine(name string, log *Log) (*engine, error) {
	e := &engine{log: log, legacy: true, versions: legacyVersions, sessions: map[string]*session{}}
	e.anyone = newSession("", nil)
	e.ctx, e.stop = context.WithCancel(context.Background())
	steps, err := compose(name)
	if err != nil {
		return nil, err
	}
	e.steps = steps
	for _, s := range steps {
		if s.setup != nil {
			s.setup(e)
		}
	}
	return e, nil
}

// exchange is one message from a client and what is needed to answer it.
type exchange struct {
	ctx    context.Context
	eng    *engine
	ses    *session
	msg    message
	modern bool
	out    func(raw []byte) // sends a message that belongs to this request, before its answer
	hits   []*step          // the misbehaviours that apply
	proc   *process         // nil unless over stdio
	status int              // HTTP status of an error answer, 0 means 200
}

// rpcError is an error answer; data is raw JSON or "".
type rpcError struct {
	code   int
	text   string
	data   string
	status int // over HTTP, in protocol version 2026-07-28
}

// applying returns the misbehaviours that apply to a message of this method.
func (e *engine) applying(method string) []*step {
	var hits []*step
	for _, s := range e.steps {
		if s.applies(method) {
			hits = append(hits, s)
		}
	}
	return hits
}

// serve returns the messages that answer a request; none means no answer.
func (e *engine) serve(x *exchange) [][]byte {
	for _, s := range x.hits {
		if s.take == nil {
			continue
		}
		if answers, done := s.take(x); done {
			return answers
		}
	}
	answer := e.answer(x)
	if answer == nil {
		return nil
	}
	answers := [][]byte{answer}
	for _, s := range x.hits {
		if s.answer != nil {
			answers = s.answer(x, answers)
		}
	}
	return answers
}

// answer is the well-behaved answer to a request, nil after a cancellation.
func (e *engine) answer(x *exchange) []byte {
	result, problem := e.dispatch(x)
	if x.ctx.Err() != nil && e.ctx.Err() == nil {
		e.log.add(Event{Kind: EventStopped, Session: x.ses.id, Method: x.msg.Method, Body: string(x.msg.ID)})
		return nil
	}
	if problem != nil {
		if x.modern {
			x.status = problem.status
		}
		return errorTo(x.msg.ID, problem.code, problem.text, problem.data)
	}
	if x.modern {
		result = complete(x.msg.Method, result)
	}
	return resultTo(x.msg.ID, result)
}

func (e *engine) dispatch(x *exchange) ([]byte, *rpcError) {
	if x.modern {
		if problem := e.checkMeta(x.msg); problem != nil {
			return nil, problem
		}
	}
	m, known := methods[x.msg.Method]
	refused := (x.modern && m.era == legacyEra) || (!x.modern && m.era == modernEra) || (e.onlyTools && m.optional)
	if !known || refused {
		return nil, &rpcError{code: codeMethodNotFound, text: "Method not found: " + x.msg.Method, status: http.StatusNotFound}
	}
	return m.serve(x)
}

// isModern says whether a request is to be served in the 2026-07-28 way: the
// server speaks it and the request says a version of its own, or asks for it.
func (e *engine) isModern(m message) bool {
	return e.modern && m.meta(metaVersion) != nil || e.modern && m.Method == methodDiscover
}

// checkMeta holds a request against basic, "_meta" of 2026-07-28.
func (e *engine) checkMeta(m message) *rpcError {
	for _, key := range []string{metaVersion, metaCapabilities} {
		if m.meta(key) == nil {
			return &rpcError{code: codeInvalidParams, text: "Missing _meta " + key, status: http.StatusBadRequest}
		}
	}
	if asked := text(m.meta(metaVersion)); asked != versionModern {
		return &rpcError{
			code: codeVersion, text: "Unsupported protocol version", status: http.StatusBadRequest,
			data: fmt.Sprintf(`{"supported":%s,"requested":%s}`, quoteAll(e.supported()), quote(asked)),
		}
	}
	return nil
}

// supported lists the server's versions, newest first.
func (e *engine) supported() []string {
	var all []string
	if e.modern {
		all = append(all, versionModern)
	}
	if e.legacy {
		legacy := slices.Clone(e.versions)
		slices.Reverse(legacy)
		all = append(all, legacy...)
	}
	return all
}

func quoteAll(values []string) string {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = quote(v)
	}
	return "[" + strings.Join(quoted, ",") + "]"
}

// complete adds what every result of 2026-07-28 carries; a result that says its
// own type is left alone.
func complete(method string, result []byte) []byte {
	if member(result, "resultType") != nil {
		return result
	}
	added := `"resultType":"complete"`
	if methods[method].cached {
		added += `,"ttlMs":0,"cacheScope":"private"`
	}
	if member(result, "_meta") == nil {
		added += `,"_meta":{"` + metaServerInfo + `":` + serverInfo + `}`
	}
	return splice(added, result)
}

// notified handles a notification or an answer from the client.
func (e *engine) notified(ses *session, m message) {
	switch {
	case m.isResponse():
		ses.deliver(m)
	case m.Method == methodCancelled:
		ses.cancel(string(m.member("requestId")))
	case m.Method == NotificationTell && ses.push != nil:
		ses.push(notification(text(m.member("method")), string(m.member("params"))))
	}
}

// begin counts a request in, unless the server ends: what is waited for may not begin during the wait.
func (e *engine) begin() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return false
	}
	e.work.Add(1)
	return true
}

// end ends what is being served and lets nothing more begin.
func (e *engine) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.stop()
}

// open begins a session. push sends to its client outside of any request.
func (e *engine) open(push func(raw []byte)) *session {
	ses := newSession(rand.Text(), push)
	e.mu.Lock()
	e.sessions[ses.id] = ses
	e.mu.Unlock()
	e.log.add(Event{Kind: EventOpen, Session: ses.id})
	return ses
}

// session finds a session and notes that it is in use.
func (e *engine) session(id string) *session {
	e.mu.Lock()
	defer e.mu.Unlock()
	ses := e.sessions[id]
	if ses != nil {
		ses.touch()
	}
	return ses
}

func (e *engine) forget(keep func(*session) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, ses := range e.sessions {
		if !keep(ses) {
			delete(e.sessions, id)
		}
	}
}

// broadcast sends a notification to every session and to every listen stream
// whose filter wants it.
func (e *engine) broadcast(method, params string, wants func(filter) bool) {
	e.mu.Lock()
	sessions := []*session{e.anyone}
	for _, ses := range e.sessions {
		sessions = append(sessions, ses)
	}
	subs := slices.Clone(e.subs)
	e.mu.Unlock()
	for _, ses := range sessions {
		if ses.push != nil && !ses.modern() {
			ses.push(notification(method, params))
		}
	}
	for _, sub := range subs {
		if wants(sub.filter) {
			sub.send(notification(method, string(splice(sub.meta(), []byte(orEmpty(params))))))
		}
	}
}

func orEmpty(params string) string {
	if params == "" {
		return "{}"
	}
	return params
}
