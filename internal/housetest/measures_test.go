package housetest

import (
	"fmt"
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// most is the largest value of each measure.
var most = map[string]int{
	"file":      500, // lines of a file, tests included
	"lines":     80,  // lines of a function
	"branches":  15,  // cyclomatic complexity of a function
	"params":    5,   // parameters of a function
	"methods":   20,  // methods of a type
	"interface": 3,   // methods of an interface
}

// measured is one value of one measure.
type measured struct {
	measure, what string
	value         int
	path          string
	line          int
	allowed       bool // by a //house:allow line
}

func (m measured) String() string {
	return fmt.Sprintf("%s:%d: %s has %s %d, at most %d", m.path, m.line, m.what, m.measure, m.value, most[m.measure])
}

// No file, function, type or interface is over its measure, unless a comment says why.
func TestMeasures(t *testing.T) {
	var all []measured
	for _, source := range tree(t) {
		all = append(all, measure(source)...)
	}
	all = append(all, methods(tree(t))...)
	for _, m := range all {
		switch over := m.value > most[m.measure]; {
		case over && !m.allowed:
			t.Errorf("%v: make it smaller, or say why not by //house:allow %s <reason>", m, m.measure)
		case !over && m.allowed:
			t.Errorf("%s:%d: //house:allow %s lifts nothing here", m.path, m.line, m.measure)
		}
	}
	for _, name := range []string{"file", "lines", "branches", "params"} {
		t.Log(distribution(name, all))
	}
}

// distribution tells the median, the 95th percentile and the largest of a measure.
func distribution(name string, all []measured) string {
	var values []int
	for _, m := range all {
		if m.measure == name {
			values = append(values, m.value)
		}
	}
	slices.Sort(values)
	at := func(percent int) int { return values[(len(values)-1)*percent/100] }
	return fmt.Sprintf("%-8s of %d: median %d, p95 %d, largest %d", name, len(values), at(50), at(95), at(100))
}

// measure takes all measures of one file but the methods of its types. Of a test only the length counts.
func measure(s *source) []measured {
	all := []measured{{"file", "the file", s.length, s.path, 1, allows(headers(s.file), "file")}}
	if s.isTest() {
		return all
	}
	for _, declaration := range s.file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			all = append(all, function(s, d)...)
		case *ast.GenDecl:
			all = append(all, interfaces(s, d)...)
		}
	}
	return all
}

func function(s *source, f *ast.FuncDecl) []measured {
	value := func(name string, n int) measured {
		return measured{name, f.Name.Name, n, s.path, s.line(f.Pos()), allows([]*ast.CommentGroup{f.Doc}, name)}
	}
	return []measured{
		value("lines", s.line(f.End())-s.line(f.Type.Pos())+1),
		value("branches", branches(f)),
		value("params", f.Type.Params.NumFields()),
	}
}

// branches is the cyclomatic complexity: one more than the places where the way through the function parts.
func branches(f *ast.FuncDecl) int {
	n := 1
	ast.Inspect(f, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

func interfaces(s *source, d *ast.GenDecl) []measured {
	var all []measured
	for _, spec := range d.Specs {
		typ, ok := spec.(*ast.TypeSpec)
		if !ok {
			continue
		}
		if it, ok := typ.Type.(*ast.InterfaceType); ok {
			all = append(all, measured{"interface", typ.Name.Name, it.Methods.NumFields(), s.path, s.line(typ.Pos()),
				allows([]*ast.CommentGroup{d.Doc, typ.Doc}, "interface")})
		}
	}
	return all
}

// methods counts the methods of every type, which may stand in several files of its package. The type's doc may lift it.
func methods(sources []*source) []measured {
	types := map[string]*measured{}
	for _, s := range sources {
		for _, spec := range typeSpecs(s) {
			types[s.dir()+"."+spec.name] = &measured{"methods", spec.name, 0, s.path, s.line(spec.pos), allows(spec.docs, "methods")}
		}
	}
	for _, s := range sources {
		for _, declaration := range s.file.Decls {
			if f, ok := declaration.(*ast.FuncDecl); ok && f.Recv != nil && !s.isTest() {
				types[s.dir()+"."+receiver(f)].value++
			}
		}
	}
	var all []measured
	for _, m := range types {
		all = append(all, *m)
	}
	return all
}

type typeSpec struct {
	name string
	pos  token.Pos
	docs []*ast.CommentGroup
}

func typeSpecs(s *source) []typeSpec {
	var specs []typeSpec
	for _, declaration := range s.file.Decls {
		d, ok := declaration.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range d.Specs {
			if typ, ok := spec.(*ast.TypeSpec); ok {
				specs = append(specs, typeSpec{typ.Name.Name, typ.Pos(), []*ast.CommentGroup{d.Doc, typ.Doc}})
			}
		}
	}
	return specs
}

// receiver is the name of the type that the method belongs to.
func receiver(f *ast.FuncDecl) string {
	expr := f.Recv.List[0].Type
	for {
		switch x := expr.(type) {
		case *ast.StarExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.IndexListExpr:
			expr = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

var allow = regexp.MustCompile(`^//house:allow (\w+) \S+`)

// allows tells whether one of the comments lifts the measure, with a reason.
func allows(docs []*ast.CommentGroup, measure string) bool {
	for _, doc := range docs {
		if doc == nil {
			continue
		}
		for _, comment := range doc.List {
			if match := allow.FindStringSubmatch(comment.Text); match != nil && match[1] == measure {
				return true
			}
		}
	}
	return false
}

// headers are the comments above the package clause.
func headers(file *ast.File) []*ast.CommentGroup {
	var above []*ast.CommentGroup
	for _, group := range file.Comments {
		if group.Pos() < file.Package {
			above = append(above, group)
		}
	}
	return above
}

const sample = `//house:allow file generated tables are long

// Package p is measured.
package p

//house:allow methods one method for each of many messages
type T struct{}

type I interface { A(); B(); C(); D() }

//house:allow params
func (T) f(a, b int, c, d, e, f string) int {
	for range a {
		if a > 1 && b > 1 || c == d {
			switch { case a == 1: default: }
		}
	}
	select { case <-ch: default: }
	return 0
}
`

// The measures themselves, on a file of which all is known. An allow line without a reason lifts nothing.
func TestMeasure(t *testing.T) {
	s, err := parse("p/p.go", sample)
	if err != nil {
		t.Fatal(err)
	}
	want := []measured{
		{"file", "the file", strings.Count(sample, "\n"), "p/p.go", 1, true},
		{"interface", "I", 4, "p/p.go", 9, false},
		{"lines", "f", 9, "p/p.go", 12, false},
		{"branches", "f", 7, "p/p.go", 12, false},
		{"params", "f", 6, "p/p.go", 12, false},
	}
	if got := measure(s); !slices.Equal(got, want) {
		t.Errorf("measured\n%+v, want\n%+v", got, want)
	}
	if got := methods([]*source{s}); !slices.Contains(got, measured{"methods", "T", 1, "p/p.go", 7, true}) {
		t.Errorf("measured %+v, want 1 allowed method of T", got)
	}
}
