package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/tailscale/hujson"

	"mcphub/config"
)

func schema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(config.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func validate(t *testing.T, s *jsonschema.Resolved, text []byte) error {
	t.Helper()
	plain, err := hujson.Standardize(append(text, '\n'))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(plain, &v); err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

// TestSchemaAcceptsWhatLoads: an editor finds no fault with files and fields that the hub takes.
func TestSchemaAcceptsWhatLoads(t *testing.T) {
	s := schema(t)
	files, err := filepath.Glob("testdata/good-*.json")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range append(files, "../config.example.json") {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, s, data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	for _, r := range serverRows {
		if err := validate(t, s, []byte(`{"mcpServers": {"a": {`+r.json+`}}}`)); err != nil {
			t.Errorf("%s: %v", r.json, err)
		}
	}
	for _, r := range settingsRows {
		if err := validate(t, s, []byte(`{"settings": {`+r.json+`}}`)); err != nil {
			t.Errorf("%s: %v", r.json, err)
		}
	}
}

// TestSchemaRefusesWhatFails: an editor underlines what the decoder would refuse by its tags.
func TestSchemaRefusesWhatFails(t *testing.T) {
	s := schema(t)
	for _, text := range []string{
		`[]`, `{"mcpServer": {}}`, `{"mcpServers": []}`, `{"mcpServers": {"-a": {}}}`, `{"servers": {"a": {"comand": "x"}}}`,
		`{"settings": {"toolPrefix": "a:b"}}`, `{"settings": {"toolSeparator": "-"}}`, `{"settings": {"maxToolNameLength": 129}}`,
		`{"settings": {"limits": {"maxMessageBytes": 1}}}`, `{"settings": {"policy": {"rules": [{"decision": "perhaps"}]}}}`,
		`{"mcpServers": {"a": {"requestTimeoutMs": 0}}}`, `{"mcpServers": {"a": {"requestTimeoutMs": 1.5}}}`,
		`{"mcpServers": {"a": {"auth": true}}}`, `{"mcpServers": {"a": {"env": {"A": 1}}}}`, `{"mcpServers": {"a": {"tools": {"t": {"x": 1}}}}}`,
	} {
		if validate(t, s, []byte(text)) == nil {
			t.Errorf("the schema accepts %s", text)
		}
		c, err := config.Parse("x.json", []byte(text), lookup)
		if err == nil && len(c.Problems) == 0 {
			t.Errorf("the decoder accepts %s", text)
		}
	}
}
