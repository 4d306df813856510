package admin

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/google/jsonschema-go/jsonschema"
)

// document is the part of openapi.json that tests look at.
type document struct {
	OpenAPI string
	Paths   map[string]map[string]json.RawMessage
	Comps   struct{ Schemas, Responses map[string]json.RawMessage } `json:"components"`
}

type operation struct {
	OperationID string
	Responses   map[string]response
}

type response struct {
	Ref     string `json:"$ref"`
	Content map[string]struct{ Schema json.RawMessage }
}

func readDocument(t testing.TB) *document {
	t.Helper()
	var d document
	if err := json.Unmarshal(OpenAPI(), &d); err != nil {
		t.Fatal(err)
	}
	return &d
}

// operation is one operation of the document.
func (d *document) operation(t testing.TB, method, path string) operation {
	t.Helper()
	var op operation
	if err := json.Unmarshal(d.Paths[path][strings.ToLower(method)], &op); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return op
}

// schema is what an answer of that status and type has to be like, nil where the document does not say.
func (d *document) schema(t testing.TB, op operation, status, kind string) *jsonschema.Resolved {
	t.Helper()
	answer, ok := op.Responses[status]
	if !ok {
		answer = op.Responses["default"]
	}
	if name, ok := strings.CutPrefix(answer.Ref, "#/components/responses/"); ok {
		if err := json.Unmarshal(d.Comps.Responses[name], &answer); err != nil {
			t.Fatal(err)
		}
	}
	media, ok := answer.Content[kind]
	if !ok {
		return nil
	}
	text, err := json.Marshal(map[string]any{"allOf": []any{media.Schema}, "$defs": d.Comps.Schemas})
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatalf("%s: %v", op.OperationID, err)
	}
	return resolved
}

// TestDocumentHasEveryRoute, and no others.
func TestDocumentHasEveryRoute(t *testing.T) {
	d := readDocument(t)
	if d.OpenAPI != "3.1.0" {
		t.Errorf("it is OpenAPI %s", d.OpenAPI)
	}
	router := chi.NewRouter()
	Mount(router, Options{})
	there, ids := map[string]bool{}, map[string]bool{}
	err := chi.Walk(router, func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		there[strings.ToLower(method)+" "+route] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, operations := range d.Paths {
		for method := range operations {
			if method == "parameters" {
				continue
			}
			op := d.operation(t, method, path)
			if !there[method+" "+path] {
				t.Errorf("the document has %s %s, and the hub has not", method, path)
			}
			if op.OperationID == "" || ids[op.OperationID] {
				t.Errorf("%s %s has the operationId %q", method, path, op.OperationID)
			}
			ids[op.OperationID] = true
			delete(there, method+" "+path)
		}
	}
	for route := range there {
		t.Errorf("the document lacks %s", route)
	}
}

// TestAnswersFitTheDocument holds real answers of a hub whose servers are in all kinds of states against it.
func TestAnswersFitTheDocument(t *testing.T) {
	r := newRig(t, every(t))
	d := readDocument(t)
	seen := map[string]bool{}
	fits := func(method, pattern, path, body string) {
		t.Helper()
		resp := r.do(method, path, body)
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		op := d.operation(t, method, pattern)
		status := http.StatusText(resp.StatusCode)
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		schema := d.schema(t, op, map[bool]string{true: "200", false: "other"}[resp.StatusCode == 200], kind)
		if schema == nil {
			t.Errorf("%s %s: %s of the type %s is not in the document", method, path, status, kind)
			return
		}
		seen[op.OperationID+" "+kind] = true
		var value any = string(text)
		if kind != "text/plain" {
			if err := json.Unmarshal(text, &value); err != nil {
				t.Fatal(err)
			}
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s %s: %v in %s", method, path, err, text)
		}
	}
	fits("GET", "/healthz", "/healthz", "")
	fits("GET", "/readyz", "/readyz", "")
	fits("GET", "/api/openapi.json", "/api/openapi.json", "")
	fits("GET", "/api/status", "/api/status", "")
	fits("GET", "/api/servers", "/api/servers", "")
	fits("GET", "/api/tools", "/api/tools", "")
	for name := range every(t) {
		fits("GET", "/api/servers/{server}", "/api/servers/"+name, "")
		fits("GET", "/api/servers/{server}/logs", "/api/servers/"+name+"/logs", "")
		fits("POST", "/api/servers/{server}/check", "/api/servers/"+name+"/check", "")
		fits("POST", "/api/servers/{server}/reconnect", "/api/servers/"+name+"/reconnect", "")
		fits("POST", "/api/tools/{tool}", "/api/tools/mcp_"+name+"_echo", "")
		for _, tool := range []string{"echo", "say", "big", "nothing"} {
			fits("GET", "/api/tools/{tool}/why", "/api/tools/mcp_"+name+"_"+tool+"/why", "")
		}
	}
	fits("GET", "/api/servers", "/api/servers", "") // once more, after they were called
	fits("POST", "/api/tools/{tool}", "/api/tools/mcp_well_big", `{"bytes":100}`)
	fits("POST", "/api/reload", "/api/reload", "")
	r.file = "/does/not/exist"
	fits("POST", "/api/reload", "/api/reload", "")
	fits("GET", "/api/servers/{server}", "/api/servers/nobody", "")
	fits("GET", "/api/servers/{server}/logs", "/api/servers/nobody/logs", "")
	for _, want := range []string{"call application/json", "call application/problem+json", "why application/json", "reload application/problem+json"} {
		if !seen[want] {
			t.Errorf("no answer was a %s", want)
		}
	}
}
