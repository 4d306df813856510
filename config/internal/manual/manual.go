// Package manual makes the schema and the tables of fields from the doc comments and tags of package config's structs.
package manual

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Manual is what the source of package config says about the file.
type Manual struct {
	structs map[string][]field  // by Go name
	types   map[string]ast.Expr // the other named types
}

// field is one field of a struct that is in the file.
type field struct {
	name    string
	doc     string
	typ     ast.Expr
	tag     reflect.StructTag
	enum    []string
	pending []string
}

// notYet stands in front of what is parsed and refused.
const notYet = "(not supported yet)"

// Read takes the manual from the Go files of a directory.
func Read(dir string) (*Manual, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	m := &Manual{structs: map[string][]field{}, types: map[string]ast.Expr{}}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading the manual: %w", err)
		}
		ast.Inspect(file, m.visit)
	}
	if m.structs["Settings"] == nil || m.structs["Server"] == nil {
		return nil, fmt.Errorf("reading the manual: %s has no structs Settings and Server", dir)
	}
	return m, nil
}

func (m *Manual) visit(n ast.Node) bool {
	spec, ok := n.(*ast.TypeSpec)
	if !ok {
		return true
	}
	st, ok := spec.Type.(*ast.StructType)
	if !ok {
		m.types[spec.Name.Name] = spec.Type
		return false
	}
	for _, f := range st.Fields.List {
		if f.Tag == nil {
			continue
		}
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		if name := tag.Get("json"); name != "" && name != "-" {
			m.structs[spec.Name.Name] = append(m.structs[spec.Name.Name], field{
				name: name, tag: tag, typ: f.Type,
				doc:     strings.Join(strings.Fields(f.Doc.Text()), " "),
				enum:    split(tag.Get("enum")),
				pending: split(tag.Get("pending")),
			})
		}
	}
	return false
}

// allPending reports whether nothing but the default is supported.
func (f *field) allPending() bool { return len(f.pending) == 1 && f.pending[0] == "*" }

func split(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// describe is the field's text, with what its tags add.
func (f *field) describe() string {
	text := f.doc
	if f.tag.Get("expand") != "" {
		text += " `${VAR}` expands."
	}
	for _, alias := range split(f.tag.Get("alias")) {
		if opposite, ok := strings.CutPrefix(alias, "!"); ok {
			text += fmt.Sprintf(" `%s` is the opposite.", opposite)
		} else {
			text += fmt.Sprintf(" Also called `%s`.", alias)
		}
	}
	for _, pair := range split(f.tag.Get("same")) {
		written, meant, _ := strings.Cut(pair, "=")
		text += fmt.Sprintf(" `%s` is `%s`.", written, meant)
	}
	switch {
	case f.allPending():
		text = notYet + " " + text
	case len(f.pending) > 0:
		text += fmt.Sprintf(" Not supported yet: `%s`.", strings.Join(f.pending, "`, `"))
	}
	return text
}

// resolve follows named types of the package down to what the file holds.
func (m *Manual) resolve(typ ast.Expr) ast.Expr {
	if id, ok := typ.(*ast.Ident); ok {
		if under, ok := m.types[id.Name]; ok {
			return m.resolve(under)
		}
	}
	return typ
}

// structOf returns the name of the struct that a field's values, or their elements, are; "" when they are none.
func (m *Manual) structOf(typ ast.Expr) string {
	switch t := m.resolve(typ).(type) {
	case *ast.Ident:
		if m.structs[t.Name] != nil {
			return t.Name
		}
	case *ast.ArrayType:
		return m.structOf(t.Elt)
	case *ast.MapType:
		return m.structOf(t.Value)
	}
	return ""
}

// The places in README.md between which the tables stand.
const (
	beginMark = "<!-- fields:begin -->"
	endMark   = "<!-- fields:end -->"
)

// Files returns what each generated file has to hold, by path, from the source in configDir. root holds README.md.
func Files(configDir, root string) (map[string][]byte, error) {
	m, err := Read(configDir)
	if err != nil {
		return nil, err
	}
	schema, err := m.Schema()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, "README.md")
	readme, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the manual: %w", err)
	}
	before, rest, ok := bytes.Cut(readme, []byte(beginMark))
	_, after, ok2 := bytes.Cut(rest, []byte(endMark))
	if !ok || !ok2 {
		return nil, fmt.Errorf("reading the manual: %s lacks the lines %s and %s, between which the tables go", path, beginMark, endMark)
	}
	readme = fmt.Appendf(nil, "%s%s\n%s%s%s", before, beginMark, m.Tables(), endMark, after)
	return map[string][]byte{
		filepath.Join(configDir, "schema.json"):   schema,
		filepath.Join(root, "config.schema.json"): schema,
		path: readme,
	}, nil
}

// Write writes the files.
func Write(files map[string][]byte) error {
	for path, data := range files {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fmt.Errorf("writing the manual: %w", err)
		}
	}
	return nil
}
