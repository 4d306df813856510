package housetest

import (
	"go/ast"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A test waits for what it waits for, never for a time, and it runs: what it needs, it installs.
func TestTestsNeitherSleepNorSkip(t *testing.T) {
	for _, source := range tree(t) {
		if !source.isTest() {
			continue
		}
		for _, call := range selectors(source) {
			if bad := call.name == "time.Sleep" || strings.HasPrefix(call.name, "t.Skip") || strings.HasPrefix(call.name, "b.Skip"); bad {
				t.Errorf("%s:%d: %s in a test", source.path, call.line, call.name)
			}
		}
	}
}

type selector struct {
	name string // like time.Sleep
	line int
}

func selectors(s *source) []selector {
	var all []selector
	ast.Inspect(s.file, func(node ast.Node) bool {
		if x, ok := node.(*ast.SelectorExpr); ok {
			if base, ok := x.X.(*ast.Ident); ok {
				all = append(all, selector{base.Name + "." + x.Sel.Name, s.line(x.Pos())})
			}
		}
		return true
	})
	return all
}

var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)

// What is left to do stands in an issue, not in the code.
func TestNothingIsLeftOpen(t *testing.T) {
	for _, source := range tree(t) {
		for _, group := range source.file.Comments {
			if word := unfinished.FindString(group.Text()); word != "" {
				t.Errorf("%s:%d: %s", source.path, source.line(group.Pos()), word)
			}
		}
	}
}

func TestHabits(t *testing.T) {
	s, err := parse("p/p_test.go", "package p\n\nfunc f() {\n\ttime.Sleep(1)\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := selectors(s), []selector{{"time.Sleep", 4}}; !slices.Equal(got, want) {
		t.Errorf("selectors %+v, want %+v", got, want)
	}
	if !unfinished.MatchString("TO"+"DO: later") || unfinished.MatchString("what to do") {
		t.Error("the words for unfinished work are not recognised")
	}
}
