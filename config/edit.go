package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/tailscale/hujson"

	"mcphub/internal/atomicfile"
)

// The errors of edits that find something else than they need.
var (
	ErrNoServer = errors.New("no server of that name is in the file")
	ErrIsThere  = errors.New("a server of that name is in the file already")
)

// SetServer writes an entry, a JSON object, into the file at path, which is made where there is none. replace lets it take the
// place of one of its name, else that is ErrIsThere. Whatever else is in the file stays as it is, byte for byte, here and in
// the edits below; an edit that would leave the entry with an error changes nothing.
func SetServer(path, name string, entry []byte, replace bool) error {
	return edit(path, name, func(e *editor) error {
		servers, err := e.servers(true)
		if err != nil {
			return err
		}
		if m := memberOf(servers, name); m != nil {
			if !replace {
				return ErrIsThere
			}
			return e.setValue(m, entry)
		}
		return e.insert(servers, name, entry)
	})
}

// RemoveServer takes an entry out of the file at path, or returns ErrNoServer.
func RemoveServer(path, name string) error {
	return edit(path, name, func(e *editor) error {
		servers, err := e.servers(false)
		if err != nil {
			return err
		}
		return e.remove(servers, name)
	})
}

// SetEnabled switches a server on or off by whichever of enabled and disabled its entry has, or returns ErrNoServer.
func SetEnabled(path, name string, on bool) error {
	return edit(path, name, func(e *editor) error {
		servers, err := e.servers(false)
		if err != nil {
			return err
		}
		m := memberOf(servers, name)
		if m == nil {
			return ErrNoServer
		}
		if _, ok := m.Value.Value.(*hujson.Object); !ok {
			return fmt.Errorf("the entry must be an object, and is %s", kindName(m.Value))
		}
		if disabled := memberOf(&m.Value, "disabled"); disabled != nil {
			return e.setValue(disabled, truth(!on))
		}
		if enabled := memberOf(&m.Value, "enabled"); enabled != nil {
			return e.setValue(enabled, truth(on))
		}
		if on {
			return nil
		}
		return e.insert(&m.Value, "enabled", truth(false))
	})
}

func truth(b bool) []byte { return fmt.Append(nil, b) }

// editor edits a file's text by the places of its tree.
type editor struct {
	text []byte
	root hujson.Value
}

// edit changes what a file says of one server, checks that, and writes it.
func edit(path, name string, change func(*editor) error) error {
	if !serverName.MatchString(name) {
		return fmt.Errorf("%q is no name for a server: it starts with a letter or digit and has up to 64 letters, digits, '_', '.' and '-'", name)
	}
	text, err := readFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{\n  \"mcpServers\": {\n  }\n}\n")
	}
	_, root, err := parseSource(path, text)
	if err != nil {
		return err
	}
	if bytes.HasPrefix(text, []byte("\ufeff")) {
		return fmt.Errorf("%s begins with a byte order mark: save it without one first", path)
	}
	e := &editor{text: bytes.Clone(text), root: root}
	if err := change(e); err != nil {
		return err
	}
	if bytes.Equal(e.text, text) && err == nil {
		return nil
	}
	if err := soundEntry(path, name, e.text); err != nil {
		return err
	}
	return atomicfile.Write(path, e.text)
}

// soundEntry says what is wrong with a server's entry. Whether its variables are set is for the hub to say.
func soundEntry(path, name string, text []byte) error {
	cfg, err := Parse(path, text, func(string) (string, bool) { return "set", true })
	if err != nil {
		return err
	}
	var errs []error
	if s := cfg.Server(name); s != nil {
		for _, p := range s.Failed {
			errs = append(errs, fmt.Errorf("%s: %s", p.Path, p.Message))
		}
	}
	return errors.Join(errs...)
}

// servers is the object of servers, made where there is none and create says so.
func (e *editor) servers(create bool) (*hujson.Value, error) {
	if _, ok := e.root.Value.(*hujson.Object); !ok {
		return nil, fmt.Errorf(`the file must be an object, like {"mcpServers": {…}}, and is %s`, kindName(e.root))
	}
	for _, key := range []string{"mcpServers", "servers"} {
		if m := memberOf(&e.root, key); m != nil {
			if _, ok := m.Value.Value.(*hujson.Object); !ok {
				return nil, fmt.Errorf("%s must be an object of servers by name, and is %s", key, kindName(m.Value))
			}
			return &m.Value, nil
		}
	}
	if !create {
		return nil, ErrNoServer
	}
	if err := e.insert(&e.root, "mcpServers", []byte("{\n}")); err != nil {
		return nil, err
	}
	var err error
	if e.root, err = hujson.Parse(e.text); err != nil {
		return nil, err
	}
	return &memberOf(&e.root, "mcpServers").Value, nil
}

// memberOf is a member of an object, nil where it has none of that name.
func memberOf(v *hujson.Value, name string) *hujson.ObjectMember {
	obj, ok := v.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	for i := range obj.Members {
		if obj.Members[i].Name.Value.(hujson.Literal).String() == name {
			return &obj.Members[i]
		}
	}
	return nil
}

// trailingComma says whether a comma stands behind the last member; the tree has it that way.
func trailingComma(obj *hujson.Object) bool {
	n := len(obj.Members)
	return n > 0 && obj.Members[n-1].Value.AfterExtra != nil
}

func (e *editor) splice(from, to int, with string) {
	e.text = append(append(append([]byte{}, e.text[:from]...), with...), e.text[to:]...)
}

// setValue gives a member another value.
func (e *editor) setValue(m *hujson.ObjectMember, value []byte) error {
	indent := e.indentAt(m.Name.StartOffset)
	text, err := indented(value, indent, "  ")
	if err == nil {
		e.splice(m.Value.StartOffset, m.Value.EndOffset, text)
	}
	return err
}

// insert adds a member at the end of an object, on a line of its own where the others have theirs.
func (e *editor) insert(v *hujson.Value, name string, value []byte) error {
	obj := v.Value.(*hujson.Object)
	end := v.EndOffset - 1 // of the closing brace
	closing := e.indentAt(end)
	line := end - len(closing) // where the brace's line begins, if nothing stands before it
	ownLine := line > 0 && e.text[line-1] == '\n' && line > v.StartOffset
	indent := closing + "  "
	last := len(obj.Members) - 1
	if last >= 0 {
		if first := e.indentAt(obj.Members[0].Name.StartOffset); first != "" && ownLine {
			indent = first
		}
	}
	key, _ := json.Marshal(name) // a string always encodes
	text, err := indented(value, indent, strings.TrimPrefix(indent, closing))
	if err != nil {
		return err
	}
	member := string(key) + ": " + text
	trailing := trailingComma(obj)
	switch {
	case !ownLine && last < 0:
		e.splice(end, end, "\n"+indent+member+"\n"+closing)
	case !ownLine:
		at := obj.Members[last].Value.EndOffset
		e.splice(at, at, ", "+member)
	case trailing:
		e.splice(line, line, indent+member+",\n")
	default:
		e.splice(line, line, indent+member+"\n")
		if last >= 0 {
			at := obj.Members[last].Value.EndOffset
			e.splice(at, at, ",")
		}
	}
	return nil
}

// remove takes a member out, with its line where it has one of its own. Comments stay.
func (e *editor) remove(v *hujson.Value, name string) error {
	obj := v.Value.(*hujson.Object)
	m := memberOf(v, name)
	if m == nil {
		return ErrNoServer
	}
	last := m == &obj.Members[len(obj.Members)-1]
	from, to := m.Name.StartOffset, m.Value.EndOffset
	if comma := to + len(m.Value.AfterExtra); !last || trailingComma(obj) {
		if comma == to { // else a comment stands between
			to++
		} else {
			e.splice(comma, comma+1, "")
		}
	}
	if indent := e.indentAt(from); from-len(indent) > 0 && e.text[from-len(indent)-1] == '\n' {
		rest := bytes.IndexFunc(e.text[to:], func(r rune) bool { return r != ' ' && r != '\t' && r != '\r' })
		if rest >= 0 && e.text[to+rest] == '\n' {
			from, to = from-len(indent), to+rest+1
		}
	} else if rest := bytes.TrimLeft(e.text[to:], " "); len(rest) < len(e.text[to:]) {
		to = len(e.text) - len(rest)
	}
	e.splice(from, to, "")
	if n := len(obj.Members); last && n > 1 && !trailingComma(obj) { // what was the comma before it would be a trailing one
		before := obj.Members[n-2].Value
		comma := before.EndOffset + len(before.AfterExtra)
		e.splice(comma, comma+1, "")
	}
	return nil
}

// indentAt is the white space between the beginning of a line and an offset in it, "" where other text stands between.
func (e *editor) indentAt(offset int) string {
	line := bytes.LastIndexByte(e.text[:offset], '\n') + 1
	if before := string(e.text[line:offset]); strings.Trim(before, " \t") == "" {
		return before
	}
	return ""
}

// indented lays a JSON value out behind an indent, with unit for each level below.
func indented(value []byte, indent, unit string) (string, error) {
	if bytes.Equal(value, []byte("{\n}")) {
		return "{\n" + indent + "}", nil
	}
	var out bytes.Buffer
	if unit == "" {
		unit = "  "
	}
	if err := json.Indent(&out, bytes.TrimSpace(value), indent, unit); err != nil {
		return "", fmt.Errorf("the entry is no JSON: %w", err)
	}
	return out.String(), nil
}
