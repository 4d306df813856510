package front

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"mcphub/hub"
	"mcphub/wire"
)

// reply answers one POST: with plain JSON, or with an event stream as soon as something has to be sent
// ahead of the answer.
type reply struct {
	f      *Front
	w      http.ResponseWriter
	id     []byte                  // of the request, raw
	sess   *session                // nil without one
	prime  bool                    // the client understands resumable streams
	cancel context.CancelCauseFunc // ends the request when the client has gone for good; nil: its context does
	modern bool

	mu     sync.Mutex // guards the rest: a heartbeat may come between
	events *wire.EventWriter
	stream *stream // nil: not resumable
	beat   *time.Timer
	lost   bool // the client has gone; what is kept of the stream goes on
}

// Send sends a message ahead of the answer.
func (p *reply) Send(msg []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open()
	p.event(msg)
}

// Prime makes the stream one that the client can leave and take up again, where the client can.
func (p *reply) Prime(retry time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.prime || p.sess == nil || p.stream != nil {
		return
	}
	p.stream = p.sess.newStream(p.id)
	p.open()
	if p.events.Priming(p.stream.eventID(0), retry) != nil {
		p.lost = true
	}
}

// open starts the event stream; mu is held.
func (p *reply) open() {
	if p.events != nil {
		return
	}
	p.events = p.f.startEvents(p.w)
	p.beat = time.AfterFunc(p.f.opt.Heartbeat, p.heartbeat)
}

// event writes one event; mu is held.
func (p *reply) event(msg []byte) {
	id := ""
	if p.stream != nil {
		id = p.stream.add(msg)
	}
	if !p.lost && p.events.Event(id, "message", msg) != nil {
		p.lose()
	}
}

func (p *reply) heartbeat() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat == nil || p.lost {
		return
	}
	if p.events.Comment("beat") != nil {
		p.lose()
		return
	}
	p.beat.Reset(p.f.opt.Heartbeat)
}

// lose notes that the client is gone; mu is held.
func (p *reply) lose() {
	p.lost = true
	if p.stream == nil && p.cancel != nil {
		p.cancel(errByClient)
	}
}

// disconnected is told that the client closed the connection. A resumable stream goes on without it.
func (p *reply) disconnected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose()
}

// finish sends the answer, or ends the stream without one where the request was cancelled.
func (p *reply) finish(ctx context.Context, answer hub.Answer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.beat != nil {
		p.beat.Stop()
		p.beat = nil
	}
	cancelled := ctx.Err() != nil
	if p.events == nil {
		if cancelled {
			p.w.WriteHeader(http.StatusAccepted)
			return
		}
		writeAnswer(p.w, p.status(answer), p.id, answer)
		return
	}
	if !cancelled {
		p.event(envelope(p.id, answer))
	}
	if p.stream != nil {
		p.stream.finish()
	}
}

// status is the HTTP status of an answer. Only the stateless era ties errors to one.
func (p *reply) status(answer hub.Answer) int {
	if !p.modern || answer.Error == nil {
		return http.StatusOK
	}
	switch code, _ := wire.ErrorOf(answer.Error); code {
	case wire.CodeMethodNotFound:
		return http.StatusNotFound
	case wire.CodeParse, wire.CodeInvalidRequest, wire.CodeInvalidParams, wire.CodeHeaderMismatch, wire.CodeMissingCapability, wire.CodeUnsupportedVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// startEvents begins an event stream.
func (f *Front) startEvents(w http.ResponseWriter) *wire.EventWriter {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	rc := http.NewResponseController(w)
	return &wire.EventWriter{W: w, Flush: rc.Flush, SetDeadline: rc.SetWriteDeadline, Timeout: f.opt.WriteWait}
}

func envelope(id []byte, answer hub.Answer) []byte {
	if answer.Error != nil {
		return wire.AppendError(nil, id, answer.Error)
	}
	return wire.AppendResult(make([]byte, 0, len(answer.Result)+len(id)+40), id, answer.Result)
}

// copyLimit is the size up to which an answer is put together before it is written.
const copyLimit = 4 << 10

// writeAnswer writes an answer as JSON. A large result goes out as it came, without another copy.
func writeAnswer(w http.ResponseWriter, status int, id []byte, answer hub.Answer) {
	h := w.Header()
	h["Content-Type"] = jsonType
	if answer.Error != nil || len(answer.Result) < copyLimit {
		body := envelope(id, answer)
		h["Content-Length"] = []string{strconv.Itoa(len(body))}
		w.WriteHeader(status)
		_, _ = w.Write(body)
		return
	}
	head := append(append([]byte(`{"jsonrpc":"2.0","id":`), id...), `,"result":`...)
	h["Content-Length"] = []string{strconv.Itoa(len(head) + len(answer.Result) + 1)}
	w.WriteHeader(status)
	for _, part := range [][]byte{head, answer.Result, {'}'}} {
		if _, err := w.Write(part); err != nil {
			return
		}
	}
}

var jsonType = []string{"application/json"}

// fail answers with an error that no request's handling made. id may be nil.
func fail(w http.ResponseWriter, status int, id []byte, e *wire.Error) {
	writeAnswer(w, status, id, hub.Answer{Error: e.Raw()})
}
