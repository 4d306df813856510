package hub

import (
	"fmt"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// TestInlineNeedsText asks for the prompt without what it is about.
func TestInlineNeedsText(t *testing.T) {
	h := settled(t, nil)
	for _, params := range []string{`{"name":"mcp_inline"}`, `{"name":"mcp_inline","arguments":{}}`, `{"name":"mcp_inline","arguments":{"text":5}}`} {
		if got := ask(t, h, "", wire.PromptsGet, params); !strings.Contains(string(got.Error), "-32602") || !strings.Contains(string(got.Error), "text") {
			t.Errorf("%s: %s %s", params, got.Result, got.Error)
		}
	}
}

// TestInlineCompletionOfManyResources has more than one answer may hold, and some that no mention can mean.
func TestInlineCompletionOfManyResources(t *testing.T) {
	list := []byte(`{"uri":"x:a b"},{"uri":"x:end."},{"uri":""}`)
	for i := range 150 {
		list = fmt.Appendf(list, `,{"uri":"x:%d"}`, i)
	}
	h := settled(t, nil, "a", shelf(t, testmcp.Replies{"resources/list": `{"resources":[` + string(list) + `]}`}))
	for text, want := range map[string]struct {
		n    int
		rest string
	}{"@mcp:a/": {100, `150,true`}, "@mcp:a/x:14": {11, `11,false`}, "@mcp:a/x:a": {0, `0,false`}, "@mcp:a/x:e": {0, `0,false`}} {
		got := wire.Get(ask(t, h, "", wire.CompletionComplete, `{"ref":{"type":"ref/prompt","name":"mcp_inline"},"argument":{"name":"text","value":"`+text+`"}}`).Result, "completion")
		n := 0
		for range wire.Elements(wire.Get(got, "values")) {
			n++
		}
		if rest := string(wire.Get(got, "total")) + "," + string(wire.Get(got, "hasMore")); n != want.n || rest != want.rest {
			t.Errorf("%q: %d values, %s: %s", text, n, rest, got)
		}
	}
}
