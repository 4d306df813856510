package testmcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
)

// Error codes of JSON-RPC 2.0 and of MCP 2026-07-28 (basic, "Error Codes").
const (
	codeParse           = -32700
	codeInvalidRequest  = -32600
	codeMethodNotFound  = -32601
	codeInvalidParams   = -32602
	codeServer          = -32000
	codeHeaderMismatch  = -32020
	codeMissingCap      = -32021
	codeVersion         = -32022
	codeURLElicitation  = -32042
	metaPrefix          = "io.modelcontextprotocol/"
	metaVersion         = metaPrefix + "protocolVersion"
	metaCapabilities    = metaPrefix + "clientCapabilities"
	metaClientInfo      = metaPrefix + "clientInfo"
	metaLogLevel        = metaPrefix + "logLevel"
	metaSubscription    = metaPrefix + "subscriptionId"
	metaServerInfo      = metaPrefix + "serverInfo"
	serverInfo          = `{"name":"testmcp","version":"1.0.0"}`
	methodListChanged   = "notifications/tools/list_changed"
	methodUpdated       = "notifications/resources/updated"
	methodInitialize    = "initialize"
	methodDiscover      = "server/discover"
	methodListen        = "subscriptions/listen"
	methodCancelled     = "notifications/cancelled"
	methodToolsCall     = "tools/call"
	methodToolsList     = "tools/list"
	methodInitialized   = "notifications/initialized"
	methodHTTPGet       = "GET"
	anyMethod           = "*"
	versionModern       = "2026-07-28"
	versionNewestLegacy = "2025-11-25"
)

// legacyVersions are the protocol versions that begin with initialize, oldest first.
var legacyVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", versionNewestLegacy}

// message is the envelope of one JSON-RPC message; all payloads stay bytes.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

func parse(raw []byte) (message, error) {
	var m message
	err := json.Unmarshal(raw, &m)
	return m, err
}

func (m message) isRequest() bool  { return m.Method != "" && len(m.ID) > 0 }
func (m message) isResponse() bool { return m.Method == "" && len(m.ID) > 0 }

// member returns the raw value of params.name, nil when there is none.
func (m message) member(name string) json.RawMessage {
	return member(m.Params, name)
}

// meta returns the raw value of params._meta[key], nil when there is none.
func (m message) meta(key string) json.RawMessage {
	return member(m.member("_meta"), key)
}

// member returns one member of a raw object, nil when it is absent or no object.
func member(object json.RawMessage, name string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	return members[name]
}

// text reads a raw JSON string; anything else is "".
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// number reads a raw JSON integer, or says fallback.
func number(raw json.RawMessage, fallback int) int {
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return fallback
	}
	return n
}

// quote writes s as a JSON string and leaves <, > and & as they are, as most
// servers that are not written in Go do.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("testmcp: quoting a string: " + err.Error())
	}
	return string(bytes.TrimRight(b.Bytes(), "\n"))
}

func resultTo(id json.RawMessage, result []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

// errorTo writes an error answer; data may be empty. Without an id the answer
// carries null, as JSON-RPC asks for messages that could not be read.
func errorTo(id json.RawMessage, code int, text, data string) []byte {
	if data != "" {
		data = `,"data":` + data
	}
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s%s}}`, id, code, quote(text), data)
}

func rawErrorTo(id json.RawMessage, raw []byte) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, raw)
}

// notification writes a notification; params may be empty.
func notification(method, params string) []byte {
	if params != "" {
		params = `,"params":` + params
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q%s}`, method, params)
}

// splice puts members in front of those of a raw object.
func splice(members string, object []byte) []byte {
	object = bytes.TrimSpace(object)
	if bytes.Equal(object, []byte("{}")) {
		return []byte("{" + members + "}")
	}
	return append([]byte("{"+members+","), object[1:]...)
}
