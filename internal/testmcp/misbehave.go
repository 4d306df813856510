package testmcp

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
)

// Misbehaviour is one thing a server can do that a good server would not, or
// one property of a good server that tests have to choose.
type Misbehaviour struct {
	Name string
	// Doc says what the server does.
	Doc string
	// Over is where it can be had: "any", "stdio", "http" (Streamable HTTP) or
	// "sse" (HTTP+SSE).
	Over string
	// At is the request it happens at when the name carries no argument: a
	// JSON-RPC method, an HTTP method for requests without a body, or "*" for
	// every request. The argument may name another, and after "#" how often it
	// happens: "500:tools/list#1", "429#2". At is "" for what does not happen at
	// a request.
	At string
	// Arg says what the argument means where it is no request; "" when there is none.
	Arg string

	build func(arg string) hooks
}

// hooks are the places where a misbehaviour steps in; nil ones are passed over.
type hooks struct {
	// setup changes the server before it serves anything.
	setup func(e *engine)
	// start runs in a child process before it reads its first line.
	start func(p *process)
	// take sees a request first; done means answers, maybe none, is all there is.
	take func(x *exchange) (answers [][]byte, done bool)
	// inline makes a child process read nothing more until the request is served.
	inline bool
	// answer replaces the answer by other messages.
	answer func(x *exchange, answers [][]byte) [][]byte
	// frame is what a child process puts before and after each message.
	frame *frame
	// event makes an event of a message on an SSE stream.
	event func(raw []byte) []byte
	// door sees an HTTP request before it is served; true means it was dealt with.
	door func(v *visit) bool
	// reply writes the HTTP answer to a POST in place of the server.
	reply func(v *visit, answers [][]byte)
	// endpoint says the endpoint event's data for a session of HTTP+SSE.
	endpoint func(s *Server, id string) string
	// accept takes over new TCP connections by never serving them.
	accept bool
}

// frame is what stands around a message on stdout.
type frame struct{ before, after string }

// step is one part of a server's name.
type step struct {
	hooks
	at    string
	times int64 // 0 means always
	fired atomic.Int64
}

// applies says whether the step happens at this request, and counts it.
func (s *step) applies(method string) bool {
	if s.at != "" && s.at != anyMethod && s.at != method {
		return false
	}
	return s.times == 0 || s.fired.Add(1) <= s.times
}

// Misbehaviours lists everything a part of a server's name can be.
var Misbehaviours = concat(natures, silences, answerFaults, catalogFaults, childFaults, statusFaults, bodyFaults, streamFaults, endpointFaults)

func concat(tables ...[]Misbehaviour) []Misbehaviour {
	var all []Misbehaviour
	for _, table := range tables {
		all = append(all, table...)
	}
	return all
}

// compose reads a server's name.
func compose(name string) ([]*step, error) {
	var steps []*step
	for part := range strings.SplitSeq(name, "+") {
		if part == "" {
			continue
		}
		s, err := newStep(part)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

func newStep(part string) (*step, error) {
	name, arg, _ := strings.Cut(part, ":")
	name, often, counted := strings.Cut(name, "#")
	if counted {
		arg = "#" + often
	}
	for _, m := range Misbehaviours {
		if m.Name != name {
			continue
		}
		if m.At == "" {
			return &step{hooks: m.build(arg)}, nil
		}
		s := &step{hooks: m.build("")}
		for _, when := range []string{m.At, arg} {
			if err := s.happens(when); err != nil {
				return nil, fmt.Errorf("reading %q: %w", part, err)
			}
		}
		return s, nil
	}
	return nil, fmt.Errorf("reading %q: no such misbehaviour; testmcp.Misbehaviours lists them", part)
}

// happens reads when a step happens, "method#times"; what is left out stays.
func (s *step) happens(when string) error {
	at, times, counted := strings.Cut(when, "#")
	if at != "" {
		s.at = at
	}
	if !counted {
		return nil
	}
	n, err := strconv.ParseInt(times, 10, 64)
	if err != nil || n < 1 {
		return fmt.Errorf("what follows # is how often, a number from 1; got %q", times)
	}
	s.times = n
	return nil
}

// with makes the build function of a misbehaviour that keeps nothing.
func with(h hooks) func(string) hooks { return func(string) hooks { return h } }

// setup makes the build function of a server's property.
func setup(change func(e *engine)) func(string) hooks { return with(hooks{setup: change}) }

// takes makes the build function of a fixed take.
func takes(answers func(x *exchange) [][]byte) func(string) hooks {
	return with(hooks{take: func(x *exchange) ([][]byte, bool) { return answers(x), true }})
}

// rewrites makes the build function of a fixed answer hook.
func rewrites(rewrite func(x *exchange, answers [][]byte) [][]byte) func(string) hooks {
	return with(hooks{answer: rewrite})
}
