package hub

import (
	"context"
	"errors"
	"sync"
	"time"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// bridge carries calls between clients and servers of any two eras.
type bridge struct{ *Hub }

// forward carries a request that a server may answer with questions: tools/call, prompts/get and
// resources/read. Whichever era client and server are of, each sees its own.
//
//	client \ server   session                        stateless
//	session           questions on the call's        the hub asks, and calls again with
//	                  stream, as they come            the answers
//	stateless         the call is parked while the   the server's state is sealed and
//	                  client fetches the answers      passes through
func (h bridge) forward(ctx context.Context, r *Request, s *upstream.Server, call *upstream.Call) Answer {
	call.Capabilities, call.LogLevel = r.capabilities(), r.Client.logLevel()
	if r.modern() {
		if token := wire.Get(call.Params, "requestState"); token != nil {
			if responses := wire.Get(call.Params, "inputResponses"); !wire.IsObject(responses) && !wire.IsNull(responses) {
				return invalid("inputResponses must be an object")
			}
			st, err := h.sealer.open(r, wire.String(token))
			if err != nil {
				return failed(err)
			}
			if st.Parked != "" {
				return parking(h).unpark(ctx, r, st)
			}
			call.Params = wire.Splice(call.Params, wire.Edit{Key: "requestState", Value: st.Upstream})
		}
	}
	conn, err := s.Connect(ctx)
	if err != nil {
		return failure(err)
	}
	logs(h).lowerFor(ctx, r, s, conn)
	if r.modern() && !conn.Modern() && string(call.Capabilities) != "{}" {
		return parking(h).park(ctx, r, s, call)
	}
	call.Sink = &callSink{h: h.Hub, r: r, s: s, ctx: ctx}
	answer := h.send(ctx, r, s, call)
	if !conn.Modern() || !asksInput(answer.Result) {
		return h.translate(answer, r, s)
	}
	if r.modern() {
		return h.sealInput(r, h.translate(answer, r, s))
	}
	return h.answerInput(ctx, r, s, call, answer)
}

// send makes a call on the connection that this client uses with the server.
func (h bridge) send(ctx context.Context, r *Request, s *upstream.Server, call *upstream.Call) Answer {
	call.Owner = r.Client
	if !apartness(h).apart(s) {
		return answerOf(s.Call(ctx, call))
	}
	c := r.Client
	if c.Params == nil || s.Config().Session == config.SessionCall { // nobody will come back for the connection
		c = &Client{Version: c.Version, Params: wire.Splice(nil, wire.Edit{Key: "capabilities", Value: r.capabilities()})}
		defer h.Leave(c)
	}
	if call.Timeout == 0 && !upstream.Endless(call.Method) {
		call.Timeout = s.Config().RequestTimeout
	}
	if call.Timeout > 0 {
		call.Max = max(s.Config().MaxRequestTimeout, call.Timeout)
	}
	return answerOf(apartness(h).connOf(c, s).call(ctx, call))
}

// asksInput says whether a result is the question of a stateless server (MCP 2026-07-28, Multi Round-Trip Requests).
func asksInput(result []byte) bool {
	return wire.String(wire.Get(result, "resultType")) == "input_required"
}

const (
	inputRounds = 10                     // how often one call may ask
	inputPause  = 200 * time.Millisecond // before a call is repeated that asked nothing
)

// answerInput asks a session client what a stateless server wants to know, and calls again with the answers.
func (h bridge) answerInput(ctx context.Context, r *Request, s *upstream.Server, call *upstream.Call, answer Answer) Answer {
	first := call.Params
	for range inputRounds {
		responses, err := h.askAll(ctx, r, wire.Get(answer.Result, "inputRequests"))
		if err != nil {
			return failed(err)
		}
		again := *call
		again.Params = wire.Splice(first, wire.Edit{Key: "inputResponses", Value: responses},
			wire.Edit{Key: "requestState", Value: wire.Get(answer.Result, "requestState")})
		if answer = h.send(ctx, r, s, &again); !asksInput(answer.Result) {
			return h.translate(answer, r, s)
		}
	}
	return failed(&wire.Error{Code: wire.CodeInternal, Message: "server " + s.Name() + " asks for input again and again; the call was given up"})
}

// askAll puts all requests of an input_required result to the client at once.
func (h bridge) askAll(ctx context.Context, r *Request, requests []byte) ([]byte, *wire.Error) {
	var asking sync.WaitGroup
	var mu sync.Mutex
	var edits []wire.Edit
	var trouble *wire.Error
	for key, request := range wire.Members(requests) {
		m := wire.Message{Method: wire.String(wire.Get(request, "method")), Params: wire.Get(request, "params")}
		asking.Go(func() {
			result, err := h.askOne(ctx, r, m)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				trouble = err
			}
			edits = append(edits, wire.Edit{Key: string(key), Value: result})
		})
	}
	asking.Wait()
	if edits == nil { // the server only wants to be called again (MCP 2026-07-28, Multi Round-Trip Requests)
		timer := time.NewTimer(inputPause)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return wire.Splice(nil, edits...), trouble
}

func (h bridge) askOne(ctx context.Context, r *Request, m wire.Message) ([]byte, *wire.Error) {
	if r.Client.Params == nil || !able(r.capabilities(), m) {
		result, err := declined(m)
		if result == nil && err == nil {
			err = &wire.Error{Code: wire.CodeMethodNotFound, Message: m.Method + " is not supported by this client"}
		}
		return result, err
	}
	if m.Method == wire.ElicitationCreate && wire.String(wire.Get(m.Params, "mode")) == "url" && wire.Get(m.Params, "elicitationId") == nil {
		// Sessions demand it, and the stateless era has none (MCP 2025-11-25, Elicitation, URL Mode).
		m.Params = wire.Splice(m.Params, wire.Edit{Key: "elicitationId", Value: wire.Quote(randomKey())})
	}
	q, err := r.Client.ask(r.Out, m.Method, m.Params, nil)
	if err != nil {
		return declined(m)
	}
	answer, err := q.wait(ctx)
	switch {
	case errors.Is(err, errGone):
		return declined(m)
	case err != nil:
		return nil, &wire.Error{Code: wire.CodeInternal, Message: "the client did not answer"}
	case answer.Error != nil:
		code, text := wire.ErrorOf(answer.Error)
		return nil, &wire.Error{Code: code, Message: text}
	}
	return answer.Result, nil
}
