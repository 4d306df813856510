package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/config"
)

const entryText = `{"command":"npx","args":["-y","x"]}`

// edits are files before and after an edit; "" is no file.
var edits = []struct{ name, do, before, after string }{
	{"no file", "set b", "", "{\n  \"mcpServers\": {\n    \"b\": {\n      \"command\": \"npx\",\n      \"args\": [\n        \"-y\",\n        \"x\"\n      ]\n    }\n  }\n}\n"},
	{"behind others, with comments", "off b",
		"// top\n{\n\t\"mcpServers\": {\n\t\t/* a's */ \"a\": {\"command\": \"x\"}, // a\n\t\t// b's\n\t\t\"b\": {\n\t\t\t\"command\": \"y\" // y\n\t\t} // end\n\t}\n}",
		"// top\n{\n\t\"mcpServers\": {\n\t\t/* a's */ \"a\": {\"command\": \"x\"}, // a\n\t\t// b's\n\t\t\"b\": {\n\t\t\t\"command\": \"y\", // y\n\t\t\t\"enabled\": false\n\t\t} // end\n\t}\n}"},
	{"a trailing comma", "set b", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}, // last\n}}", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}, // last\n  \"b\": {\n    \"command\": \"npx\",\n    \"args\": [\n      \"-y\",\n      \"x\"\n    ]\n  },\n}}"},
	{"one line", "off a", `{"mcpServers": {"a": {"command": "x"}}}`, `{"mcpServers": {"a": {"command": "x", "enabled": false}}}`},
	{"the key of VS Code", "remove a", `{"servers": {"a": {"command": "x"}, "b": {"command": "y"}}}`, `{"servers": {"b": {"command": "y"}}}`},
	{"the last of two", "remove b", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"},\n  \"b\": {\"command\": \"y\"}\n}}", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}\n}}"},
	{"the only one", "remove a", "{\"mcpServers\": {\n  // all\n  \"a\": {\"command\": \"x\"},\n}}", "{\"mcpServers\": {\n  // all\n}}"},
	{"one in the middle", "remove b", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}, // a\n\n  // b\n  \"b\": {\"command\": \"y\"},\n  \"c\": {\"command\": \"z\"}\n}}", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}, // a\n\n  // b\n  \"c\": {\"command\": \"z\"}\n}}"},
	{"enabled", "off a", `{"mcpServers": {"a": {"enabled": true /* yes */, "command": "x"}}}`, `{"mcpServers": {"a": {"enabled": false /* yes */, "command": "x"}}}`},
	{"disabled", "on a", `{"mcpServers": {"a": {"disabled": true, "command": "x"}}}`, `{"mcpServers": {"a": {"disabled": false, "command": "x"}}}`},
	{"on already", "on a", `{"mcpServers": {"a": {"command": "x"}}}`, `{"mcpServers": {"a": {"command": "x"}}}`},
	{"without servers", "set b", "{\n  \"settings\": {}\n}\n", "{\n  \"settings\": {},\n  \"mcpServers\": {\n    \"b\": {\n      \"command\": \"npx\",\n      \"args\": [\n        \"-y\",\n        \"x\"\n      ]\n    }\n  }\n}\n"},
	{"replaced", "replace a", "{\"mcpServers\": {\n  \"a\": {\"command\": \"x\"}, // a\n}}", "{\"mcpServers\": {\n  \"a\": {\n    \"command\": \"npx\",\n    \"args\": [\n      \"-y\",\n      \"x\"\n    ]\n  }, // a\n}}"},
}

func doEdit(path, what string) error {
	verb, name, _ := strings.Cut(what, " ")
	switch verb {
	case "remove":
		return config.RemoveServer(path, name)
	case "on", "off":
		return config.SetEnabled(path, name, verb == "on")
	}
	return config.SetServer(path, name, []byte(entryText), verb == "replace")
}

func TestEdits(t *testing.T) {
	for _, c := range edits {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "new", "config.json")
			if c.before != "" {
				put(t, path, c.before)
			}
			if err := doEdit(path, c.do); err != nil {
				t.Fatal(err)
			}
			if got, err := os.ReadFile(path); string(got) != c.after {
				t.Errorf("got\n%s\nwant\n%s\n%v", got, c.after, err)
			}
		})
	}
}

// TestRefusedEdits leave the file as it is and say why.
func TestRefusedEdits(t *testing.T) {
	const file = `{"mcpServers": {"a": {"command": "x"}, "odd": 1}, /* kept */ }`
	for name, c := range map[string]struct {
		do   func(path string) error
		is   error
		says string
	}{
		"there already":      {func(p string) error { return config.SetServer(p, "a", []byte(entryText), false) }, config.ErrIsThere, ""},
		"not there":          {func(p string) error { return config.RemoveServer(p, "b") }, config.ErrNoServer, ""},
		"not to switch":      {func(p string) error { return config.SetEnabled(p, "b", true) }, config.ErrNoServer, ""},
		"no object":          {func(p string) error { return config.SetEnabled(p, "odd", true) }, nil, "must be an object"},
		"no name":            {func(p string) error { return config.SetServer(p, "a b", []byte(entryText), false) }, nil, "is no name"},
		"an unknown key":     {func(p string) error { return config.SetServer(p, "b", []byte(`{"comand":"x"}`), false) }, nil, `"command"`},
		"no JSON":            {func(p string) error { return config.SetServer(p, "b", []byte(`{`), false) }, nil, "no JSON"},
		"neither of the two": {func(p string) error { return config.SetServer(p, "b", []byte(`{}`), false) }, nil, "needs a"},
	} {
		path := filepath.Join(t.TempDir(), "config.json")
		put(t, path, file)
		err := c.do(path)
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v", name, err)
		}
		if got, _ := os.ReadFile(path); string(got) != file {
			t.Errorf("%s: the file became %s", name, got)
		}
	}
	path := filepath.Join(t.TempDir(), "config.json")
	put(t, path, `{"mcpServers": `)
	if err := config.RemoveServer(path, "a"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken file: %v", err)
	}
}

// FuzzEdit adds and removes a server and wants the file to mean what it did, and its comments kept.
func FuzzEdit(f *testing.F) {
	for _, c := range edits {
		f.Add(c.before)
	}
	f.Add(`{"mcpServers":{}}`)
	f.Add("{\"mcpServers\":{\n}}")
	f.Add("{\"mcpServers\": {\"a\": {\"command\": \"x\"} /* c */, // d\n}}")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "config.json")
		put(t, path, text)
		before, err := config.Parse("f", []byte(text), os.LookupEnv)
		if err != nil || before.Server("added") != nil {
			return
		}
		if config.SetServer(path, "added", []byte(entryText), false) != nil {
			return
		}
		added, err := config.Load([]string{path}, os.LookupEnv)
		if err != nil || added.Server("added") == nil || len(added.Servers) != len(before.Servers)+1 {
			got, _ := os.ReadFile(path)
			t.Fatalf("%v, after adding:\n%s", err, got)
		}
		if err := errors.Join(config.SetEnabled(path, "added", false), config.RemoveServer(path, "added")); err != nil {
			t.Fatal(err)
		}
		removed, err := config.Load([]string{path}, os.LookupEnv)
		got, _ := os.ReadFile(path)
		if err != nil || len(removed.Servers) != len(before.Servers) || len(removed.Problems) != len(before.Problems) {
			t.Fatalf("%v, after removing:\n%s", err, got)
		}
		if strings.Count(string(got), "//")+strings.Count(string(got), "/*") < strings.Count(text, "//")+strings.Count(text, "/*") {
			t.Fatalf("comments are lost:\n%s", got)
		}
	})
}
