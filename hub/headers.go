package hub

import (
	"encoding/base64"
	"fmt"
	"strings"

	"mcphub/upstream"
	"mcphub/wire"
)

// binding says that an argument is repeated in an HTTP header (MCP 2026-07-28, Streamable HTTP,
// Custom Headers from Tool Parameters).
type binding struct {
	path   []string // of properties, from the arguments down
	header string   // what follows Mcp-Param-
}

// bindings finds the x-mcp-header annotations of an input schema. The error is for annotations that
// the specification has a client reject the tool for.
func bindings(schema []byte) ([]binding, error) {
	var found []binding
	seen := map[string]bool{}
	var walk func(schema []byte, path []string) error
	walk = func(schema []byte, path []string) error {
		for name, property := range wire.Members(wire.Get(schema, "properties")) {
			at := append(path[:len(path):len(path)], string(name))
			if mark := wire.Get(property, "x-mcp-header"); mark != nil {
				header := wire.String(mark)
				if !isToken(header) || seen[strings.ToLower(header)] || !isPrimitive(wire.Get(property, "type")) {
					return fmt.Errorf("the x-mcp-header %s of %q is not valid", mark, strings.Join(at, "."))
				}
				seen[strings.ToLower(header)] = true
				found = append(found, binding{at, header})
			}
			if err := walk(property, at); err != nil {
				return err
			}
		}
		return nil
	}
	return found, walk(schema, nil)
}

// isToken follows the field-name grammar of RFC 9110, section 5.1.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alnum := c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !alnum && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

func isPrimitive(kind []byte) bool {
	switch wire.String(kind) {
	case "string", "integer", "boolean":
		return true
	}
	return false
}

// mirror computes the headers that go with a call's arguments.
func (t *tool) mirror(args []byte) map[string]string {
	if len(t.headers) == 0 {
		return nil
	}
	headers := map[string]string{}
	for _, b := range t.headers {
		if text, ok := b.text(args); ok {
			headers[b.header] = upstream.HeaderValue(text)
		}
	}
	return headers
}

// text is the bound argument as a header says it; ok is false where it is absent or null.
func (b *binding) text(args []byte) (text string, ok bool) {
	value := wire.Path(args, b.path...)
	if wire.IsNull(value) {
		return "", false
	}
	if wire.IsString(value) {
		return wire.String(value), true
	}
	return string(value), true
}

// checkHeaders holds the headers that a client sent against the arguments in the body.
func (t *tool) checkHeaders(sent map[string]string, args []byte) *wire.Error {
	for _, b := range t.headers {
		want, expected := b.text(args)
		got, present := sent[strings.ToLower(b.header)]
		if !expected && !present {
			continue
		}
		plain, err := DecodeHeader(got)
		if err != nil || !expected || !present || !sameValue(plain, want) {
			return &wire.Error{Code: wire.CodeHeaderMismatch, Message: fmt.Sprintf(
				"Header mismatch: Mcp-Param-%s does not match the argument %s", b.header, strings.Join(b.path, "."))}
		}
	}
	return nil
}

func sameValue(header, body string) bool {
	if header == body {
		return true
	}
	h, okH := wire.Int([]byte(header))
	b, okB := wire.Int([]byte(body))
	return okH && okB && h == b
}

// DecodeHeader undoes [upstream.HeaderValue].
func DecodeHeader(value string) (string, error) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, nil
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return value, nil
	}
	plain, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(plain), err
}
