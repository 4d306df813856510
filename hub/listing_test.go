package hub

import (
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// modernOnly is a server of the stateless era with these replies.
func modernOnly(t testing.TB, replies testmcp.Replies) entry {
	return stdio("modern-only+" + replies.Name(t))
}

// TestHowLongAnswersMayBeKept has servers that say how long their own may be.
func TestHowLongAnswersMayBeKept(t *testing.T) {
	h := settled(t, nil,
		"tools", modernOnly(t, testmcp.Replies{
			"server/discover": `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{}}`,
			"tools/list":      `{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object"}}],"ttlMs":5000,"cacheScope":"public"}`,
		}),
		"resources", modernOnly(t, testmcp.Replies{
			"server/discover":          `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"resources":{}},"_meta":{}}`,
			"resources/list":           `{"resultType":"complete","resources":[{"uri":"x:1","name":"x"},{"uri":"x:2","name":"y"}],"ttlMs":7000,"cacheScope":"public"}`,
			"resources/read x:1":       `{"resultType":"complete","contents":[{"uri":"x:1","text":"t"}],"ttlMs":9000,"cacheScope":"public"}`,
			"resources/read x:2":       `{"resultType":"complete","contents":[{"uri":"x:2","text":"t"}]}`,
			"resources/templates/list": `{"resultType":"complete","resourceTemplates":[]}`,
		}))
	for _, c := range []struct{ method, params, ttl string }{
		{wire.ToolsList, "{}", "5000"}, {wire.ResourcesList, "{}", "7000"}, {wire.ResourceTemplates, "{}", "0"}, {wire.PromptsList, "{}", "0"},
		{wire.ResourcesRead, `{"uri":"x:1"}`, "9000"}, {wire.ResourcesRead, `{"uri":"x:2"}`, "0"},
	} {
		got := askModern(t, h, c.method, c.params)
		if ttl, scope := string(wire.Get(got.Result, "ttlMs")), string(wire.Get(got.Result, "cacheScope")); ttl != c.ttl || scope != `"private"` {
			t.Errorf("%s %s may be kept for %s, %s: %s %s", c.method, c.params, ttl, scope, got.Result, got.Error)
		}
	}
}
