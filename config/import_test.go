package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"mcphub/config"
)

// TestPreview shows what each file of a project would run, before anybody trusts it.
func TestPreview(t *testing.T) {
	t.Setenv("PREVIEWED", "secret")
	samples := filepath.Join("testdata", "imports", "project")
	files := config.Trustable(samples)
	for _, name := range projectFiles {
		path := filepath.Join(samples, name)
		if !slices.Contains(files, path) {
			t.Errorf("%s need not be trusted", name)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		servers, _ := config.Preview(path, data)
		if len(servers) == 0 {
			t.Errorf("%s runs nothing", name)
		}
		for _, s := range servers {
			if s.Untrusted == "" || s.Command == "" && s.URL == "" && s.Reason() == "" {
				t.Errorf("%s: %+v", name, s)
			}
		}
	}
	if servers, problems := config.Preview(filepath.Join(samples, ".mcp.json"), []byte(`{`)); servers != nil || len(problems) != 1 {
		t.Errorf("a broken file: %v, %v", servers, problems)
	}
	servers, _ := config.Preview(filepath.Join(samples, ".mcp.json"), []byte(`{"mcpServers": {"a": {"command": "${PREVIEWED}"}}}`))
	if len(servers) != 1 || servers[0].Command != "${PREVIEWED}" {
		t.Errorf("it was expanded: %+v", servers)
	}
}
