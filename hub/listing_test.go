package hub

import (
	"strconv"
	"strings"
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

// paged reads a list in pages of that size, one item a string.
func paged(t testing.TB, h *Hub, method, list string, size int) (items []string) {
	t.Helper()
	cursor := ""
	for range 100 {
		got := askModern(t, h, method, `{`+cursor+`"_meta":{"mcphub/pageSize":`+strconv.Itoa(size)+`}}`)
		n := 0
		for item := range wire.Elements(wire.Get(got.Result, list)) {
			items = append(items, string(item))
			n++
		}
		if n > size || string(wire.Get(got.Result, "resultType")) != `"complete"` {
			t.Errorf("%s: a page is %s", method, got.Result)
		}
		next := wire.Get(got.Result, "nextCursor")
		if next == nil {
			return items
		}
		cursor = `"cursor":` + string(next) + `,`
	}
	t.Errorf("%s has no last page", method)
	return items
}

// TestPagesOfEveryList reads each list in pages.
func TestPagesOfEveryList(t *testing.T) {
	h := settled(t, nil, "a", stdio("well"), "b", stdio("well"), "c", stdio("modern-only"))
	for method, list := range map[string]string{
		wire.ToolsList: "tools", wire.PromptsList: "prompts", wire.ResourcesList: "resources", wire.ResourceTemplates: "resourceTemplates",
	} {
		whole := string(wire.Get(ask(t, h, "", method, "{}").Result, list))
		for _, size := range []int{1, 2} {
			items := paged(t, h, method, list, size)
			if got := "[" + strings.Join(items, ",") + "]"; got != whole || len(items) < 3 {
				t.Errorf("%s: in pages of %d %s, whole %s", method, size, got, whole)
			}
		}
	}
}

// TestListedTwice has a server say everything twice that another has too: once it is published, on one page.
func TestListedTwice(t *testing.T) {
	a := shelf(t, notes("a", "test://same"))
	b := shelf(t, testmcp.Replies{
		"resources/list":           `{"resources":[{"uri":"test://same","name":"n"},{"uri":"test://same","name":"again"},{"uri":"b://only","name":"o"}]}`,
		"resources/templates/list": `{"resourceTemplates":[{"uriTemplate":"file:///{path}","name":"t"},{"uriTemplate":"file:///{path}","name":"again"}]}`,
	})
	h := settled(t, nil, "a", a, "b", b)
	if got := strings.Join(uris(t, h), " "); got != "test://same a://only mcphub://b/test:%2F%2Fsame b://only" {
		t.Errorf("the resources are %s", got)
	}
	for method, want := range map[string]int{wire.ResourcesList: 4, wire.ResourceTemplates: 2} {
		list := map[string]string{wire.ResourcesList: "resources", wire.ResourceTemplates: "resourceTemplates"}[method]
		if got := paged(t, h, method, list, 1); len(got) != want {
			t.Errorf("%s has %d pages: %q", method, len(got), got)
		}
	}
	twice := newListing("x", []item{{key: "same"}, {key: "same"}, {key: "z"}}, 0, nil)
	if n, err := twice.from(wire.Quote(twice.cursor(2))); n != 2 || err != nil {
		t.Errorf("behind the second of two equal items it goes on at %d, %v", n, err)
	}
}
