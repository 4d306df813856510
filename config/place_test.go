package config_test

import (
	"os"
	"testing"

	"mcphub/config"
)

// TestPlace finds fields again by the names that they have in the manual, however they were written.
func TestPlace(t *testing.T) {
	c, err := config.Parse("file.json", []byte(`{"servers": {
	"a": {"command": "x",
		"disabled": false,
		"excludeTools": ["one",
			"two*"],
		"tools": {"t.1": {
			"enabled": false}}}}}`), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	s := c.Servers[0]
	for key, want := range map[string]config.Place{
		"":                  {File: "file.json", Line: 2, Path: "servers.a"},
		"includeTools":      {File: "file.json", Line: 2, Path: "servers.a"},
		"enabled":           {File: "file.json", Line: 3, Path: "servers.a.disabled"},
		s.Excludes("two_b"): {File: "file.json", Line: 5, Path: "servers.a.excludeTools[1]"},
		s.Excludes("t.1"):   {File: "file.json", Line: 7, Path: `servers.a.tools["t.1"].enabled`},
	} {
		if got := s.Place(key); got != want {
			t.Errorf("%q is at %+v, want %+v", key, got, want)
		}
	}
	if key := s.Excludes("three"); key != "" || !s.Includes("three") {
		t.Errorf("three is kept out by %q", key)
	}
	s.IncludeTools = config.Globs{"one", "t*"}
	if key := s.Excludes("three") + s.Excludes("no") + s.Excludes("one"); key != "includeToolsexcludeTools[0]" {
		t.Errorf("kept out by %q", key)
	}
}

func TestNearest(t *testing.T) {
	known := []string{"mcp_up_echo", "mcp_up_environment"}
	for word, want := range map[string]string{"mcp_up_ehco": "mcp_up_echo", "MCP_UP_ECHO": "mcp_up_echo", "x": "", "something_else": ""} {
		if got := config.Nearest(word, known); got != want {
			t.Errorf("near %s is %q, want %q", word, got, want)
		}
	}
}
