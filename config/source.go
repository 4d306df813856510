package config

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

const (
	maxFileBytes = 10 << 20 // a configuration larger than this is some other file
	maxDepth     = 100      // hujson recurses, and a Go stack that overflows cannot be recovered
)

// source is one file's text, for turning offsets into lines.
type source struct {
	name  string
	data  []byte
	lines []int // offset of each line's first byte
}

// unreadable is a file that cannot be read at all, with the place where reading ended; line 0 when there is none.
type unreadable struct {
	file         string
	line, column int
	message      string
}

func (u *unreadable) Error() string {
	if u.line == 0 {
		return fmt.Sprintf("reading %s: %s", u.file, u.message)
	}
	return fmt.Sprintf("reading %s: line %d, column %d: %s", u.file, u.line, u.column, u.message)
}

// newSource takes a file's text without its byte order mark.
func newSource(name string, data []byte) (*source, error) {
	if len(data) > maxFileBytes {
		return nil, &unreadable{file: name, message: fmt.Sprintf("it is larger than %d MiB; is it a configuration file?", maxFileBytes>>20)}
	}
	data = bytes.TrimPrefix(data, []byte(byteOrderMark))
	data = append(bytes.Clone(data), '\n') // a line comment may end the file
	src := &source{name: name, data: data, lines: []int{0}}
	for i, c := range data {
		if c == '\n' {
			src.lines = append(src.lines, i+1)
		}
	}
	return src, nil
}

const byteOrderMark = "\ufeff"

// failure is an error at an offset.
func (s *source) failure(off int, format string, args ...any) error {
	line, column := s.position(off)
	return &unreadable{s.name, line, column, fmt.Sprintf(format, args...)}
}

// parseSource reads the text into a syntax tree. Its error names the file, the line and the column, and never quotes a
// literal, which may be a secret.
func parseSource(name string, data []byte) (*source, hujson.Value, error) {
	src, err := newSource(name, data)
	if err != nil {
		return nil, hujson.Value{}, err
	}
	if off := tooDeep(src.data); off >= 0 {
		return nil, hujson.Value{}, src.failure(off, "nested deeper than %d levels", maxDepth)
	}
	root, err := hujson.Parse(src.data)
	if err != nil {
		return nil, hujson.Value{}, src.parseError(err)
	}
	return src, root, nil
}

// parseError words hujson's error without the literal it may quote.
func (s *source) parseError(err error) error {
	u := &unreadable{file: s.name}
	place, rest, ok := strings.Cut(strings.TrimPrefix(err.Error(), "hujson: "), ": ")
	if n, _ := fmt.Sscanf(place, "line %d, column %d", &u.line, &u.column); !ok || n != 2 {
		rest = "no valid JSON"
	}
	if cause := errors.Unwrap(err); cause != nil && strings.HasPrefix(cause.Error(), "invalid literal") {
		rest = "a value that is no valid string, number, true, false or null"
	}
	u.message = rest + "; expected JSON (comments and trailing commas are fine)"
	return u
}

// tooDeep returns the offset of the first bracket beyond maxDepth, or -1. It knows strings and comments, no grammar.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			i = endOfString(data, i)
		case '/':
			i = endOfComment(data, i)
		}
	}
	return -1
}

func endOfString(data []byte, i int) int {
	for i++; i < len(data) && data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

func endOfComment(data []byte, i int) int {
	end := ""
	switch {
	case bytes.HasPrefix(data[i:], []byte("//")):
		end = "\n"
	case bytes.HasPrefix(data[i:], []byte("/*")):
		end = "*/"
	default:
		return i
	}
	n := bytes.Index(data[i+2:], []byte(end))
	if n < 0 {
		return len(data)
	}
	return i + 2 + n + len(end) - 1
}

// position returns line and column of an offset, both from 1, the column in bytes as compilers count.
func (s *source) position(off int) (line, column int) {
	line = sort.SearchInts(s.lines, off+1)
	return line, off - s.lines[line-1] + 1
}

// place is where something stands in a file.
type place struct {
	src    *source
	off    int
	path   string
	server string
}

// problem words a problem at this place.
func (p place) problem(severity Severity, format string, args ...any) Problem {
	line, column := p.src.position(p.off)
	return Problem{
		File: p.src.name, Line: line, Column: column,
		Path: p.path, Server: p.server,
		Severity: severity, Message: fmt.Sprintf(format, args...),
	}
}

// member is the place of a value inside the object at p.
func (p place) member(name string, off int) place {
	p.off = off
	switch {
	case !plainKey(name):
		p.path += "[" + strconv.Quote(name) + "]"
	case p.path == "":
		p.path = name
	default:
		p.path += "." + name
	}
	return p
}

// element is the place of a value inside the array at p.
func (p place) element(i, off int) place {
	p.off = off
	p.path += "[" + strconv.Itoa(i) + "]"
	return p
}

// plainKey reports whether a key needs no quotes in a path.
func plainKey(s string) bool {
	for _, r := range s {
		if r != '_' && r != '-' && r != '$' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') {
			return false
		}
	}
	return s != ""
}
