package testmcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// silences are servers that do not answer.
var silences = []Misbehaviour{
	{Name: "mute", Over: "any", At: anyMethod, Doc: "Never answers.", build: takes(nothing)},
	{Name: "mute-initialize", Over: "any", At: methodInitialize, Doc: "Never answers initialize.", build: takes(nothing)},
	{Name: "slow-initialize", Over: "any", Arg: "milliseconds, 1000", Doc: "Answers initialize late.", build: buildSlowStart},
	{Name: "refuses", Over: "any", At: anyMethod, Doc: "Answers -32601, as a server that lacks the method.", build: takes(refusal)},
	{Name: "errors", Over: "any", At: methodToolsCall, Doc: "Answers -32603.", build: takes(internalError)},
}

func nothing(*exchange) [][]byte { return nil }

func refusal(x *exchange) [][]byte {
	return [][]byte{errorTo(x.msg.ID, codeMethodNotFound, "Method not found", "")}
}

func internalError(x *exchange) [][]byte {
	return [][]byte{errorTo(x.msg.ID, -32603, "Internal error", "")}
}

func buildSlowStart(arg string) hooks {
	wait := millis([]byte(arg), 1000)
	return hooks{take: func(x *exchange) ([][]byte, bool) {
		if x.msg.Method == methodInitialize || x.msg.Method == methodDiscover {
			sleep(x.ctx, wait)
		}
		return nil, false
	}}
}

// answerFaults are answers that are not as they should be.
var answerFaults = []Misbehaviour{
	{Name: "string-ids", Over: "any", At: anyMethod, Doc: `Answers the id 1 as "1", and "1" as 1.`, build: rewrites(otherType)},
	{Name: "duplicate-answers", Over: "any", At: methodToolsCall, Doc: "Answers twice.", build: rewrites(twice)},
	{Name: "wrong-ids", Over: "any", At: methodToolsCall, Doc: "Answers with an id that nobody asked under, and never with the right one.", build: rewrites(wrongID)},
	{Name: "unknown-answer-ids", Over: "any", At: methodToolsCall, Doc: "Sends an answer that nobody asked for before each right one.", build: rewrites(strayFirst)},
	{Name: "error-data", Over: "any", At: methodToolsCall, Doc: "Answers -32042 with data that holds 64-bit integers.", build: takes(errorData)},
	{Name: "null-result", Over: "any", At: methodToolsCall, Doc: "Answers with the result null.", build: takes(nullResult)},
	{Name: "no-result", Over: "any", At: methodToolsCall, Doc: "Answers with neither a result nor an error.", build: takes(noResult)},
	{Name: "invalid-json", Over: "any", At: methodToolsCall, Doc: "Answers with JSON that breaks off.", build: rewrites(brokenOff)},
	{Name: "bad-utf8", Over: "any", At: methodToolsCall, Doc: "Answers with bytes in a string that are not UTF-8.", build: takes(badUTF8)},
	{Name: "batch-answers", Over: "any", At: methodToolsCall, Doc: "Wraps the answer in an array.", build: rewrites(batch)},
	{Name: "foreign-requests", Over: "any", At: methodToolsCall, Doc: "Sends a request of an unknown method and a notification of one before the answer.", build: with(hooks{take: foreign})},
}

func rewriteID(answer []byte, id json.RawMessage) []byte {
	m, err := parse(answer)
	if err != nil {
		return answer
	}
	return bytes.Replace(answer, append([]byte(`"id":`), m.ID...), append([]byte(`"id":`), id...), 1)
}

func otherType(x *exchange, answers [][]byte) [][]byte {
	id := json.RawMessage(quote(string(x.msg.ID)))
	if s := text(x.msg.ID); s != "" {
		if _, err := strconv.Atoi(s); err != nil {
			return answers // a string that is no number has no other form
		}
		id = json.RawMessage(s)
	}
	for i := range answers {
		answers[i] = rewriteID(answers[i], id)
	}
	return answers
}

func twice(_ *exchange, answers [][]byte) [][]byte { return append(answers, answers...) }

// strayID is an id no client will have asked under.
const strayID = `987654321`

func wrongID(_ *exchange, answers [][]byte) [][]byte {
	for i := range answers {
		answers[i] = rewriteID(answers[i], json.RawMessage(strayID))
	}
	return answers
}

func strayFirst(_ *exchange, answers [][]byte) [][]byte {
	return append([][]byte{resultTo(json.RawMessage(strayID), textResult("stray"))}, answers...)
}

// ErrorData is the data of the error that error-data answers with.
const ErrorData = `{"z":9007199254740993,"a":[1.10,1e3],"elicitations":[{"mode":"url","elicitationId":"1","url":"https://example.test/","message":"Log in"}]}`

func errorData(x *exchange) [][]byte {
	return [][]byte{errorTo(x.msg.ID, codeURLElicitation, "A login is needed", ErrorData)}
}

func nullResult(x *exchange) [][]byte { return [][]byte{resultTo(x.msg.ID, []byte("null"))} }

func noResult(x *exchange) [][]byte {
	return [][]byte{fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s}`, x.msg.ID)}
}

func brokenOff(_ *exchange, answers [][]byte) [][]byte {
	for i := range answers {
		answers[i] = answers[i][:len(answers[i])-2]
	}
	return answers
}

func badUTF8(x *exchange) [][]byte {
	return [][]byte{resultTo(x.msg.ID, []byte("{\"content\":[{\"type\":\"text\",\"text\":\"\xff\xfe\xc3(\"}]}"))}
}

func batch(_ *exchange, answers [][]byte) [][]byte {
	return [][]byte{append(append([]byte("["), bytes.Join(answers, []byte(","))...), ']')}
}

func foreign(x *exchange) ([][]byte, bool) {
	x.out([]byte(`{"jsonrpc":"2.0","id":"foreign-1","method":"vendor/ask","params":{}}`))
	x.out(notification("notifications/vendor", `{"a":1}`))
	return nil, false
}

// catalogFaults are tools/list answers that are hard to take.
var catalogFaults = []Misbehaviour{
	{Name: "line-2mb", Over: "any", At: methodToolsList, Doc: "Its tools/list is one message of 2 MB.", build: takes(fat(2 << 20))},
	{Name: "line-17mb", Over: "any", At: methodToolsList, Doc: "Its tools/list is one message of 17 MB.", build: takes(fat(17 << 20))},
	{Name: "line-70mb", Over: "any", At: methodToolsList, Doc: "Its tools/list is one message of 70 MB.", build: takes(fat(70 << 20))},
	{Name: "repeats-cursor", Over: "any", At: methodToolsList, Doc: "Every page of tools/list points to the page \"8\".", build: takes(samePage)},
	{Name: "endless-pages", Over: "any", At: methodToolsList, Doc: "Every page of tools/list has one new tool and points to a new page.", build: takes(nextPage)},
	{Name: "pages", Over: "any", At: methodToolsList, Doc: "Lists 250 tools in pages of 50.", build: takes(fiftyAPage)},
	{Name: "list-changed-storm", Over: "any", At: methodInitialized, Doc: "Sends 500 list_changed at once after the handshake, then 100 a second.", build: with(hooks{take: storm})},
}

// item is a minimal tool.
func item(name string) string {
	return `{"name":"` + name + `","inputSchema":{"type":"object"}}`
}

// fat answers with one tool whose description has that many bytes. It is written
// into one buffer, because copies of 70 MB would be what a test measures.
func fat(size int) func(*exchange) [][]byte {
	return func(x *exchange) [][]byte {
		answer := make([]byte, 0, size+256)
		answer = fmt.Appendf(answer, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"echo","description":"`, x.msg.ID)
		for range size / len(padding) {
			answer = append(answer, padding...)
		}
		return [][]byte{append(answer, `","inputSchema":{"type":"object"}}]}}`...)}
	}
}

// padding is 1 KiB of nothing.
var padding = strings.Repeat("x", 1<<10)

func samePage(x *exchange) [][]byte {
	return [][]byte{resultTo(x.msg.ID, []byte(`{"tools":[`+item("echo")+`],"nextCursor":"8"}`))}
}

func nextPage(x *exchange) [][]byte {
	page, err := strconv.Atoi(text(x.msg.member("cursor")))
	if err != nil {
		page = 0
	}
	return [][]byte{resultTo(x.msg.ID, fmt.Appendf(nil, `{"tools":[%s],"nextCursor":"%d"}`, item(fmt.Sprintf("tool_%d", page)), page+1))}
}

func fiftyAPage(x *exchange) [][]byte {
	const total, size = 250, 50
	from, err := strconv.Atoi(text(x.msg.member("cursor")))
	if err != nil {
		from = 0
	}
	var items []string
	for i := from; i < from+size && i < total; i++ {
		items = append(items, item(fmt.Sprintf("tool_%03d", i)))
	}
	next := ""
	if from+size < total {
		next = fmt.Sprintf(`,"nextCursor":"%d"`, from+size)
	}
	return [][]byte{resultTo(x.msg.ID, []byte(`{"tools":[`+strings.Join(items, ",")+`]`+next+`}`))}
}

// storm is bounded to 100 notifications a second after the first burst, so that
// it is the client that is tested and not the machine.
func storm(x *exchange) ([][]byte, bool) {
	e := x.eng
	e.work.Go(func() {
		for range 500 {
			e.toolsChanged()
		}
		for sleep(e.ctx, 10*time.Millisecond) {
			e.toolsChanged()
		}
	})
	return nil, false
}
