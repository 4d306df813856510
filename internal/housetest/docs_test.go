package housetest

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// Methods that every reader knows from the standard library's interfaces.
var wellKnown = []string{"Error", "String", "Unwrap"}

// Every exported name says what it is. A group of constants or variables may share one comment.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, source := range tree(t) {
		if source.isTest() {
			continue
		}
		for _, name := range undocumented(source) {
			t.Errorf("%s:%d: %s has no comment", source.path, source.line(name.Pos()), name.Name)
		}
	}
}

func undocumented(s *source) []*ast.Ident {
	var names []*ast.Ident
	for _, declaration := range s.file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			known := d.Recv != nil && (slices.Contains(wellKnown, d.Name.Name) || !ast.IsExported(receiver(d)))
			if d.Doc == nil && d.Name.IsExported() && !known {
				names = append(names, d.Name)
			}
		case *ast.GenDecl:
			if d.Doc == nil || d.Tok == token.TYPE && len(d.Specs) > 1 {
				for _, spec := range d.Specs {
					names = append(names, undocumentedSpec(spec)...)
				}
			}
		}
	}
	return names
}

func undocumentedSpec(spec ast.Spec) []*ast.Ident {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
			return []*ast.Ident{s.Name}
		}
	case *ast.ValueSpec:
		if s.Doc == nil && s.Comment == nil {
			return slices.DeleteFunc(slices.Clone(s.Names), func(name *ast.Ident) bool { return !name.IsExported() })
		}
	}
	return nil
}

func TestUndocumented(t *testing.T) {
	s, err := parse("p/p.go", `package p

// Documented is.
func Documented() {}

func Bare() {}

func (t hidden) Bare() {}

func (F) Error() string { return "" }

// Shared.
const (
	A = 1
	B = 2
)

var C, d = 1, 2

var E = 1 // is E

type F struct{}
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, name := range undocumented(s) {
		got = append(got, name.Name)
	}
	if want := []string{"Bare", "C", "F"}; !slices.Equal(got, want) {
		t.Errorf("undocumented %q, want %q", got, want)
	}
}
