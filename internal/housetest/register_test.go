package housetest

import (
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// ARCHITECTURE.md keeps the register of what runs side by side: under this heading, a table whose columns where and
// what name the file and "goroutine" or "mutex" first, then whatever helps the reader. One row for each.
const registerHeading = "## Goroutines and mutexes"

// entry is one file that starts goroutines, or that has mutexes.
type entry struct{ where, what string }

// A goroutine or mutex that nobody wrote down has no owner, and one that was written down and is gone misleads.
func TestRegister(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "ARCHITECTURE.md"))
	if err != nil {
		t.Fatalf("reading the register: %v", err)
	}
	registered := register(string(text))
	if len(registered) == 0 {
		t.Fatalf("ARCHITECTURE.md has no table with the columns where and what under %q", registerHeading)
	}
	found := map[entry]bool{}
	for _, source := range tree(t) {
		if _, product := rooms[source.room()]; product && !source.isTest() {
			maps.Copy(found, concurrency(source))
		}
	}
	for e := range found {
		if !registered[e] {
			t.Errorf("%s has a %s, which the register in ARCHITECTURE.md does not list", e.where, e.what)
		}
	}
	for e := range registered {
		if !found[e] {
			t.Errorf("the register in ARCHITECTURE.md lists a %s in %s, which has none", e.what, e.where)
		}
	}
}

// register reads the table.
func register(text string) map[entry]bool {
	_, after, _ := strings.Cut(text, "\n"+registerHeading+"\n")
	section, _, _ := strings.Cut(after, "\n## ")
	entries := map[entry]bool{}
	where, what := -1, -1
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "`", "")
		}
		switch {
		case where < 0:
			where, what = slices.Index(cells, "where"), slices.Index(cells, "what")
		case where < len(cells) && what < len(cells) && what >= 0:
			for _, kind := range []string{"goroutine", "mutex"} {
				if strings.HasPrefix(cells[what], kind) {
					entries[entry{cells[where], kind}] = true
				}
			}
		}
	}
	return entries
}

// concurrency finds goroutines started (by a go statement, or by the Go method of a group that waits for them) and
// mutexes declared.
func concurrency(s *source) map[entry]bool {
	found := map[entry]bool{}
	ast.Inspect(s.file, func(node ast.Node) bool {
		switch x := node.(type) {
		case *ast.GoStmt:
			found[entry{s.path, "goroutine"}] = true
		case *ast.CallExpr:
			if f, ok := x.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" {
				found[entry{s.path, "goroutine"}] = true
			}
		case *ast.SelectorExpr:
			if base, ok := x.X.(*ast.Ident); ok && base.Name == "sync" && strings.HasSuffix(x.Sel.Name, "Mutex") {
				found[entry{s.path, "mutex"}] = true
			}
		}
		return true
	})
	return found
}

func TestConcurrency(t *testing.T) {
	s, err := parse("p/p.go", "package p\n\nvar mu sync.RWMutex\n\nfunc f() { wg.Go(f) }\n")
	if err != nil {
		t.Fatal(err)
	}
	want := map[entry]bool{{"p/p.go", "goroutine"}: true, {"p/p.go", "mutex"}: true}
	if got := concurrency(s); !maps.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
	table := "# x\n" + registerHeading + "\n\n| where | owner | what |\n|---|---|---|\n" +
		"| `p/p.go` | f | goroutine that waits |\n| `p/p.go` | f | mutex around x |\n\n## Next\n| q.go | | mutex |\n"
	if got := register(table); !maps.Equal(got, want) {
		t.Errorf("read %v, want %v", got, want)
	}
}
