package housetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// source is one parsed Go file of this module.
type source struct {
	path   string // below the module's root, with slashes
	set    *token.FileSet
	file   *ast.File
	length int // lines
}

// dir is the folder of the file, "." for the root.
func (s *source) dir() string { return filepath.ToSlash(filepath.Dir(s.path)) }

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

// room is the top folder of the file, or two levels for cmd and internal, which hold one room each.
func (s *source) room() string {
	parts := strings.Split(s.dir(), "/")
	if len(parts) > 1 && (parts[0] == "cmd" || parts[0] == "internal") {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func (s *source) line(pos token.Pos) int { return s.set.Position(pos).Line }

const root = "../.."

// tree parses every Go file of the module.
func tree(t *testing.T) []*source {
	t.Helper()
	var sources []*source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		source, err := parse(filepath.ToSlash(below), string(text))
		sources = append(sources, source)
		return err
	})
	if err != nil {
		t.Fatalf("reading the module's files: %v", err)
	}
	return sources
}

func parse(path, text string) (*source, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	return &source{path: path, set: set, file: file, length: strings.Count(text, "\n")}, nil
}
