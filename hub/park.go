package hub

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// parkedMost is how many calls may wait for stateless clients to come back with answers.
const parkedMost = 256

// askedMost is how many questions of one call may be open; a server that asks more is told no.
const askedMost = 32

// parked is a call to a session server that goes on while its stateless client fetches answers to the
// server's questions. The server's side never notices.
type parked struct {
	id     string
	s      *upstream.Server
	caps   []byte // of the client
	cancel context.CancelFunc
	news   chan struct{} // holds a token when there is a question or the answer

	mu     sync.Mutex // guards the rest
	r      *Request   // who waits at present; nil between rounds
	asked  []asked
	lastNo int
	answer *Answer
	expiry *time.Timer // ends the call when nobody comes back
}

// asked is an open question of the server.
type asked struct {
	key  string
	conn *upstream.Conn
	m    wire.Message
}

// parking keeps the calls that wait for their clients.
type parking struct{ *Hub }

// park starts a call that may outlast the request it came by.
func (h parking) park(ctx context.Context, r *Request, s *upstream.Server, call *upstream.Call) Answer {
	callCtx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &parked{id: randomKey(), s: s, caps: r.capabilities(), cancel: cancel, news: make(chan struct{}, 1)}
	call.Sink = p
	if meta := wire.Get(call.Params, "_meta"); wire.Get(meta, "progressToken") == nil { // each round may have its own, or none
		call.Params = wire.Splice(call.Params, wire.Edit{Key: "_meta", Value: wire.Splice(meta, wire.Edit{Key: "progressToken", Value: wire.Quote(p.id)})})
	}
	h.tasks.Go(func() {
		defer cancel()
		answer := bridge(h).send(callCtx, r, s, call)
		p.mu.Lock()
		p.answer = &answer
		p.mu.Unlock()
		p.poke()
	})
	return h.wait(ctx, r, p)
}

func (p *parked) poke() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// Notice passes a notification on while the client waits; between the rounds there is nobody to hear it.
func (p *parked) Notice(m wire.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == wire.Cancelled { // of a question, which then needs no answer
		id := wire.Get(m.Params, "requestId")
		p.asked = slices.DeleteFunc(p.asked, func(q asked) bool { return bytes.Equal(q.m.ID, id) })
		return
	}
	switch {
	case p.r == nil, m.Method == wire.LogMessage && !p.r.wantsLog(m):
	case m.Method == wire.Progress:
		if token := wire.Path(p.r.Msg.Params, "_meta", "progressToken"); token != nil {
			p.r.send(wire.AppendNotification(nil, m.Method, wire.Splice(m.Params, wire.Edit{Key: "progressToken", Value: token})))
		}
	default:
		p.r.send(m.Raw)
	}
}

// leave notes that nobody waits for the call any more: the stream of the request is over.
func (p *parked) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.r = nil
}

// Prime does nothing: streams of the stateless era are not resumable.
func (p *parked) Prime(time.Duration) {}

// Ask keeps a question until the client has been told of it.
func (p *parked) Ask(conn *upstream.Conn, m wire.Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !able(p.caps, m) || len(p.asked) >= askedMost {
		return decline(conn, m)
	}
	p.lastNo++
	p.asked = append(p.asked, asked{"q" + strconv.Itoa(p.lastNo), conn, m})
	p.poke()
	return true
}

// wait returns the call's answer, or its questions for the client to answer by calling again.
func (h parking) wait(ctx context.Context, r *Request, p *parked) Answer {
	p.mu.Lock()
	p.r, p.caps = r, r.capabilities()
	p.mu.Unlock()
	for {
		select {
		case <-p.news:
		case <-ctx.Done(): // the client has gone in the middle of a round
			p.leave()
			p.cancel()
			return Answer{}
		}
		p.mu.Lock()
		switch {
		case p.answer != nil:
			answer := *p.answer
			p.r = nil
			p.mu.Unlock()
			return bridge(h).translate(answer, r, p.s)
		case len(p.asked) > 0:
			answer := h.leaveQuestions(r, p)
			p.mu.Unlock()
			return answer
		}
		p.mu.Unlock()
	}
}

// leaveQuestions parks the call and hands its questions out; p.mu is held.
func (h parking) leaveQuestions(r *Request, p *parked) Answer {
	h.mu.Lock()
	full := len(h.parked) >= parkedMost && h.parked[p.id] == nil
	if !full {
		h.parked[p.id] = p
	}
	h.mu.Unlock()
	p.r = nil
	if full {
		p.cancel()
		return failed(&wire.Error{Code: wire.CodeInternal, Message: "too many calls wait for answers of their clients; try again later"})
	}
	p.expiry = time.AfterFunc(h.sealer.ttl, func() {
		h.forget(p)
		p.cancel()
	})
	var requests []wire.Edit
	for _, q := range p.asked {
		params := q.m.Params
		if params == nil { // optional for roots/list, and missed by some clients
			params = []byte("{}")
		}
		request := wire.Splice(nil, wire.Edit{Key: "method", Value: wire.Quote(q.m.Method)}, wire.Edit{Key: "params", Value: params})
		requests = append(requests, wire.Edit{Key: q.key, Value: request})
	}
	token := h.sealer.seal(r, state{Parked: p.id})
	return Answer{Result: wire.Splice(nil,
		wire.Edit{Key: "resultType", Value: []byte(`"input_required"`)},
		wire.Edit{Key: "inputRequests", Value: wire.Splice(nil, requests...)},
		wire.Edit{Key: "requestState", Value: token},
		wire.Edit{Key: "_meta", Value: h.face.meta()})}
}

func (h parking) forget(p *parked) {
	h.mu.Lock()
	delete(h.parked, p.id)
	h.mu.Unlock()
}

// unpark goes on with a parked call: it hands the client's answers to the server and waits for what comes next.
func (h parking) unpark(ctx context.Context, r *Request, st state) Answer {
	h.mu.Lock()
	p := h.parked[st.Parked]
	h.mu.Unlock()
	if p == nil {
		return failed(errState)
	}
	responses := wire.Get(r.Msg.Params, "inputResponses")
	p.mu.Lock()
	p.expiry.Stop()
	var open []asked
	for _, q := range p.asked {
		response := wire.Get(responses, q.key)
		if !wire.IsObject(response) {
			open = append(open, q)
			continue
		}
		q.conn.Answer(wire.AppendResult(nil, q.m.ID, response))
	}
	p.asked = open
	p.mu.Unlock()
	if len(open) > 0 {
		p.poke() // what is missing is asked once more
	}
	answer := h.wait(ctx, r, p)
	p.mu.Lock()
	over := p.answer != nil
	p.mu.Unlock()
	if over || ctx.Err() != nil {
		h.forget(p)
	}
	return answer
}
