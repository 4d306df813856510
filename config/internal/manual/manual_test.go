package manual_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"mcphub/config"
	"mcphub/config/internal/manual"
)

// TestGeneratedFilesAreFresh fails when a struct of package config changed and go generate was not run.
func TestGeneratedFilesAreFresh(t *testing.T) {
	files, err := manual.Files("../..", "../../..")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 {
		t.Fatalf("%d files", len(files))
	}
	for path, want := range files {
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale; run: go generate ./config", path)
		}
	}
}

// TestEveryFieldIsInTheManual compares the generated text, which comes from the source, with the compiled structs.
func TestEveryFieldIsInTheManual(t *testing.T) {
	m, err := manual.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	tables := m.Tables()
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Description string
				Default     any
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(config.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var visit func(reflect.Type)
	visit = func(typ reflect.Type) {
		for typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			tag := typ.Field(i).Tag
			name := tag.Get("json")
			if name == "-" || !typ.Field(i).IsExported() {
				continue
			}
			p := schema.Defs[typ.Name()].Properties[name]
			if p.Description == "" || strings.HasSuffix(p.Description, notYetOnly) {
				t.Errorf("the schema says nothing about %s.%s", typ.Name(), name)
			}
			if (p.Default != nil) != (tag.Get("default") != "") {
				t.Errorf("%s.%s: default %v in the schema", typ.Name(), name, p.Default)
			}
			if !strings.Contains(tables, "\n| `"+name+"` | ") {
				t.Errorf("the tables lack %s.%s", typ.Name(), name)
			}
			visit(typ.Field(i).Type)
		}
	}
	visit(reflect.TypeFor[config.Server]())
	visit(reflect.TypeFor[config.Settings]())
	if len(seen) < 15 {
		t.Errorf("only %d structs were visited", len(seen))
	}
}

const notYetOnly = "(not supported yet) "

// TestRows pins how fields come out that have every kind of tag.
func TestRows(t *testing.T) {
	m, err := manual.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	tables := m.Tables()
	for _, want := range []string{
		"| `url` | string |  | Endpoint of an HTTP server: http or https, with a host. `${VAR}` expands. Also called `serverUrl`. Also called `httpUrl`. |",
		"| `enabled` | true or false | `true` | Whether the server is used. A disabled one is listed and never started. `disabled` is the opposite. |",
		"| `idleTimeoutMin` | number | `10` | Minutes",
		"| `maxConcurrent` | number | `0` | (not supported yet) ",
		"| `toolSeparator` | `_` \\| `__` | `_` |",
		"| `arguments` | any by name |  |",
		"| `directTools` | true or list of strings |  | (not supported yet) ",
		"#### `settings.policy.rules[]` (not supported yet)\n",
		"#### `mcpServers.NAME.tools.NAME`\n",
		"Not supported yet: `search`, `proxy`. |",
	} {
		if !strings.Contains(tables, want) {
			t.Errorf("the tables lack %s", want)
		}
	}
}

func TestErrorsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := manual.Files(dir, dir); err == nil || !strings.Contains(err.Error(), dir+" has no structs Settings and Server") {
		t.Errorf("no source: %v", err)
	}
	if _, err := manual.Files("../..", dir); err == nil || !strings.Contains(err.Error(), "README.md: no such file") {
		t.Errorf("no README: %v", err)
	}
	readme := filepath.Join(dir, "README.md")
	if err := manual.Write(map[string][]byte{readme: []byte("# x\n")}); err != nil {
		t.Fatal(err)
	}
	if _, err := manual.Files("../..", dir); err == nil || !strings.Contains(err.Error(), readme+" lacks the lines") {
		t.Errorf("no marks: %v", err)
	}
	if err := manual.Write(map[string][]byte{readme: []byte("before<!-- fields:begin -->old<!-- fields:end -->after")}); err != nil {
		t.Fatal(err)
	}
	files, err := manual.Files("../..", dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(files[readme]); !strings.HasPrefix(got, "before<!-- fields:begin -->\n\n####") || !strings.HasSuffix(got, "|\n\n<!-- fields:end -->after") || strings.Contains(got, "old<") {
		t.Errorf("README: %.80s … %.80s", got, got[len(got)-60:])
	}
}
