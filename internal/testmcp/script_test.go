package testmcp_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"mcphub/internal/testmcp"
)

// TestShapesArriveAsTheyAre serves every shape over each way of answering and
// compares bytes.
func TestShapesArriveAsTheyAre(t *testing.T) {
	script := testmcp.Script{Results: map[string][]byte{}, Errors: map[string][]byte{}}
	var tools [][]byte
	kinds := map[string]int{}
	for _, shape := range testmcp.Shapes() {
		kinds[shape.Kind]++
		switch shape.Kind {
		case "tool":
			tools = append(tools, shape.Bytes)
		case "result":
			script.Results["result-"+shape.Name] = shape.Bytes
		case "error":
			script.Errors["error-"+shape.Name] = shape.Bytes
		default:
			t.Fatalf("%s is of the kind %q", shape.Name, shape.Kind)
		}
		if !json.Valid(shape.Bytes) || bytes.ContainsAny(shape.Bytes, "\r\n") {
			t.Errorf("%s is no JSON on one line: %s", shape.Name, shape.Bytes)
		}
	}
	if kinds["tool"] < 40 || kinds["result"] < 40 || kinds["error"] < 10 {
		t.Fatalf("too few shapes were read: %v", kinds)
	}
	script.Tools = tools
	list := `"result":{"tools":[` + string(bytes.Join(tools, []byte(","))) + `]}}`
	for _, nature := range []string{"", "+json-answers", "+stateless"} {
		b := browse(t, testmcp.HTTP(t, script.Name(t)+nature))
		b.handshake()
		has(t, b.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).last(), list)
		for name, raw := range script.Results {
			has(t, b.post(call(name, `{}`)).last(), `"result":`+string(raw)+`}`)
		}
		for name, raw := range script.Errors {
			has(t, b.post(call(name, `{}`)).last(), `"error":`+string(raw)+`}`)
		}
	}
	c := start(t, script.Name(t))
	c.handshake()
	for name, raw := range script.Results {
		c.send(call(name, `{}`))
		has(t, c.answer("7"), `"result":`+string(raw)+`}`)
	}
	c.send(call("another", `{"z":1.0}`))
	has(t, c.answer("7"), `"structuredContent":{"name":"another","arguments":{"z":1.0}}`)
}

func TestCatalogs(t *testing.T) {
	names, tools := testmcp.Catalogs(t), 0
	for _, name := range names {
		tools += len(testmcp.Catalog(t, name).Tools)
	}
	if len(names) < 30 || tools < 1000 {
		t.Errorf("%d catalogs hold %d tools, want more than 30 and 1,000", len(names), tools)
	}
	script := testmcp.Catalog(t, "postman")
	b := browse(t, testmcp.HTTP(t, script.Name(t)+"+modern"))
	b.handshake()
	has(t, b.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`).last(), `"result":{"tools":[`+string(bytes.Join(script.Tools, []byte(",")))+`]}`)
	has(t, b.postModern(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "tools/list", "").last(), `"resultType":"complete"`, string(script.Tools[0]))
}
