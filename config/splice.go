package config

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// splice puts text in place of the bytes from…to of a document.
type splice struct {
	from, to int
	with     string
}

// apply returns the document with the splices, which do not overlap.
func apply(text []byte, splices []splice) []byte {
	slices.SortStableFunc(splices, func(a, b splice) int { return a.from - b.from })
	var out []byte
	done := 0
	for _, s := range splices {
		out = append(append(out, text[done:s.from]...), s.with...)
		done = s.to
	}
	return append(out, text[done:]...)
}

// replaceValue puts a value in place of a member's, on one line if that was.
func (d *document) replaceValue(m hujson.ObjectMember, value hujson.Value) []splice {
	p := d.printer()
	text := p.lines(value, d.indent(m.Name.StartOffset))
	if d.onOneLine(m.Value) {
		text = p.shortest(value, text)
	}
	return []splice{{m.Value.StartOffset, m.Value.EndOffset, text}}
}

// insert adds a member at the end of an object, after its comments, in the style of the members it has.
func (d *document) insert(val hujson.Value, name string, value hujson.Value) []splice {
	obj := val.Value.(*hujson.Object)
	p := d.printer()
	key := p.line(hujson.Value{Value: hujson.String(name)}) + ": "
	brace := val.EndOffset - 1
	end := brace - len(obj.AfterExtra)
	at := end + len(bytes.TrimRight(obj.AfterExtra, " \t\r\n"))
	comma, oneLine := "", false
	var splices []splice
	if n := len(obj.Members); n > 0 {
		last := obj.Members[n-1].Value
		if last.AfterExtra != nil {
			comma = ","
		} else {
			splices = append(splices, splice{last.EndOffset, last.EndOffset, ","})
		}
		if bytes.IndexByte(d.text[val.StartOffset:val.EndOffset], '\n') < 0 {
			return append(splices, splice{at, at, " " + key + p.line(value) + comma})
		}
		oneLine = val.StartOffset != d.root.StartOffset && d.onOneLine(last)
	}
	outer := d.indent(val.StartOffset)
	inner := d.indentOfMembers(obj, outer+p.unit)
	text := p.lines(value, inner)
	if oneLine {
		text = p.shortest(value, text)
	}
	text = p.newline + inner + key + text + comma
	if bytes.IndexByte(d.text[at:brace], '\n') < 0 {
		text += p.newline + outer
	}
	return append(splices, splice{at, at, text})
}

// onOneLine reports whether an object that has members is written on one line.
func (d *document) onOneLine(val hujson.Value) bool {
	text := d.text[val.StartOffset:val.EndOffset]
	return text[0] == '{' && len(text) > len("{}") && bytes.IndexByte(text, '\n') < 0
}

// cut takes the i-th member out of an object, with the comma that it needs no more.
func (d *document) cut(val hujson.Value, i int) []splice {
	members := val.Value.(*hujson.Object).Members
	from, to := members[i].Name.StartOffset, members[i].Value.EndOffset
	var splices []splice
	if after := members[i].Value.AfterExtra; after != nil || i < len(members)-1 {
		to += len(after) + len(",")
	} else if i > 0 {
		comma := members[i-1].Value.EndOffset + len(members[i-1].Value.AfterExtra)
		if between := d.text[comma+1 : from]; blank(between) && bytes.IndexByte(between, '\n') < 0 {
			return []splice{{comma, to, ""}}
		}
		splices = append(splices, splice{comma, comma + len(","), ""})
	}
	from, to = d.wholeLines(from, to)
	return append(splices, splice{from, to, ""})
}

// wholeLines widens a range to the lines it is on if nothing but a comment is there with it, else by the space after it.
func (d *document) wholeLines(from, to int) (int, int) {
	start := bytes.LastIndexByte(d.text[:from], '\n') + 1
	rest := d.text[to:]
	end := bytes.IndexByte(rest, '\n') + 1
	if blank(d.text[start:from]) && end > 0 && blankOrComment(rest[:end]) {
		return start, to + end
	}
	return from, to + len(rest) - len(bytes.TrimLeft(rest, " \t"))
}

func blank(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }

// blankOrComment reports whether the rest of a line holds no more than comments that end on it.
func blankOrComment(line []byte) bool {
	for {
		line = bytes.TrimSpace(line)
		if len(line) == 0 || bytes.HasPrefix(line, []byte("//")) {
			return true
		}
		inside, ok := bytes.CutPrefix(line, []byte("/*"))
		_, rest, closed := bytes.Cut(inside, []byte("*/"))
		if !ok || !closed {
			return false
		}
		line = rest
	}
}

// indent is the white space that the line of an offset starts with.
func (d *document) indent(off int) string {
	line := d.text[bytes.LastIndexByte(d.text[:off], '\n')+1:]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// indentOfMembers is the indentation of the last member that has a line to itself.
func (d *document) indentOfMembers(obj *hujson.Object, otherwise string) string {
	for _, m := range slices.Backward(obj.Members) {
		off := m.Name.StartOffset
		start := bytes.LastIndexByte(d.text[:off], '\n') + 1
		if start > 0 && blank(d.text[start:off]) {
			return string(d.text[start:off])
		}
	}
	return otherwise
}

// maxLine is the length up to which an entry is kept on one line like its neighbours.
const maxLine = 120

// printer writes values in a document's style.
type printer struct{ newline, unit string }

func (d *document) printer() printer {
	p := printer{newline: "\n", unit: d.indentOfMembers(d.root.Value.(*hujson.Object), "  ")}
	if bytes.Contains(d.text, []byte("\r\n")) {
		p.newline = "\r\n"
	}
	return p
}

// shortest is one line if that is short, else the lines.
func (p printer) shortest(value hujson.Value, lines string) string {
	if line := p.line(value); len(line) <= maxLine {
		return line
	}
	return lines
}

// line writes a value on one line, without its comments.
func (p printer) line(value hujson.Value) string {
	open, items, end := p.items(value, p.line)
	if items == nil {
		return open + end
	}
	return open + strings.Join(items, ", ") + end
}

// lines writes objects over several lines and lists of plain values on one.
func (p printer) lines(value hujson.Value, indent string) string {
	inner := indent + p.unit
	open, items, end := p.items(value, func(v hujson.Value) string { return p.lines(v, inner) })
	if items == nil || open == "[" && !strings.Contains(strings.Join(items, ""), "\n") {
		return p.line(value)
	}
	return open + p.newline + inner + strings.Join(items, ","+p.newline+inner) + p.newline + indent + end
}

// items writes what an object or a list holds. A plain value holds nothing.
func (p printer) items(value hujson.Value, write func(hujson.Value) string) (open string, items []string, end string) {
	switch v := value.Value.(type) {
	case *hujson.Object:
		for _, m := range v.Members {
			items = append(items, string(m.Name.Value.(hujson.Literal))+": "+write(m.Value))
		}
		return "{", items, "}"
	case *hujson.Array:
		for _, e := range v.Elements {
			items = append(items, write(e))
		}
		return "[", items, "]"
	}
	return string(value.Value.(hujson.Literal)), nil, ""
}
