package hub

import (
	"bytes"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// ways are the transports that an odd shape has to survive.
func ways(t *testing.T, script testmcp.Script) map[string]entry {
	name := script.Name(t)
	return map[string]entry{
		"stdio": stdio(name),
		"sse":   {"url": testmcp.HTTP(t, name).URL},
		"json":  {"url": testmcp.HTTP(t, name+"+json-answers").URL},
		"new":   {"url": testmcp.HTTP(t, name+"+modern").URL},
	}
}

// TestShapesArriveUnchanged sends every odd form of a tool, a result and an error through the hub.
func TestShapesArriveUnchanged(t *testing.T) {
	script := testmcp.Script{Results: map[string][]byte{}, Errors: map[string][]byte{}}
	for _, shape := range testmcp.Shapes() {
		switch shape.Kind {
		case "tool":
			script.Tools = append(script.Tools, shape.Bytes)
		case "result":
			script.Results["result-"+shape.Name] = shape.Bytes
			script.Tools = append(script.Tools, []byte(`{"name":"result-`+shape.Name+`","inputSchema":{"type":"object"}}`))
		case "error":
			script.Errors["error-"+shape.Name] = shape.Bytes
			script.Tools = append(script.Tools, []byte(`{"name":"error-`+shape.Name+`","inputSchema":{"type":"object"}}`))
		}
	}
	for way, e := range ways(t, script) {
		t.Run(way, func(t *testing.T) {
			h := settled(t, map[string]any{"maxToolNameLength": 128}, "up", e)
			checkTools(t, h, script)
			for name, want := range script.Results {
				if got := callOwn(t, h, name); !bytes.Equal(got.Result, want) && !(way == "new" && retouched(got, want)) {
					t.Errorf("result %s: got %s %s, want %s", name, got.Result, got.Error, want)
				}
			}
			for name, want := range script.Errors {
				if got := callOwn(t, h, name); !bytes.Equal(got.Error, want) {
					t.Errorf("error %s: got %s %s, want %s", name, got.Error, got.Result, want)
				}
			}
		})
	}
}

// retouched allows for what a session client does not get from a stateless server: the server's own
// name, and a question that its era has no words for.
func retouched(got Answer, want []byte) bool {
	if wire.String(wire.Get(want, "resultType")) == "input_required" {
		return got.Error != nil
	}
	return wire.Path(want, "_meta", wire.MetaServerInfo) != nil && wire.Path(got.Result, "_meta", wire.MetaServerInfo) == nil
}

func callOwn(t *testing.T, h *Hub, own string) Answer {
	t.Helper()
	for _, tool := range h.base.current().tools {
		if tool.own == own {
			return ask(t, h, "", wire.ToolsCall, `{"name":`+string(wire.Quote(tool.name))+`,"arguments":{}}`)
		}
	}
	t.Errorf("%s is not published", own)
	return Answer{}
}

// checkTools holds the published list against the server's own: only the name may differ, apart from
// the repairs that the hub documents. The relay changes nothing at all.
func checkTools(t *testing.T, h *Hub, script testmcp.Script) {
	t.Helper()
	relayed := ask(t, h, "up", wire.ToolsList, "{}").Result
	n := 0
	for item := range wire.Elements(wire.Get(relayed, "tools")) {
		if !bytes.Equal(item, script.Tools[n]) {
			t.Errorf("relayed tool %d is %s, want %s", n, item, script.Tools[n])
		}
		n++
	}
	if n != len(script.Tools) {
		t.Errorf("%d of %d tools are relayed", n, len(script.Tools))
	}
	published := map[string][]byte{}
	for _, tool := range h.base.current().tools {
		published[tool.own] = tool.raw
	}
	for _, raw := range script.Tools {
		own := wire.String(wire.Get(raw, "name"))
		got, ok := published[own]
		if _, ambiguous := wire.Fields(raw, "name", "inputSchema"); ambiguous != nil {
			own = "stands twice" // the note cannot tell which name
		}
		if strings.HasPrefix(own, "broken-") || own == "" || !ok {
			if ok || !mentioned(h, own) {
				t.Errorf("tool %q: published %v, notes %q", own, ok, notesOf(h, "up"))
			}
			continue
		}
		want := wire.Splice(raw, wire.Edit{Key: "name", Value: wire.Get(got, "name")})
		if schema := wire.Get(raw, "inputSchema"); string(wire.Get(schema, "type")) != `"object"` {
			want = wire.Splice(want, wire.Edit{Key: "inputSchema", Value: wire.Get(got, "inputSchema")})
			if !mentioned(h, own) {
				t.Errorf("the repair of %q is not noted", own)
			}
		}
		if !bytes.Equal(got, want) {
			t.Errorf("tool %q: got %s, want %s", own, got, want)
		}
	}
}

func mentioned(h *Hub, own string) bool {
	for _, note := range notesOf(h, "up") {
		if strings.Contains(note, own) {
			return true
		}
	}
	return false
}

// TestCatalogsComeOutWithOnlyTheNameChanged serves the lists of real servers, all at once.
func TestCatalogsComeOutWithOnlyTheNameChanged(t *testing.T) {
	var servers []any
	scripts := map[string]testmcp.Script{}
	for _, name := range testmcp.Catalogs(t) {
		scripts[name] = testmcp.Catalog(t, name)
		servers = append(servers, name, entry{"url": testmcp.HTTP(t, scripts[name].Name(t)).URL})
	}
	h := settled(t, nil, servers...)
	names, _ := tools(t, h)
	total := 0
	for name, script := range scripts {
		total += len(script.Tools)
		i := 0
		for _, tool := range h.base.current().tools {
			if tool.server.Name() != name {
				continue
			}
			raw := script.Tools[i]
			i++
			want := wire.Splice(raw, wire.Edit{Key: "name", Value: wire.Quote(tool.name)})
			if wire.Path(raw, "inputSchema", "type") == nil {
				want = wire.Splice(want, wire.Edit{Key: "inputSchema", Value: wire.Get(tool.raw, "inputSchema")})
			}
			if !bytes.Equal(tool.raw, want) {
				t.Errorf("%s: %s became %.300s", name, tool.own, tool.raw)
			}
			if len(tool.name) > 50 || safe(tool.name) != tool.name {
				t.Errorf("%s: %s is published as %s", name, tool.own, tool.name)
			}
		}
	}
	if len(names) != total {
		t.Errorf("%d of %d tools are published", len(names), total)
	}
}

// TestB025 sends numbers that a float64 cannot hold, both ways.
func TestB025(t *testing.T) {
	for way, e := range ways(t, testmcp.Script{Tools: [][]byte{[]byte(`{"name":"echo","inputSchema":{"type":"object"}}`)}}) {
		h := settled(t, nil, "up", e)
		args := `{"id":9007199254740993,"n":1234567890123456789,"f":1.0,"e":1e400, "z" : 1.10,"a":"\u00e9"}`
		got := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_echo","arguments":`+args+`}`)
		if echoed := wire.Path(got.Result, "structuredContent", "arguments"); string(echoed) != args {
			t.Errorf("%s: %s came back as %s", way, args, echoed)
		}
	}
}
