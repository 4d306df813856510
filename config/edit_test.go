package config_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/tools/txtar"

	"mcphub/config"
)

// edit does "set NAME ENTRY", "replace NAME ENTRY", "remove NAME", "enable NAME" or "disable NAME".
func edit(path, operation string) error {
	verb, rest, _ := strings.Cut(operation, " ")
	name, entry, _ := strings.Cut(rest, " ")
	switch verb {
	case "set", "replace":
		return config.SetServer(path, name, []byte(entry), verb == "replace")
	case "remove":
		return config.RemoveServer(path, name)
	}
	return config.SetEnabled(path, name, verb == "enable")
}

// TestEdit compares what each operation makes of each file of testdata/edit.
func TestEdit(t *testing.T) {
	files, err := filepath.Glob("testdata/edit/*.txtar")
	if err != nil || len(files) < 8 {
		t.Fatalf("testdata/edit: %d files, %v", len(files), err)
	}
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, section := range archive.Files[1:] {
			t.Run(filepath.Base(file)+"/"+section.Name, func(t *testing.T) {
				path := fileOf(t, archive.Files[0].Data)
				if err := edit(path, section.Name); err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				archive.Files[i+1].Data = got
				if !*update && strings.TrimSuffix(string(got), "\n") != strings.TrimSuffix(string(section.Data), "\n") {
					t.Errorf("got (rewrite it with -update):\n%s", got)
				}
			})
		}
		if *update {
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func fileOf(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What came with an editor of another system stays: the mark at the start and the ends of lines.
func TestEditKeepsLineEnds(t *testing.T) {
	path := fileOf(t, []byte("\ufeff{\r\n  \"mcpServers\": {\r\n    \"a\": {\"command\": \"x\"}\r\n  }\r\n}"))
	for _, operation := range []string{`set b {"command": "y", "env": {"A": "1"}}`, "remove a", "disable b"} {
		if err := edit(path, operation); err != nil {
			t.Fatal(err)
		}
	}
	want := "\ufeff{\r\n  \"mcpServers\": {\r\n    \"b\": {\"command\": \"y\", \"env\": {\"A\": \"1\"}, \"enabled\": false}\r\n  }\r\n}"
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A file that is made is its owner's alone.
func TestEditMakesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.json")
	if err := config.SetServer(path, "a", []byte(`{"url": "https://a.example"}`), false); err != nil {
		t.Fatal(err)
	}
	want := "{\n  \"mcpServers\": {\n    \"a\": {\n      \"url\": \"https://a.example\"\n    }\n  }\n}\n"
	if got, _ := os.ReadFile(path); string(got) != want {
		t.Errorf("got\n%s", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// Edits at the same time do not undo each other.
func TestEditsAtOnce(t *testing.T) {
	path := fileOf(t, []byte("{}"))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := edit(path, fmt.Sprintf(`set s%d {"command": "x"}`, i)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if names, err := config.ServerNames(path); err != nil || len(names) != 20 {
		t.Errorf("%v, %v", names, err)
	}
}

// Each refusal says why, in words that hold the next step, and changes nothing.
func TestEditRefuses(t *testing.T) {
	const text = `{"mcpServers": {"a": {"command": "x"}, "b": 1, "b": {"command": "y"}, "c": [], "d": {"commando": "x"}}}`
	for _, c := range []struct {
		operation, says string
		is              error
	}{
		{`set a {"command": "x"}`, "--replace", config.ErrServerExists},
		{`set b {"command": "x"}`, "twice", nil},
		{`set n {"comand": "x"}`, `did you mean "command"`, nil},
		{`set n {"command": "x", "type": "http"}`, "url", nil},
		{`set n {`, "reading the entry", nil},
		{`set n 7`, "must be an object", nil},
		{`set n! {"command": "x"}`, "a server's name", nil},
		{`replace a {"url": "ftp://x"}`, "http://", nil},
		{"remove n", "no \"n\"", config.ErrNoServer},
		{"remove b", "twice", nil},
		{"enable aa", `did you mean "a"`, config.ErrNoServer},
		{"disable c", "must be an object", nil},
	} {
		path := fileOf(t, []byte(text))
		err := edit(path, c.operation)
		if err == nil || !strings.Contains(err.Error(), c.says) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v; want it to say %q", c.operation, err, c.says)
		}
		if got, _ := os.ReadFile(path); string(got) != text {
			t.Errorf("%s: the file holds %s", c.operation, got)
		}
	}
	for _, text := range []string{"{", "[]", `{"mcpServers": 3}`} {
		if err := edit(fileOf(t, []byte(text)), `set a {"command": "x"}`); err == nil || !strings.Contains(err.Error(), "reading ") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := edit(filepath.Join(t.TempDir(), "none"), "remove a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// What was wrong before is no reason to refuse, nor is a variable that only the hub may have.
func TestEditOverlooks(t *testing.T) {
	path := fileOf(t, []byte(`{"settings": {"nonsense": 1}, "mcpServers": {"bad": {"comand": "x"}, "ok": {"command": "x"}}}`))
	for _, operation := range []string{"disable ok", "disable bad", `set more {"command": "x", "env": {"A": "${NOT_SET_ANYWHERE}"}}`, "remove bad"} {
		if err := edit(path, operation); err != nil {
			t.Errorf("%s: %v", operation, err)
		}
	}
	if names, err := config.ServerNames(path); err != nil || strings.Join(names, " ") != "ok more" {
		t.Errorf("%v, %v", names, err)
	}
}

// FuzzEdit: whatever a file looks like, an edit takes nothing away but what it is about, and what it made can be edited.
func FuzzEdit(f *testing.F) {
	files, _ := filepath.Glob("testdata/edit/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Add([]byte(`{"mcpServers":{"a":{},/*x*/},"a":[1,{}],}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := fileOf(t, text)
		was, err := config.Parse(path, text, lookup)
		if err != nil {
			return
		}
		if err := edit(path, `set fuzz {"command": "x"}`); err != nil {
			return
		}
		after, _ := os.ReadFile(path)
		if !bytes.Contains(text, []byte("null")) && !subsequence(text, after) {
			t.Errorf("set took something away: %q became %q", text, after)
		}
		is, err := config.Parse(path, after, lookup)
		if err != nil || is.Server("fuzz") == nil || len(is.Servers) != len(was.Servers)+1 {
			t.Fatalf("%q became %q: %v", text, after, err)
		}
		if err := edit(path, "disable fuzz"); err != nil {
			t.Fatalf("%q: %v", after, err)
		}
		left := len(is.Servers)
		names, _ := config.ServerNames(path)
		for i := range names {
			before, _ := os.ReadFile(path)
			if edit(path, "remove "+names[len(names)-1-i]) != nil {
				continue // there twice, or its removal shows an error that it hid
			}
			left--
			after, _ := os.ReadFile(path)
			is, err := config.Parse(path, after, lookup)
			if err != nil || len(is.Servers) != left || !subsequence(after, before) {
				t.Fatalf("%q became %q: %v", before, after, err)
			}
		}
		if now, _ := config.ServerNames(path); slices.Contains(now, "fuzz") {
			t.Errorf("%q became %q, which was not removed", text, after)
		}
	})
}

// subsequence reports whether all bytes of a are in b, in that order.
func subsequence(a, b []byte) bool {
	for _, c := range a {
		i := bytes.IndexByte(b, c)
		if i < 0 {
			return false
		}
		b = b[i+1:]
	}
	return true
}
