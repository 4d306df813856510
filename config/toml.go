package config

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
	"github.com/tailscale/hujson"
)

// parseTOML reads TOML into the tree that the decoder takes, each value with the place of its key.
func parseTOML(name string, data []byte) (*source, hujson.Value, error) {
	src, err := newSource(name, data)
	if err != nil {
		return nil, hujson.Value{}, err
	}
	if off := tomlTooDeep(src.data); off >= 0 {
		return nil, hujson.Value{}, src.failure(off, "nested deeper than %d levels", maxDepth)
	}
	var table map[string]any
	if err := toml.Unmarshal(src.data, &table); err != nil {
		u := &unreadable{file: name, message: "no valid TOML"}
		var failure *toml.DecodeError
		if errors.As(err, &failure) {
			u.line, u.column = failure.Position()
		}
		return nil, hujson.Value{}, u
	}
	t := tomlTree{tomlPlaces(src.data)}
	return src, t.value(table, "", 0), nil
}

// tomlTooDeep returns the offset of what is nested deeper than maxDepth, by brackets or by dots in a key, or -1: the
// library recurses.
func tomlTooDeep(data []byte) int {
	depth, dots := 0, 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '[', '{':
			depth, dots = depth+1, 0
		case ']', '}':
			depth, dots = depth-1, 0
		case '\n', '=', ',':
			dots = 0
		case '.':
			dots++
		case '#':
			if n := bytes.IndexByte(data[i:], '\n'); n >= 0 {
				i += n - 1
			}
		case '"', '\'':
			i = endOfTOMLString(data, i)
		}
		if depth > maxDepth || dots > maxDepth {
			return i
		}
	}
	return -1
}

// endOfTOMLString returns the offset of a string's last quote.
func endOfTOMLString(data []byte, i int) int {
	quote := data[i : i+1]
	if triple := bytes.Repeat(quote, 3); bytes.HasPrefix(data[i:], triple) {
		quote = triple
	}
	for j := i + len(quote); j < len(data); j++ {
		switch {
		case data[j] == '\\' && quote[0] == '"':
			j++
		case bytes.HasPrefix(data[j:], quote):
			return j + len(quote) - 1
		}
	}
	return len(data)
}

// tomlPath joins keys, which may hold any other character.
func tomlPath(above, key string) string { return above + "\x00" + key }

// tomlPlaces finds where each key stands, by its path.
func tomlPlaces(data []byte) map[string]int {
	places := map[string]int{}
	var p unstable.Parser
	p.Reset(data)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = tomlKeys(places, "", e.Key())
		case unstable.KeyValue:
			tomlKeyValue(places, table, e)
		}
	}
	return places
}

func tomlKeyValue(places map[string]int, table string, e *unstable.Node) {
	path := tomlKeys(places, table, e.Key())
	if value := e.Value(); value.Kind == unstable.InlineTable {
		for it := value.Children(); it.Next(); {
			if child := it.Node(); child.Kind == unstable.KeyValue {
				tomlKeyValue(places, path, child)
			}
		}
	}
}

// tomlKeys notes the places of a dotted key's parts and returns its path.
func tomlKeys(places map[string]int, path string, keys unstable.Iterator) string {
	for keys.Next() {
		key := keys.Node()
		path = tomlPath(path, string(key.Data))
		if _, known := places[path]; !known {
			places[path] = int(key.Raw.Offset)
		}
	}
	return path
}

// tomlTree turns what the library decoded into our tree.
type tomlTree struct{ places map[string]int }

func (t tomlTree) value(v any, path string, off int) hujson.Value {
	out := hujson.Value{StartOffset: off}
	switch v := v.(type) {
	case map[string]any:
		object := &hujson.Object{}
		for _, key := range sortedKeys(v) {
			below := tomlPath(path, key)
			here, ok := t.places[below]
			if !ok {
				here = off
			}
			name := hujson.Value{StartOffset: here, Value: hujson.String(key)}
			object.Members = append(object.Members, hujson.ObjectMember{Name: name, Value: t.value(v[key], below, here)})
		}
		slices.SortStableFunc(object.Members, func(a, b hujson.ObjectMember) int { return cmp.Compare(a.Name.StartOffset, b.Name.StartOffset) })
		out.Value = object
	case []any:
		array := &hujson.Array{}
		for _, e := range v {
			array.Elements = append(array.Elements, t.value(e, path, off))
		}
		out.Value = array
	default:
		out.Value = scalar(v)
	}
	return out
}

// scalar is a value that is neither list nor object. Dates become strings, which no field takes for another.
func scalar(v any) hujson.Literal {
	switch v := v.(type) {
	case bool:
		return hujson.Bool(v)
	case int64:
		return hujson.Int(v)
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return hujson.Float(v)
		}
	case string:
		return hujson.String(strings.ToValidUTF8(v, "\ufffd"))
	}
	return hujson.String("")
}
