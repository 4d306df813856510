package testmcp

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Script is a server that sends what it is told to. All values are raw JSON and
// go out byte for byte; over stdio they must not hold line breaks.
type Script struct {
	// Tools are the items of tools/list.
	Tools [][]byte `json:"tools"`
	// Results answer tools/call, by tool name.
	Results map[string][]byte `json:"results,omitempty"`
	// Errors are JSON-RPC errors that answer tools/call, by tool name. A tool in
	// neither map answers with its name and its raw arguments.
	Errors map[string][]byte `json:"errors,omitempty"`
}

// Name is the part of a server's name that makes it serve the script, for
// [HTTP], [SSE], [Command] and [LoggedCommand].
func (s Script) Name(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "script.json")
	raw, err := json.Marshal(s) // []byte becomes base64, so no byte is touched
	if err != nil {
		t.Fatalf("encoding the script: %v", err)
	}
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return "script:" + file
}

func buildScript(file string) hooks {
	raw, err := os.ReadFile(file)
	if err != nil {
		panic("testmcp: reading the script: " + err.Error())
	}
	var s Script
	if err := json.Unmarshal(raw, &s); err != nil {
		panic("testmcp: reading the script: " + err.Error())
	}
	list := append(append([]byte(`{"tools":[`), bytes.Join(s.Tools, []byte(","))...), "]}"...)
	return hooks{take: func(x *exchange) ([][]byte, bool) {
		switch x.msg.Method {
		case methodToolsList:
			if x.modern {
				return [][]byte{resultTo(x.msg.ID, complete(methodToolsList, list))}, true
			}
			return [][]byte{resultTo(x.msg.ID, list)}, true
		case methodToolsCall:
			return [][]byte{s.call(x.msg)}, true
		}
		return nil, false
	}}
}

func (s Script) call(m message) []byte {
	name := text(m.member("name"))
	if result, ok := s.Results[name]; ok {
		return resultTo(m.ID, result)
	}
	if problem, ok := s.Errors[name]; ok {
		return rawErrorTo(m.ID, problem)
	}
	return resultTo(m.ID, dataResult(fmt.Sprintf(`{"name":%s,"arguments":%s}`, m.member("name"), orEmpty(string(m.member("arguments"))))))
}

//go:embed testdata/catalogs/*.json
var catalogs embed.FS

//go:embed testdata/shapes.txtar
var shapes []byte

// Catalogs lists the names that [Catalog] takes.
func Catalogs(t testing.TB) []string {
	t.Helper()
	files, err := catalogs.ReadDir("testdata/catalogs")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range files {
		all = append(all, strings.TrimSuffix(f.Name(), ".json"))
	}
	return all
}

// Catalog is a script with the tools of a real server; testdata/catalogs/INDEX.md
// names their sources and licences.
func Catalog(t testing.TB, name string) Script {
	t.Helper()
	raw, err := catalogs.ReadFile("testdata/catalogs/" + name + ".json")
	if err != nil {
		t.Fatalf("reading a catalog: %v; Catalogs lists the names", err)
	}
	var list struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatalf("reading the catalog %s: %v", name, err)
	}
	var s Script
	for _, item := range list.Tools {
		s.Tools = append(s.Tools, item)
	}
	return s
}

// Shape is an odd but real form of a tool, a result or an error.
type Shape struct {
	Name  string
	Kind  string // "tool", "result" or "error"
	Bytes []byte
}

// Shapes are the forms in testdata/shapes.txtar.
func Shapes() []Shape {
	var all []Shape
	for _, f := range txtar.Parse(shapes).Files {
		kind, name, _ := strings.Cut(f.Name, "/")
		all = append(all, Shape{Name: name, Kind: kind, Bytes: bytes.TrimRight(f.Data, "\n")})
	}
	return all
}
