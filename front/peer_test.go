package front

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"mcphub/wire"
)

// answer is what a client says to one question of a server: a raw result or a raw error. Neither: it stays silent.
type answer struct{ result, fault string }

// peer is a client of one era at the merged view.
type peer struct {
	r       *rig
	path    string
	session []string // headers; nil for a stateless client
	caps    string
	answers func(method string, params []byte) answer
	asked   []string // methods of the questions, in the order they came
}

const allCapabilities = `{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}}`

// peer makes a client that speaks version, which has these capabilities and these answers.
func (r *rig) peer(version, caps string, answers func(method string, params []byte) answer) *peer {
	r.t.Helper()
	return r.peerAt("/mcp", version, caps, answers)
}

func (r *rig) peerAt(path, version, caps string, answers func(method string, params []byte) answer) *peer {
	r.t.Helper()
	p := &peer{r: r, path: path, caps: caps, answers: answers}
	if wire.Modern(version) {
		return p
	}
	resp := r.post(path, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"`+version+
		`","capabilities":`+caps+`,"clientInfo":{"name":"peer","version":"1"}}}`)
	if resp.status != http.StatusOK {
		r.t.Fatalf("initialize: HTTP %d %s", resp.status, resp.body)
	}
	p.session = []string{"Mcp-Session-Id", resp.header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version", version}
	r.post(path, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, p.session...)
	return p
}

// request makes one request and answers what is asked meanwhile; params is an object. The message is the answer.
func (p *peer) request(method, params string) wire.Message {
	p.r.t.Helper()
	if p.session != nil {
		return p.inSession(method, params)
	}
	var again []wire.Edit
	for range 20 {
		m := p.once(method, params, again...)
		if wire.String(wire.Get(m.Result, "resultType")) != "input_required" {
			return m
		}
		again = p.respond(m.Result)
	}
	p.r.t.Fatalf("%s %s: asked for input without end", method, params)
	return wire.Message{}
}

// call is a tools/call.
func (p *peer) call(tool, args string) wire.Message {
	p.r.t.Helper()
	return p.request(wire.ToolsCall, `{"name":"`+tool+`","arguments":`+args+`}`)
}

// once sends a stateless request as it is, with more members in its params, and returns the answer to it.
func (p *peer) once(method, params string, more ...wire.Edit) wire.Message {
	p.r.t.Helper()
	resp := p.open(method, params, more...)
	defer resp.Body.Close()
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return (&events{t: p.r.t, body: resp.Body, read: wire.NewEventReader(resp.Body, 1<<20)}).answer()
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.r.t.Fatal(err)
	}
	m, err := wire.Scan(body)
	if err != nil {
		p.r.t.Fatalf("%s: HTTP %d %s", method, resp.StatusCode, body)
	}
	return m
}

// open sends a stateless request and leaves the response to the caller.
func (p *peer) open(method, params string, more ...wire.Edit) *http.Response {
	p.r.t.Helper()
	meta := wire.Splice(wire.Get([]byte("{"+modernMeta+"}"), "_meta"), wire.Edit{Key: wire.MetaCapabilities, Value: []byte(p.caps)})
	for key, value := range wire.Members(wire.Get([]byte(params), "_meta")) {
		meta = wire.Splice(meta, wire.Edit{Key: string(key), Value: value})
	}
	whole := wire.Splice([]byte(params), append(more, wire.Edit{Key: "_meta", Value: meta})...)
	headers := []string{"Mcp-Protocol-Version", wire.V20260728, "Mcp-Method", method}
	for _, key := range []string{"name", "uri"} {
		if name := wire.String(wire.Get([]byte(params), key)); name != "" {
			headers = append(headers, "Mcp-Name", name)
		}
	}
	return p.r.open(http.MethodPost, p.path, string(wire.AppendRequest(nil, []byte("1"), method, whole)), headers...)
}

// respond answers the questions of an input_required result: what to add to the params of the next round.
func (p *peer) respond(result []byte) []wire.Edit {
	responses := []byte("{}")
	for key, request := range wire.Members(wire.Get(result, "inputRequests")) {
		method := wire.String(wire.Get(request, "method"))
		p.asked = append(p.asked, method)
		if a := p.answers(method, wire.Get(request, "params")); a.result != "" {
			responses = wire.Splice(responses, wire.Edit{Key: string(key), Value: []byte(a.result)})
		}
	}
	return []wire.Edit{{Key: "inputResponses", Value: responses}, {Key: "requestState", Value: wire.Get(result, "requestState")}}
}

// inSession makes a request in the session and answers on the way.
func (p *peer) inSession(method, params string) wire.Message {
	p.r.t.Helper()
	resp := p.r.open(http.MethodPost, p.path, string(wire.AppendRequest(nil, []byte("1"), method, []byte(params))), p.session...)
	defer resp.Body.Close()
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		body, _ := io.ReadAll(resp.Body)
		m, err := wire.Scan(body)
		if err != nil {
			p.r.t.Fatalf("%s: HTTP %d %s", method, resp.StatusCode, body)
		}
		return m
	}
	stream := &events{t: p.r.t, body: resp.Body, read: wire.NewEventReader(resp.Body, 1<<20)}
	for {
		m, ok := stream.next()
		switch {
		case !ok:
			p.r.t.Fatalf("%s: the stream ended without an answer", method)
		case m.IsResponse():
			return m
		case m.IsRequest():
			p.asked = append(p.asked, m.Method)
			p.reply(m, p.answers(m.Method, m.Params))
		}
	}
}

// reply sends a session client's answer to a question.
func (p *peer) reply(m wire.Message, a answer) {
	p.r.t.Helper()
	switch {
	case a.result != "":
		p.r.post(p.path, string(wire.AppendResult(nil, m.ID, []byte(a.result))), p.session...)
	case a.fault != "":
		p.r.post(p.path, string(wire.AppendError(nil, m.ID, []byte(a.fault))), p.session...)
	}
}

// answer reads up to the response of the stream.
func (e *events) answer() wire.Message {
	e.t.Helper()
	for {
		m, ok := e.next()
		if !ok {
			e.t.Fatal("the stream ended without an answer")
		}
		if m.IsResponse() {
			return m
		}
	}
}

// got is the answers that the tools ask, sample and roots of a server received, as they came.
func got(m wire.Message) string {
	return string(bytes.TrimSpace(wire.Path(m.Result, "structuredContent", "got")))
}

// friendly answers every question.
func friendly(method string, _ []byte) answer {
	switch method {
	case wire.ElicitationCreate:
		return answer{result: `{"action":"accept","content":{"name":"Ada","n":9007199254740993}}`}
	case wire.SamplingCreate:
		return answer{result: `{"role":"assistant","model":"m","content":{"type":"text","text":"Paris"}}`}
	case wire.RootsList:
		return answer{result: `{"roots":[{"uri":"file:///work","name":"work"}]}`}
	}
	return answer{fault: `{"code":-32601,"message":"no"}`}
}
