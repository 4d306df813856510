package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"strconv"
)

// span is where one member of an object stands.
type span struct{ key, keyEnd, value, end int }

// spans yields where the members of obj stand, in order.
func spans(obj []byte) iter.Seq[span] {
	return func(yield func(span) bool) {
		i := skipSpace(obj, 0)
		if i >= len(obj) || obj[i] != '{' {
			return
		}
		for i = skipSpace(obj, i+1); i < len(obj) && obj[i] == '"'; i = skipSpace(obj, i+1) {
			keyEnd, err := skipString(obj, i)
			if err != nil {
				return
			}
			value := skipSpace(obj, skipSpace(obj, keyEnd)+1)
			end, err := skipValue(obj, value)
			if err != nil || !yield(span{i, keyEnd, value, end}) {
				return
			}
			if i = skipSpace(obj, end); i >= len(obj) || obj[i] != ',' {
				return
			}
		}
	}
}

// Members yields the members of obj in order: the decoded key and the raw value.
// obj must be a valid JSON object, as a part of a scanned message is; of anything
// else it yields nothing.
func Members(obj []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		for s := range spans(obj) {
			if !yield(unquoteKey(obj[s.key:s.keyEnd]), obj[s.value:s.end]) {
				return
			}
		}
	}
}

// unquoteKey decodes a quoted key; only one with escapes is copied.
func unquoteKey(quoted []byte) []byte {
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 {
		return inside
	}
	return []byte(String(quoted))
}

// Elements yields the raw elements of the valid JSON array arr in order; of anything else nothing.
func Elements(arr []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		i := skipSpace(arr, 0)
		if i >= len(arr) || arr[i] != '[' {
			return
		}
		for i = skipSpace(arr, i+1); i < len(arr) && arr[i] != ']'; i = skipSpace(arr, i+1) {
			end, err := skipValue(arr, i)
			if err != nil || !yield(arr[i:end]) {
				return
			}
			if i = skipSpace(arr, end); i >= len(arr) || arr[i] != ',' {
				return
			}
		}
	}
}

// Get returns the raw value of the first member of obj called key, or nil.
func Get(obj []byte, key string) []byte {
	for k, v := range Members(obj) {
		if string(k) == key {
			return v
		}
	}
	return nil
}

// Path follows keys through nested objects, or returns nil where one is missing.
func Path(obj []byte, keys ...string) []byte {
	for _, k := range keys {
		if obj = Get(obj, k); obj == nil {
			return nil
		}
	}
	return obj
}

// maxFields is how many members [Fields] finds at once.
const maxFields = 5

// Fields finds several members of obj in one pass and returns their raw values in the order of keys,
// nil for a missing one. A member that stands twice is an error: two parsers could disagree on which
// one counts, and so would the hub's rules and the upstream that the message goes to.
func Fields(obj []byte, keys ...string) (values [maxFields][]byte, err error) {
	for k, v := range Members(obj) {
		for i := range keys {
			if string(k) != keys[i] {
				continue
			}
			if values[i] != nil {
				return values, fmt.Errorf("member %q stands twice", keys[i])
			}
			values[i] = v
		}
	}
	return values, nil
}

// Edit is one change of [Splice]: the member Key gets Value, or goes where Value is nil.
type Edit struct {
	Key   string
	Value []byte
}

// Splice copies obj with the edits made and every other byte kept, space included. A member that is
// not there is put behind the others; obj may be empty or null and then is a new object.
func Splice(obj []byte, edits ...Edit) []byte {
	if !IsObject(obj) {
		obj = []byte("{}")
	}
	size := len(obj)
	for i := range edits {
		size += len(edits[i].Key) + len(edits[i].Value) + 4
	}
	out := make([]byte, 0, size)
	var done uint64      // a bit per edit already made
	copied, kept := 0, 0 // how far obj has been copied; where the last member that stays ends
	for m := range spans(obj) {
		i := editOf(edits, unquoteKey(obj[m.key:m.keyEnd]))
		switch {
		case i < 0:
			kept = m.end
		case done&(1<<i) != 0 || edits[i].Value == nil: // gone, with the comma before or behind it
			done |= 1 << i
			out, copied = cutMember(out, obj, m, copied, kept)
		default:
			done |= 1 << i
			out = append(append(out, obj[copied:m.value]...), edits[i].Value...)
			copied, kept = m.end, m.end
		}
	}
	end := bytes.LastIndexByte(obj, '}')
	last := max(kept, copied)
	if kept == 0 {
		last = max(bytes.IndexByte(obj, '{')+1, copied)
	}
	out = append(out, obj[min(copied, last):last]...)
	for i := range edits {
		if done&(1<<i) == 0 && edits[i].Value != nil {
			out = appendMember(out, edits[i], kept > 0)
			kept = 1
		}
	}
	return append(out, obj[last:end+1]...)
}

// cutMember leaves a member out. Where another one stands before it, what lies between goes too;
// else what follows up to the next member's key.
func cutMember(out, obj []byte, m span, copied, kept int) ([]byte, int) {
	if kept > 0 {
		return append(out, obj[copied:max(copied, kept)]...), m.end
	}
	out = append(out, obj[copied:max(copied, m.key)]...)
	next := skipSpace(obj, m.end)
	if next < len(obj) && obj[next] == ',' {
		next = skipSpace(obj, next+1)
	}
	return out, next
}

func editOf(edits []Edit, key []byte) int {
	for i := range edits {
		if edits[i].Key == string(key) {
			return i
		}
	}
	return -1
}

func appendMember(out []byte, e Edit, behind bool) []byte {
	if behind {
		out = append(out, ',')
	}
	out = appendQuoted(out, e.Key)
	out = append(out, ':')
	return append(out, e.Value...)
}

// appendQuoted writes s as a JSON string. Text that needs no escape is copied; the rest
// goes through encoding/json without its HTML escapes.
func appendQuoted[T ~string | ~[]byte](out []byte, s T) []byte {
	if plainRun([]byte(s)) == len(s) {
		out = append(out, '"')
		out = append(out, s...)
		return append(out, '"')
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(string(s)) // a string always encodes
	return append(out, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}

// Quote writes s as a JSON string.
func Quote(s string) []byte { return appendQuoted(make([]byte, 0, len(s)+2), s) }

// String decodes a raw JSON string; anything else is "".
func String(raw []byte) string {
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if inside := raw[1 : len(raw)-1]; bytes.IndexByte(inside, '\\') < 0 {
		return string(inside)
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// IsString says whether raw is a JSON string, IsObject whether it is an object.
func IsString(raw []byte) bool { return len(raw) > 1 && raw[0] == '"' }

// IsObject says whether raw is a JSON object.
func IsObject(raw []byte) bool { return len(raw) > 1 && raw[0] == '{' }

// IsNull says whether raw is absent or the word null.
func IsNull(raw []byte) bool { return len(raw) == 0 || string(raw) == "null" }

// Int decodes a raw JSON integer, also one written as a string ("7") or with a zero
// fraction (7.0), since upstreams answer with ids of another type than they were sent.
func Int(raw []byte) (int64, bool) {
	if IsString(raw) {
		raw = raw[1 : len(raw)-1]
	}
	if i := bytes.IndexByte(raw, '.'); i > 0 && len(bytes.Trim(raw[i+1:], "0")) == 0 {
		raw = raw[:i]
	}
	if len(raw) == 0 || len(raw) > 19 {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// OneLine returns b without line breaks, for transports that end a message with one. In
// valid JSON a raw line break is only ever space between tokens, so nothing is lost.
func OneLine(b []byte) []byte {
	if bytes.IndexByte(b, '\n') < 0 && bytes.IndexByte(b, '\r') < 0 {
		return b
	}
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b)
}
