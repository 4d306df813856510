package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/config"
)

var update = flag.Bool("update", false, "rewrite testdata/*.want from what is reported now")

// testEnv is the environment of every test here.
var testEnv = map[string]string{
	"HOME":      "/home/me",
	"DB_URL":    "postgres://db.example/x",
	"API_KEY":   "key-from-env",
	"EMPTY":     "",
	"TWO_LINES": "one\ntwo",
}

func lookup(name string) (string, bool) {
	v, ok := testEnv[name]
	return v, ok
}

// TestProblems compares what is said about each file of testdata. Nothing is said about good-*.json, no server of theirs
// fails, and nothing ever repeats a secret (all of which hold the word hunter2).
func TestProblems(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("testdata: %d files, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := config.Parse(filepath.Base(file), data, lookup)
			if err != nil {
				t.Fatal(err)
			}
			got := report(c)
			if strings.Contains(got, "hunter2") {
				t.Errorf("a secret is repeated:\n%s", got)
			}
			if strings.HasPrefix(filepath.Base(file), "good-") {
				if got != "" {
					t.Errorf("problems with a good file:\n%s", got)
				}
				return
			}
			compare(t, strings.TrimSuffix(file, ".json")+".want", got)
		})
	}
}

// report is one line for each problem, and one for each server that cannot run.
func report(c *config.Config) string {
	var b strings.Builder
	for _, p := range c.Problems {
		b.WriteString(p.String() + "\n")
	}
	for _, s := range c.Servers {
		if len(s.Failed) > 0 {
			b.WriteString("failed: " + s.Name + "\n")
		}
	}
	return b.String()
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (rewrite it with -update); got:\n%s", path, got)
	}
}
