package testmcp

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// bodyFaults are HTTP answers whose body is hard to read.
var bodyFaults = []Misbehaviour{
	{Name: "gzip", Over: "http", At: methodToolsCall, Doc: "Compresses the answer whether or not that was asked for.", build: replies(zipped)},
	{Name: "slow-loris", Over: "http", At: methodToolsCall, Doc: "Sends one byte of the answer every 100 ms.", build: replies(byteByByte)},
	{Name: "json-cut", Over: "http", At: methodToolsCall, Doc: "Cuts the connection in the middle of a JSON answer.", build: replies(cutJSON)},
	{Name: "cuts-mid-call", Over: "http", At: methodToolsCall, Doc: "Runs the tool, then cuts the connection without an answer.", build: replies(cut)},
	{Name: "broken-json", Over: "http", At: methodToolsCall, Doc: "Answers with application/json that breaks off.", build: replies(brokenJSON)},
}

// streamFaults are SSE answers and streams that are odd or broken.
var streamFaults = []Misbehaviour{
	{Name: "sse-broken-data", Over: "http", At: methodToolsCall, Doc: "Sends an event that is no JSON before the answer.", build: prelude("event: message\ndata: {not json\n\n")},
	{Name: "sse-ends-early", Over: "http", At: methodToolsCall, Doc: "Ends the stream before the answer.", build: replies(endEarly)},
	{Name: "sse-half-event", Over: "http", At: methodToolsCall, Doc: "Cuts the connection in the middle of the answer's event.", build: replies(halfEvent)},
	{Name: "sse-no-colon", Over: "http", At: methodToolsCall, Doc: "Sends lines without a colon, which are fields with no value.", build: prelude("nocolon\ndata\n\n")},
	{Name: "sse-comments-and-retry", Over: "http", At: methodToolsCall, Doc: "Sends comments, retry fields, ids and events of other names before the answer.", build: prelude(": hello\n\nretry: 1000\n\nid: 1\ndata: \n\nevent: ping\ndata: {}\n\n:\n\n")},
	{Name: "sse-crlf", Over: "http", At: anyMethod, Doc: "Ends its lines with CR LF.", build: with(hooks{event: crlfEvent})},
	{Name: "sse-cr", Over: "http", At: anyMethod, Doc: "Ends its lines with CR.", build: with(hooks{event: crEvent})},
	{Name: "sse-bom", Over: "http", At: methodToolsCall, Doc: "Begins the stream with a byte order mark.", build: prelude("\ufeff")},
	{Name: "sse-many-data-lines", Over: "http", At: methodToolsCall, Doc: "Spreads the answer over many data lines.", build: with(hooks{event: spreadEvent})},
	{Name: "sse-no-space", Over: "http", At: anyMethod, Doc: "Sends data fields without the blank after the colon and without event names.", build: with(hooks{event: bareEvent})},
	{Name: "sse-lingers", Over: "http", At: methodToolsCall, Doc: "Keeps the stream open after the answer.", build: replies(linger)},
	{Name: "sse-reconnect", Over: "http", Doc: "Ends a call's stream after an event with an id and retry: 10, and answers on the GET that brings the id as Last-Event-ID.", build: buildReconnect},
	{Name: "get-closes-fast", Over: "http", At: methodHTTPGet, Doc: "Ends its GET stream at once.", build: with(hooks{door: closeFast})},
	{Name: "get-drops-at-call", Over: "http", At: methodToolsCall, Doc: "Cuts all GET streams at a call.", build: with(hooks{door: func(v *visit) bool {
		v.srv.dropStreams()
		return false
	}})},
	{Name: "answer-on-get", Over: "http", At: methodToolsCall, Doc: "Answers 202 to the POST and sends the answer on the GET stream.", build: replies(answerOnGet)},
}

// replies makes the build function of a fixed reply hook.
func replies(reply func(v *visit, answers [][]byte)) func(string) hooks {
	return with(hooks{reply: reply})
}

func zipped(v *visit, answers [][]byte) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(answers[0]) //nolint:errcheck // a buffer takes everything
	z.Close()           //nolint:errcheck // as above
	v.w.Header().Set("Content-Encoding", "gzip")
	v.fail(http.StatusOK, typeJSON, b.String())
}

func byteByByte(v *visit, answers [][]byte) {
	v.w.Header().Set("Content-Type", typeJSON)
	for i := range answers[0] {
		v.w.Write(answers[0][i : i+1])          //nolint:errcheck // the client may be gone
		http.NewResponseController(v.w).Flush() //nolint:errcheck // as above
		if v.r.Context().Err() != nil || !sleep(v.srv.eng.ctx, 100*time.Millisecond) {
			return
		}
	}
}

// abort ends a connection under its client. It does not return.
func abort() { panic(http.ErrAbortHandler) }

func cut(*visit, [][]byte) { abort() }

func cutJSON(v *visit, answers [][]byte) {
	v.w.Header().Set("Content-Length", strconv.Itoa(len(answers[0])))
	v.fail(http.StatusOK, typeJSON, string(answers[0][:len(answers[0])/2]))
	http.NewResponseController(v.w).Flush() //nolint:errcheck // the connection is cut next
	abort()
}

func brokenJSON(v *visit, answers [][]byte) {
	v.fail(http.StatusOK, typeJSON, string(answers[0][:len(answers[0])-2]))
}

// prelude makes the build function of a stream that begins with these bytes.
func prelude(before string) func(string) hooks {
	return replies(func(v *visit, answers [][]byte) {
		v.begin()
		v.stream.raw(before)
		for _, answer := range answers {
			v.stream.send(answer)
		}
	})
}

func endEarly(v *visit, _ [][]byte) {
	v.begin()
	v.stream.send(notification("notifications/message", `{"level":"info","data":"no answer follows"}`))
}

func halfEvent(v *visit, answers [][]byte) {
	v.begin()
	whole := event(answers[0])
	v.stream.raw(string(whole[:len(whole)/2]))
	abort()
}

func linger(v *visit, answers [][]byte) {
	v.reply(answers)
	hang(v)
}

func closeFast(v *visit) bool {
	newEventStream(v.w, nil)
	return true
}

func answerOnGet(v *visit, answers [][]byte) {
	v.w.WriteHeader(http.StatusAccepted)
	for _, answer := range answers {
		v.x.ses.push(answer)
	}
}

func crlfEvent(raw []byte) []byte { return bytes.ReplaceAll(event(raw), []byte("\n"), []byte("\r\n")) }

func crEvent(raw []byte) []byte { return bytes.ReplaceAll(event(raw), []byte("\n"), []byte("\r")) }

func bareEvent(raw []byte) []byte { return fmt.Appendf(nil, "data:%s\n\n", raw) }

func spreadEvent(raw []byte) []byte {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return event(raw)
	}
	return event(b.Bytes())
}

// buildReconnect keeps answers until their client comes back for them.
func buildReconnect(string) hooks {
	var mu sync.Mutex
	kept := map[string][][]byte{}
	return hooks{
		reply: func(v *visit, answers [][]byte) {
			if v.msg.Method != methodToolsCall {
				v.reply(answers)
				return
			}
			mu.Lock()
			id := fmt.Sprintf("kept-%d", len(kept)+1)
			kept[id] = answers
			mu.Unlock()
			v.begin()
			v.stream.raw("id: " + id + "\nretry: 10\ndata: \n\n")
		},
		door: func(v *visit) bool {
			mu.Lock()
			answers := kept[v.r.Header.Get("Last-Event-ID")]
			mu.Unlock()
			if v.r.Method != http.MethodGet || answers == nil {
				return false
			}
			stream := newEventStream(v.w, nil)
			for _, answer := range answers {
				stream.send(answer)
			}
			return true
		},
	}
}
