package testmcp

import (
	"encoding/json"
	"fmt"
	"sync"
)

const (
	firstQuestion = `{"message":"first?","requestedSchema":{"type":"object","properties":{}}}`
	lastQuestion  = `{"message":"last?","requestedSchema":{"type":"object","properties":{}}}`
)

// runBoth asks two questions at once and answers with both answers in the order of the questions.
func runBoth(x *exchange, _ json.RawMessage) []byte {
	const ask = "elicitation/create"
	if x.modern {
		responses := x.msg.member("inputResponses")
		first, last := member(responses, "first"), member(responses, "last")
		if first != nil && last != nil {
			return gotResult([]json.RawMessage{first, last})
		}
		return fmt.Appendf(nil, `{"resultType":"input_required","inputRequests":{"first":{"method":%q,"params":%s},"last":{"method":%q,"params":%s}}}`,
			ask, firstQuestion, ask, lastQuestion)
	}
	got := make([]json.RawMessage, 2)
	var asking sync.WaitGroup
	var mu sync.Mutex // one message at a time goes onto the call's stream
	out := x.out
	x.out = func(raw []byte) {
		mu.Lock()
		defer mu.Unlock()
		out(raw)
	}
	for i, params := range []string{firstQuestion, lastQuestion} {
		asking.Go(func() {
			raw, err := x.ask(ask, params)
			if err != nil {
				raw = []byte(quote(err.Error()))
			}
			got[i] = raw
		})
	}
	asking.Wait()
	return gotResult(got)
}

// runStubborn waits until its call is cancelled, and asks then.
func runStubborn(x *exchange, _ json.RawMessage) []byte {
	<-x.ctx.Done()
	x.out([]byte(`{"jsonrpc":"2.0","id":"stubborn","method":"elicitation/create","params":` + firstQuestion + `}`))
	return textResult("never sent")
}

// runWithdraw asks, takes the question back at once and answers.
func runWithdraw(x *exchange, _ json.RawMessage) []byte {
	x.out([]byte(`{"jsonrpc":"2.0","id":"withdrawn","method":"elicitation/create","params":` + firstQuestion + `}`))
	x.out(notification(methodCancelled, `{"requestId":"withdrawn","reason":"never mind"}`))
	return textResult("withdrawn")
}

// NotificationTell is a notification by which a client has a session server send one, of a method with params, while
// it works for nobody.
const NotificationTell = "notifications/testmcp/tell"

// runTell sends a notification that belongs to no call.
func runTell(x *exchange, args json.RawMessage) []byte {
	if x.ses.push == nil {
		return errorResult("nothing can be sent outside of a request")
	}
	x.ses.push(notification(text(member(args, "method")), string(member(args, "params"))))
	return textResult("told")
}
