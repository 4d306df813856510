package config_test

import (
	"testing"

	"mcphub/config"
)

// The digest changes with all that decides what a server offers, and with nothing else.
func TestDigest(t *testing.T) {
	base := `{"type": "stdio", "command": "x", "args": ["a"], "env": {"A": "1", "B": "2"}}`
	want := one(t, base).Digest()
	if len(want) != 64 {
		t.Errorf("digest %q", want)
	}
	for _, same := range []string{
		`{"command": "x", "args": ["a"], "env": {"B": "2", "A": "1"}}`,
		`{"command": "x", "args": ["a"], "env": {"A": "1", "B": "2"}, "lifecycle": "eager", "excludeTools": ["t"], "requestTimeoutMs": 5}`,
	} {
		if got := one(t, same).Digest(); got != want {
			t.Errorf("%s has another digest", same)
		}
	}
	seen := map[string]string{want: base}
	for _, other := range []string{
		`{"command": "y", "args": ["a"], "env": {"A": "1", "B": "2"}}`,
		`{"command": "x", "args": ["a", ""], "env": {"A": "1", "B": "2"}}`,
		`{"command": "x", "args": ["a"], "env": {"A": "1", "B": "3"}}`,
		`{"command": "x", "args": ["a"], "env": {"A": "1", "B": "2"}, "inheritEnv": true}`,
		`{"command": "x", "args": ["a"], "env": {"A": "1", "B": "2"}, "cwd": "/"}`,
		`{"url": "https://a"}`, `{"url": "https://b"}`, `{"url": "https://a", "type": "sse"}`, `{"url": "https://a", "auth": false}`,
		`{"url": "https://a", "headers": {"X-A": "1"}}`, `{"url": "https://a", "bearerTokenEnv": "API_KEY"}`,
	} {
		got := one(t, other).Digest()
		if seen[got] != "" {
			t.Errorf("%s and %s have one digest", other, seen[got])
		}
		seen[got] = other
	}
	if a, b := (&config.Server{Args: []string{"a b"}}).Digest(), (&config.Server{Args: []string{"a", "b"}}).Digest(); a == b {
		t.Error("arguments run together")
	}
}
