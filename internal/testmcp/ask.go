package testmcp

import (
	"encoding/json"
	"fmt"
	"slices"
)

// levels are the log levels of MCP, least severe first.
var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

func runAsk(x *exchange, args json.RawMessage) []byte {
	message := text(member(args, "message"))
	if message == "" {
		message = "Who are you?"
	}
	meta := ""
	if token := string(member(args, "token")); token != "" { // by which the client may tell of its progress
		meta = `"_meta":{"progressToken":` + token + `},`
	}
	params := `{` + meta + `"message":` + quote(message) + `,"requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`
	if text(member(args, "mode")) == "url" {
		params = `{"mode":"url","message":` + quote(message) + `,"url":"https://example.test/form","elicitationId":"form-1"}`
	}
	return x.question("elicitation", "elicitation/create", params, number(member(args, "times"), 1))
}

func runSample(x *exchange, _ json.RawMessage) []byte {
	return x.question("sampling", "sampling/createMessage",
		`{"messages":[{"role":"user","content":{"type":"text","text":"What is the capital of France?"}}],"maxTokens":100}`, 1)
}

func runRoots(x *exchange, _ json.RawMessage) []byte {
	return x.question("roots", "roots/list", `{}`, 1)
}

// question puts the same question times times and answers with the raw results
// in order. A client that does not declare the capability is not asked.
func (x *exchange) question(capability, method, params string, times int) []byte {
	if x.modern {
		return x.questionModern(capability, method, params, times)
	}
	if x.ses.capability(capability) == nil {
		return errorResult("the client has no capability " + capability)
	}
	got := []json.RawMessage{}
	for range times {
		raw, err := x.ask(method, params)
		if err != nil {
			return errorResult(err.Error())
		}
		got = append(got, raw)
	}
	return gotResult(got)
}

// questionModern asks by multi round-trip requests. All it has to remember, the
// results so far, travels in requestState.
func (x *exchange) questionModern(capability, method, params string, times int) []byte {
	if member(x.msg.meta(metaCapabilities), capability) == nil {
		return errorResult("the client has no capability " + capability)
	}
	got := []json.RawMessage{}
	if state := text(x.msg.member("requestState")); state != "" {
		if err := json.Unmarshal([]byte(state), &got); err != nil {
			return errorResult("requestState is not mine: " + err.Error())
		}
	}
	if answer := member(x.msg.member("inputResponses"), "question"); answer != nil {
		got = append(got, answer)
	}
	if len(got) >= times {
		return gotResult(got)
	}
	return fmt.Appendf(nil, `{"resultType":"input_required","inputRequests":{"question":{"method":%q,"params":%s}},"requestState":%s}`,
		method, params, quote(joinRaw(got)))
}

func gotResult(got []json.RawMessage) []byte { return dataResult(`{"got":` + joinRaw(got) + `}`) }

func joinRaw(values []json.RawMessage) string {
	all := "["
	for i, v := range values {
		if i > 0 {
			all += ","
		}
		all += string(v)
	}
	return all + "]"
}

func runLog(x *exchange, args json.RawMessage) []byte {
	level := text(member(args, "level"))
	if level == "" {
		level = "info"
	}
	x.ses.mu.Lock()
	least := x.ses.level
	x.ses.mu.Unlock()
	wanted := true
	if x.modern {
		least = text(x.msg.meta(metaLogLevel))
		wanted = least != ""
	}
	if wanted && slices.Index(levels, level) >= slices.Index(levels, least) {
		data := string(member(args, "data"))
		if data == "" {
			data = `"a log message"`
		}
		x.out(notification("notifications/message", fmt.Sprintf(`{"level":%q,"logger":"testmcp","data":%s}`, level, data)))
	}
	return textResult("logged")
}
