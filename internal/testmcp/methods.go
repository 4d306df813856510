package testmcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type era int

const (
	bothEras era = iota
	legacyEra
	modernEra
)

// method is one request the well-behaved server answers.
type method struct {
	era      era
	cached   bool // its result carries caching hints in 2026-07-28
	optional bool // needs a capability other than tools
	serve    func(*exchange) ([]byte, *rpcError)
}

var methods = map[string]method{
	methodInitialize:           {era: legacyEra, serve: serveInitialize},
	"ping":                     {era: legacyEra, serve: serveNothing},
	"logging/setLevel":         {era: legacyEra, optional: true, serve: serveSetLevel},
	"resources/subscribe":      {era: legacyEra, optional: true, serve: serveSubscribe},
	"resources/unsubscribe":    {era: legacyEra, optional: true, serve: serveUnsubscribe},
	methodDiscover:             {era: modernEra, cached: true, serve: serveDiscover},
	methodListen:               {era: modernEra, serve: serveListen},
	methodToolsList:            {cached: true, serve: serveToolsList},
	methodToolsCall:            {serve: serveToolsCall},
	"resources/list":           {cached: true, optional: true, serve: fixed(resourceList)},
	"resources/templates/list": {cached: true, optional: true, serve: fixed(templateList)},
	"resources/read":           {cached: true, optional: true, serve: serveRead},
	"prompts/list":             {cached: true, optional: true, serve: fixed(promptList)},
	"prompts/get":              {optional: true, serve: serveGetPrompt},
	"completion/complete":      {optional: true, serve: serveComplete},
}

// Instructions is what every server says about itself.
const Instructions = "A server for tests. Call echo first."

const (
	resourceList = `{"resources":[{"uri":"test://hello.txt","name":"hello","title":"Hello","mimeType":"text/plain","size":5},{"uri":"test://pixel.png","name":"pixel","mimeType":"image/png"}]}`
	templateList = `{"resourceTemplates":[{"uriTemplate":"test://words/{word}","name":"words","mimeType":"text/plain"}]}`
	promptList   = `{"prompts":[{"name":"greet","title":"Greeting","description":"Greets somebody.","arguments":[{"name":"name","description":"Whom to greet.","required":true}]},{"name":"plain","description":"Takes no arguments."}]}`
	// pixel is a PNG of one pixel.
	pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)

// names are what completion offers for any argument.
var names = []string{"Ada", "Alan", "Barbara", "Grace"}

func fixed(result string) func(*exchange) ([]byte, *rpcError) {
	return func(*exchange) ([]byte, *rpcError) { return []byte(result), nil }
}

func serveNothing(*exchange) ([]byte, *rpcError) { return []byte("{}"), nil }

func (e *engine) capabilities() string {
	if e.onlyTools {
		return `{"tools":{"listChanged":true}}`
	}
	return `{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"prompts":{"listChanged":true},"completions":{},"logging":{}}`
}

func serveInitialize(x *exchange) ([]byte, *rpcError) {
	if !x.eng.legacy {
		return nil, &rpcError{code: codeVersion, text: "This server speaks only " + versionModern, data: `{"supported":["` + versionModern + `"]}`}
	}
	version := text(x.msg.member("protocolVersion"))
	if !slices.Contains(x.eng.versions, version) {
		version = x.eng.versions[len(x.eng.versions)-1]
	}
	x.ses.begin(version, x.msg.Params)
	return fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"serverInfo":%s,"instructions":%s}`,
		version, x.eng.capabilities(), serverInfo, quote(Instructions)), nil
}

func serveDiscover(x *exchange) ([]byte, *rpcError) {
	return fmt.Appendf(nil, `{"supportedVersions":%s,"capabilities":%s,"instructions":%s}`,
		quoteAll(x.eng.supported()), x.eng.capabilities(), quote(Instructions)), nil
}

func serveListen(x *exchange) ([]byte, *rpcError) {
	sub := &subscription{id: x.msg.ID, send: x.out}
	if err := json.Unmarshal(x.msg.member("notifications"), &sub.filter); err != nil {
		return nil, &rpcError{code: codeInvalidParams, text: "notifications: " + err.Error()}
	}
	e := x.eng
	e.mu.Lock() // what happens from here on is told, and nothing before the acknowledgement
	sub.send(notification("notifications/subscriptions/acknowledged",
		fmt.Sprintf(`{%s,"notifications":%s}`, sub.meta(), x.msg.member("notifications"))))
	e.subs = append(e.subs, sub)
	e.mu.Unlock()
	e.log.add(Event{Kind: EventStream, Method: methodListen})
	<-x.ctx.Done()
	e.mu.Lock()
	e.subs = slices.DeleteFunc(e.subs, func(s *subscription) bool { return s == sub })
	e.mu.Unlock()
	e.log.add(Event{Kind: EventStreamEnd, Method: methodListen})
	return []byte("{" + sub.meta() + "}"), nil
}

func serveSetLevel(x *exchange) ([]byte, *rpcError) {
	x.ses.mu.Lock()
	defer x.ses.mu.Unlock()
	x.ses.level = text(x.msg.member("level"))
	return []byte("{}"), nil
}

func serveSubscribe(x *exchange) ([]byte, *rpcError) {
	x.ses.mu.Lock()
	defer x.ses.mu.Unlock()
	x.ses.subscribed[text(x.msg.member("uri"))] = true
	return []byte("{}"), nil
}

func serveUnsubscribe(x *exchange) ([]byte, *rpcError) {
	x.ses.mu.Lock()
	defer x.ses.mu.Unlock()
	delete(x.ses.subscribed, text(x.msg.member("uri")))
	return []byte("{}"), nil
}

func serveRead(x *exchange) ([]byte, *rpcError) {
	uri := text(x.msg.member("uri"))
	word, isWord := strings.CutPrefix(uri, "test://words/")
	switch {
	case uri == "test://hello.txt":
		return []byte(`{"contents":[{"uri":"test://hello.txt","mimeType":"text/plain","text":"hello"}]}`), nil
	case uri == "test://pixel.png":
		return fmt.Appendf(nil, `{"contents":[{"uri":"test://pixel.png","mimeType":"image/png","blob":%q}]}`, pixel), nil
	case isWord:
		return fmt.Appendf(nil, `{"contents":[{"uri":%s,"mimeType":"text/plain","text":%s}]}`, quote(uri), quote(word)), nil
	}
	code := -32002 // "Resource not found" until 2025-11-25
	if x.modern {
		code = codeInvalidParams
	}
	return nil, &rpcError{code: code, text: "Resource not found", data: `{"uri":` + quote(uri) + `}`}
}

func serveGetPrompt(x *exchange) ([]byte, *rpcError) {
	said := "Say something."
	switch name := text(x.msg.member("name")); name {
	case "greet":
		said = "Greet " + text(member(x.msg.member("arguments"), "name")) + "."
	case "plain":
	default:
		return nil, &rpcError{code: codeInvalidParams, text: "Unknown prompt: " + name}
	}
	return fmt.Appendf(nil, `{"description":"A prompt for tests.","messages":[{"role":"user","content":{"type":"text","text":%s}}]}`, quote(said)), nil
}

func serveComplete(x *exchange) ([]byte, *rpcError) {
	begun := text(member(x.msg.member("argument"), "value"))
	var found []string
	for _, n := range names {
		if strings.HasPrefix(n, begun) {
			found = append(found, n)
		}
	}
	return fmt.Appendf(nil, `{"completion":{"values":%s,"total":%d,"hasMore":false}}`, quoteAll(found), len(found)), nil
}
