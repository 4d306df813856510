package main

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                         nil,
		"  ":                       nil,
		"a  b\tc":                  {"a", "b", "c"},
		`"a b" 'c d' e\ f`:         {"a b", "c d", "e f"},
		`--x="1 2"'3'4`:            {"--x=1 234"},
		`"" ''`:                    {"", ""},
		`'\' "\"" "it's" '"' \\ ü`: {`\`, `"`, "it's", `"`, `\`, "ü"},
	} {
		if got, err := words(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", line, got, err, want)
		}
	}
	for _, line := range []string{`"a`, `'a`, `a\`} {
		if got, err := words(line); err == nil {
			t.Errorf("%s: %q", line, got)
		}
	}
}
