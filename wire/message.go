package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
)

// Message is the envelope of one JSON-RPC message. Every slice aliases the scanned bytes.
type Message struct {
	Raw    []byte // the whole message, without space around it
	ID     []byte // raw: a number or a string as it was written; nil when absent
	Method string
	Params []byte // raw, nil when absent
	Result []byte // raw, nil when absent
	Error  []byte // raw, nil when absent
}

// IsRequest says whether m asks for an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && m.ID != nil }

// IsNotification says whether m is a one-way message.
func (m *Message) IsNotification() bool { return m.Method != "" && m.ID == nil }

// IsResponse says whether m answers a request.
func (m *Message) IsResponse() bool { return m.Method == "" && (m.Result != nil || m.Error != nil) }

// ErrNotMessage is the error of [Scan] for JSON that is no JSON-RPC message.
var ErrNotMessage = errors.New("not a JSON-RPC message: neither a request, a notification nor a response")

// Scan checks that b is JSON and finds the envelope of the message in it. A member of the
// envelope that stands twice is refused, since readers disagree on which one counts.
func Scan(b []byte) (Message, error) {
	start := skipSpace(b, 0)
	end, err := skipValue(b, start)
	if err != nil {
		return Message{}, err
	}
	if i := skipSpace(b, end); i != len(b) {
		return Message{}, &SyntaxError{i, "more text behind the message"}
	}
	f, err := Fields(b[start:end], "id", "method", "params", "result", "error")
	m := Message{Raw: b[start:end], ID: f[0], Params: f[2], Result: f[3], Error: f[4]}
	if err != nil {
		return m, err
	}
	if f[1] != nil {
		m.Method = methodName(f[1])
	}
	return m, m.check(f[1])
}

func (m *Message) check(method []byte) error {
	if method != nil && m.Method == "" {
		return ErrNotMessage
	}
	if m.Method == "" && m.Result == nil && m.Error == nil {
		return ErrNotMessage
	}
	if m.ID == nil {
		if m.Method == "" && m.Result != nil {
			return ErrNotMessage
		}
		return nil
	}
	switch c := m.ID[0]; {
	case c == '"', c == '-', c >= '0' && c <= '9':
		return nil
	case c == 'n' && m.Error != nil: // an error about a message whose id could not be read
		return nil
	}
	return errors.New("a request's id must be a string or a number")
}

// methodName decodes a method without allocating for the ones that MCP knows.
func methodName(raw []byte) string {
	if IsString(raw) {
		if s, ok := knownMethods[string(raw[1:len(raw)-1])]; ok {
			return s
		}
	}
	return String(raw)
}

// Batch splits a JSON-RPC batch into its raw messages. ok is false where b is no array.
// Batches exist in protocol version 2025-03-26 only.
func Batch(b []byte) (msgs [][]byte, ok bool) {
	if i := skipSpace(b, 0); i >= len(b) || b[i] != '[' || !Valid(b) {
		return nil, false
	}
	for e := range Elements(b) {
		msgs = append(msgs, e)
	}
	return msgs, true
}

// AppendRequest writes a request with a raw id; params may be nil.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	return appendMethod(append(dst, ','), method, params)
}

// AppendNotification writes a notification; params may be nil.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendMethod(append(dst, `{"jsonrpc":"2.0",`...), method, params)
}

func appendMethod(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `"method":`...)
	dst = appendQuoted(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResult writes the answer to the request with this raw id.
func AppendResult(dst, id, result []byte) []byte {
	dst = appendID(dst, id)
	dst = append(dst, `,"result":`...)
	dst = append(dst, result...)
	return append(dst, '}')
}

// AppendError writes an error answer from a raw error object; a nil id is written as null.
func AppendError(dst, id, rawError []byte) []byte {
	dst = appendID(dst, id)
	dst = append(dst, `,"error":`...)
	dst = append(dst, rawError...)
	return append(dst, '}')
}

func appendID(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	if id == nil {
		return append(dst, "null"...)
	}
	return append(dst, id...)
}

// Error is a JSON-RPC error that the hub itself makes.
type Error struct {
	Code    int
	Message string
	Data    json.RawMessage // nil: none
}

func (e *Error) Error() string { return e.Message }

// Raw is the error as a JSON object.
func (e *Error) Raw() []byte {
	out := append([]byte(`{"code":`), strconv.Itoa(e.Code)...)
	out = append(out, `,"message":`...)
	out = appendQuoted(out, e.Message)
	if e.Data != nil {
		out = append(out, `,"data":`...)
		out = append(out, e.Data...)
	}
	return append(out, '}')
}

// ErrorOf reads the code and message of a raw error object that a peer sent.
func ErrorOf(raw []byte) (code int, message string) {
	n, _ := Int(Get(raw, "code"))
	return int(n), String(Get(raw, "message"))
}

// TrimBOM cuts a UTF-8 byte order mark, which some servers print before their first message.
func TrimBOM(b []byte) []byte { return bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) }
