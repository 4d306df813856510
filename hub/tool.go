package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// tool is one published tool and the way to it.
type tool struct {
	name    string // published
	renamed string // why that has a suffix, or a prefix in spite of bareNames; "" where neither
	own     string // the server's own name
	quoted  []byte // the same as raw JSON
	server  *upstream.Server
	raw     []byte        // the definition as clients see it
	fixed   []wire.Edit   // arguments that every call carries
	timeout time.Duration // 0: the server's
	headers []binding
	blocked bool // it has changed since it was approved

	builtin func(h merged, ctx context.Context, r *Request, args []byte) Answer // the hub's own tools only
}

// anyObject stands in for an input schema that is missing. Clients and model APIs refuse a whole list
// for one tool without an object schema.
var anyObject = []byte(`{"type":"object"}`)

// newTool reads one raw item of a server's list. The error says why the tool cannot be published; note
// says what was repaired.
func newTool(raw []byte, s *upstream.Server) (t *tool, note string, err error) {
	if !wire.IsObject(raw) {
		return nil, "", fmt.Errorf("an item of tools/list is no object")
	}
	f, err := wire.Fields(raw, "name", "inputSchema")
	if err != nil {
		return nil, "", fmt.Errorf("a tool is ambiguous: %w", err)
	}
	schema := f[1]
	t = &tool{own: wire.String(f[0]), quoted: f[0], server: s, raw: raw}
	if t.own == "" {
		return nil, "", fmt.Errorf("a tool has no name")
	}
	repaired, err := repair(schema)
	if err != nil {
		return nil, "", fmt.Errorf("tool %q: %w", t.own, err)
	}
	if repaired != nil {
		t.raw = wire.Splice(t.raw, wire.Edit{Key: "inputSchema", Value: repaired})
		schema = repaired
		note = fmt.Sprintf("tool %q has no object schema for its input; an open one is published", t.own)
	}
	if t.headers, err = bindings(schema); err != nil {
		return nil, "", fmt.Errorf("tool %q: %w", t.own, err)
	}
	t.override(s.Config().Tools[t.own], schema)
	return t, note, nil
}

// repair returns the schema to publish in place of one that no client takes, nil where it is fine. The
// arguments of a tool are always an object, so a schema that leaves that open can be closed in on it.
func repair(schema []byte) ([]byte, error) {
	if wire.IsNull(schema) || string(schema) == "true" {
		return anyObject, nil
	}
	if !wire.IsObject(schema) {
		return nil, fmt.Errorf("its inputSchema is no object schema")
	}
	kind := wire.Get(schema, "type")
	if string(kind) == `"object"` {
		return nil, nil
	}
	open := kind == nil
	for k := range wire.Elements(kind) {
		open = open || string(k) == `"object"`
	}
	if !open {
		return nil, fmt.Errorf("its inputSchema has the type %s, and only object can hold arguments", kind)
	}
	return wire.Splice(schema, wire.Edit{Key: "type", Value: []byte(`"object"`)}), nil
}

// override applies the tools entry of the configuration.
func (t *tool) override(o config.ToolOverride, schema []byte) {
	t.timeout = o.Timeout
	var edits []wire.Edit
	if o.Description != "" {
		edits = append(edits, wire.Edit{Key: "description", Value: wire.Quote(o.Description)})
	}
	if len(o.Arguments) > 0 {
		for name, value := range o.Arguments {
			t.fixed = append(t.fixed, wire.Edit{Key: name, Value: value})
		}
		edits = append(edits, wire.Edit{Key: "inputSchema", Value: without(schema, o.Arguments)})
	}
	if len(edits) > 0 {
		t.raw = wire.Splice(t.raw, edits...)
	}
}

// without takes fixed arguments out of a schema: clients neither see nor need them.
func without(schema []byte, fixed map[string]json.RawMessage) []byte {
	var gone []wire.Edit
	for name := range fixed {
		gone = append(gone, wire.Edit{Key: name})
	}
	var edits []wire.Edit
	if properties := wire.Get(schema, "properties"); properties != nil {
		edits = append(edits, wire.Edit{Key: "properties", Value: wire.Splice(properties, gone...)})
	}
	if required := wire.Get(schema, "required"); required != nil {
		var left []string
		for r := range wire.Elements(required) {
			if _, ok := fixed[wire.String(r)]; !ok {
				left = append(left, wire.String(r))
			}
		}
		kept, _ := json.Marshal(slices.Concat([]string{}, left)) // strings always encode
		edits = append(edits, wire.Edit{Key: "required", Value: kept})
	}
	return wire.Splice(schema, edits...)
}

// part is the tool's part of its published name.
func (t *tool) part() string { return cmp.Or(t.server.Config().Tools[t.own].Name, t.own) }

// rename sets the published name, in the definition too; why is what it differs for from the plain one.
func (t *tool) rename(name, why string) {
	t.name, t.renamed = name, why
	t.raw = wire.Splice(t.raw, wire.Edit{Key: "name", Value: wire.Quote(name)})
}
