package manual

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"slices"
	"strconv"
	"strings"
)

// object is a JSON object that keeps its order.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := enc.Encode(m.name); err != nil {
			return nil, err
		}
		b.WriteByte(':')
		if err := enc.Encode(m.value); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func ref(name string) object { return object{{"$ref", "#/$defs/" + name}} }

// Schema returns the JSON Schema of a configuration file.
func (m *Manual) Schema() ([]byte, error) {
	servers := object{
		{"description", "The MCP servers by name. A name starts with a letter or digit and has up to 64 letters, digits, '_', '.' and '-'."},
		{"type", "object"},
		{"patternProperties", object{{"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", ref("Server")}}},
		{"additionalProperties", false},
	}
	var names []string
	for name := range m.structs {
		names = append(names, name)
	}
	slices.Sort(names)
	var defs object
	for _, name := range names {
		defs = append(defs, member{name, m.structSchema(name)})
	}
	schema := object{
		{"$schema", "https://json-schema.org/draft/2020-12/schema"},
		{"title", "mcphub configuration"},
		{"type", "object"},
		{"additionalProperties", false},
		{"properties", object{
			{"$schema", object{{"description", "Where this schema is, for editors."}, {"type", "string"}}},
			{"settings", append(object{{"description", "What holds for the hub as a whole."}}, ref("Settings")...)},
			{"mcpServers", servers},
			{"servers", object{{"description", "mcpServers, as VS Code calls it."}, {"$ref", "#/properties/mcpServers"}}},
		}},
		{"$defs", defs},
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(schema); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (m *Manual) structSchema(name string) object {
	var properties object
	for _, f := range m.structs[name] {
		properties = append(properties, member{f.name, m.fieldSchema(&f)})
		for _, alias := range split(f.tag.Get("alias")) {
			properties = append(properties, m.aliasSchema(&f, alias))
		}
	}
	return object{{"type", "object"}, {"additionalProperties", false}, {"properties", properties}}
}

func (m *Manual) aliasSchema(f *field, alias string) member {
	if alias[0] == '!' {
		return member{alias[1:], object{{"description", "The opposite of " + f.name + "."}, {"type", "boolean"}}}
	}
	return member{alias, append(object{{"description", "Another name for " + f.name + "."}}, m.typeSchema(f, f.typ)...)}
}

func (m *Manual) fieldSchema(f *field) object {
	s := append(object{{"description", f.describe()}}, m.typeSchema(f, f.typ)...)
	if def := f.tag.Get("default"); def != "" {
		s = append(s, member{"default", literal(def, m.isString(f))})
	}
	return s
}

func (m *Manual) isString(f *field) bool {
	id, ok := m.resolve(f.typ).(*ast.Ident)
	return ok && id.Name == "string"
}

// literal turns a tag's text into a JSON value. Among strings, only true and false are written without quotes.
func literal(text string, isString bool) any {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && !isString {
		return n
	}
	if text == "true" || text == "false" {
		return text == "true"
	}
	return text
}

// typeSchema says what a value of the type looks like; f has the tags that narrow it.
func (m *Manual) typeSchema(f *field, typ ast.Expr) object {
	switch t := m.resolve(typ).(type) {
	case *ast.ArrayType:
		list := object{{"type", "array"}, {"items", m.typeSchema(f, t.Elt)}}
		if f.tag.Get("all") == "true" {
			return object{{"anyOf", []object{{{"type", "boolean"}}, list}}}
		}
		return list
	case *ast.MapType:
		return object{{"type", "object"}, {"additionalProperties", m.typeSchema(f, t.Value)}}
	case *ast.SelectorExpr:
		if t.Sel.Name == "RawMessage" {
			return object{}
		}
		return numberSchema(f)
	case *ast.Ident:
		switch {
		case m.structs[t.Name] != nil:
			return ref(t.Name)
		case t.Name == "bool":
			return object{{"type", "boolean"}}
		case t.Name == "string":
			return stringSchema(f)
		}
	}
	return numberSchema(f)
}

func stringSchema(f *field) object {
	if len(f.enum) == 0 {
		s := object{{"type", "string"}}
		if p := f.tag.Get("pattern"); p != "" {
			s = append(s, member{"pattern", "^" + p + "$"})
		}
		return s
	}
	var values []any
	for _, v := range f.enum {
		values = append(values, literal(v, true))
	}
	for _, pair := range split(f.tag.Get("same")) {
		values = append(values, pair[:strings.IndexByte(pair, '=')])
	}
	return object{{"enum", values}}
}

func numberSchema(f *field) object {
	s := object{{"type", "integer"}}
	if f.tag.Get("unit") == "min" {
		s = object{{"type", "number"}}
	}
	for _, bound := range []struct{ tag, name string }{{"min", "minimum"}, {"max", "maximum"}} {
		if v := f.tag.Get(bound.tag); v != "" {
			s = append(s, member{bound.name, literal(v, false)})
		}
	}
	return s
}
