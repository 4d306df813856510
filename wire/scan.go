package wire

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// maxDepth is how deep arrays and objects may nest before a message is refused.
// Real schemas stay below 20; the bound keeps a hostile message from growing
// whatever parses it later.
const maxDepth = 2048

// SyntaxError says where a message stops being JSON.
type SyntaxError struct {
	Offset int    // bytes from the start of what was scanned
	What   string // what stood there, or what was missing
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("not JSON at byte %d: %s", e.Offset, e.What)
}

// Valid says whether b is one JSON value with nothing but space around it.
func Valid(b []byte) bool {
	end, err := skipValue(b, skipSpace(b, 0))
	return err == nil && skipSpace(b, end) == len(b)
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// nesting is a stack of one bit per open bracket: set for an object.
type nesting struct {
	depth int
	bits  [maxDepth / 64]uint64
}

func (n *nesting) push(object bool) bool {
	if n.depth == maxDepth {
		return false
	}
	word, bit := n.depth/64, uint64(1)<<(n.depth%64)
	n.bits[word] &^= bit
	if object {
		n.bits[word] |= bit
	}
	n.depth++
	return true
}

func (n *nesting) inObject() bool {
	d := n.depth - 1
	return n.bits[d/64]&(1<<(d%64)) != 0
}

// skipValue returns the index just behind the value that starts at b[i].
func skipValue(b []byte, i int) (int, error) {
	if i < len(b) && b[i] != '{' && b[i] != '[' {
		return skipScalar(b, i)
	}
	var n nesting
	for {
		var err error
		if i, err = openValue(b, i, &n); err != nil {
			return i, err
		}
		if i, err = closeValues(b, i, &n); err != nil || n.depth == 0 {
			return i, err
		}
	}
}

// openValue goes through opening brackets and keys up to and over one scalar or empty container.
func openValue(b []byte, i int, n *nesting) (int, error) {
	for {
		i = skipSpace(b, i)
		if i >= len(b) {
			return i, &SyntaxError{i, "the text ends early"}
		}
		c := b[i]
		if c != '{' && c != '[' {
			return skipScalar(b, i)
		}
		if !n.push(c == '{') {
			return i, &SyntaxError{i, fmt.Sprintf("nested deeper than %d levels", maxDepth)}
		}
		i = skipSpace(b, i+1)
		if i < len(b) && b[i] == c+2 { // '}' is '{'+2 and ']' is '['+2
			n.depth--
			return i + 1, nil
		}
		if c == '{' {
			var err error
			if i, err = skipKey(b, i); err != nil {
				return i, err
			}
		}
	}
}

// closeValues goes through what may follow a value: closing brackets, then a comma and the next key.
func closeValues(b []byte, i int, n *nesting) (int, error) {
	for n.depth > 0 {
		i = skipSpace(b, i)
		if i >= len(b) {
			return i, &SyntaxError{i, "the text ends early"}
		}
		object := n.inObject()
		switch {
		case b[i] == ',':
			i = skipSpace(b, i+1)
			if object {
				return skipKey(b, i)
			}
			return i, nil
		case b[i] == '}' && object, b[i] == ']' && !object:
			n.depth--
			i++
		default:
			return i, &SyntaxError{i, fmt.Sprintf("%q where a comma or a closing bracket belongs", b[i])}
		}
	}
	return i, nil
}

// skipKey goes over `"key" :`.
func skipKey(b []byte, i int) (int, error) {
	if i >= len(b) || b[i] != '"' {
		return i, &SyntaxError{i, "a key must be a string"}
	}
	i, err := skipString(b, i)
	if err != nil {
		return i, err
	}
	i = skipSpace(b, i)
	if i >= len(b) || b[i] != ':' {
		return i, &SyntaxError{i, "a colon is missing behind a key"}
	}
	return i + 1, nil
}

func skipScalar(b []byte, i int) (int, error) {
	if i >= len(b) {
		return i, &SyntaxError{i, "the text ends early"}
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case 't':
		return skipWord(b, i, "true")
	case 'f':
		return skipWord(b, i, "false")
	case 'n':
		return skipWord(b, i, "null")
	}
	return skipNumber(b, i)
}

func skipWord(b []byte, i int, word string) (int, error) {
	if len(b)-i < len(word) || string(b[i:i+len(word)]) != word {
		return i, &SyntaxError{i, "an unknown word"}
	}
	return i + len(word), nil
}

// skipNumber follows the number grammar of RFC 8259 section 6.
func skipNumber(b []byte, i int) (int, error) {
	start := i
	if i < len(b) && b[i] == '-' {
		i++
	}
	digits := skipDigits(b, i)
	if digits == i || (b[i] == '0' && digits > i+1) {
		return start, &SyntaxError{start, "neither a value nor a number"}
	}
	i = digits
	if i < len(b) && b[i] == '.' {
		if digits = skipDigits(b, i+1); digits == i+1 {
			return i, &SyntaxError{i, "digits are missing behind a decimal point"}
		}
		i = digits
	}
	if i < len(b) && (b[i] == 'e' || b[i] == 'E') {
		return skipExponent(b, i+1)
	}
	return i, nil
}

func skipExponent(b []byte, i int) (int, error) {
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		i++
	}
	end := skipDigits(b, i)
	if end == i {
		return i, &SyntaxError{i, "digits are missing in an exponent"}
	}
	return end, nil
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && b[i] >= '0' && b[i] <= '9' {
		i++
	}
	return i
}

// skipString goes over the string that starts at the quote b[i].
func skipString(b []byte, i int) (int, error) {
	start := i
	i++
	for {
		i += plainRun(b[i:])
		if i >= len(b) {
			return i, &SyntaxError{start, "a string without an end"}
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1, nil
		case c == '\\':
			n := escapeLen(b[i:])
			if n == 0 {
				return i, &SyntaxError{i, "an unknown escape in a string"}
			}
			i += n
		default:
			return i, &SyntaxError{i, "a control character in a string"}
		}
	}
}

const (
	low7  = 0x0101010101010101
	high1 = 0x8080808080808080
)

// plainRun counts the leading bytes of a string's inside that need no look:
// neither a quote, nor a backslash, nor a control character. It takes eight bytes
// at a time, since long texts are where a scan spends its time.
func plainRun(b []byte) int {
	i := 0
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		quote := w ^ (low7 * '"')
		slash := w ^ (low7 * '\\')
		hit := (quote-low7)&^quote | (slash-low7)&^slash | (w-low7*0x20)&^w
		if hit &= high1; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
		i++
	}
	return i
}

// escapeLen is the length of the escape that starts at the backslash b[0], or 0 where it is none.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) < 6 {
			return 0
		}
		for _, c := range b[2:6] {
			if !isHex(c) {
				return 0
			}
		}
		return 6
	}
	return 0
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}
