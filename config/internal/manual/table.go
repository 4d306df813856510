package manual

import (
	"fmt"
	"go/ast"
	"strings"
)

// Tables returns the tables of all fields in Markdown, the structs inside others after those that have them.
func (m *Manual) Tables() string {
	var b strings.Builder
	m.table(&b, "Server", "mcpServers.NAME", false)
	m.table(&b, "Settings", "settings", false)
	b.WriteString("\n")
	return b.String()
}

func (m *Manual) table(b *strings.Builder, name, path string, pending bool) {
	note := ""
	if pending {
		note = " " + notYet
	}
	fmt.Fprintf(b, "\n#### `%s`%s\n\n| field | type | default | meaning |\n|---|---|---|---|\n", path, note)
	for _, f := range m.structs[name] {
		def := f.tag.Get("default")
		if def != "" {
			def = "`" + def + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", f.name, cell(m.typeName(&f, f.typ)), def, cell(f.describe()))
	}
	for _, f := range m.structs[name] {
		inner := m.structOf(f.typ)
		if inner == "" {
			continue
		}
		below := path + "." + f.name
		switch m.resolve(f.typ).(type) {
		case *ast.ArrayType:
			below += "[]"
		case *ast.MapType:
			below += ".NAME"
		}
		m.table(b, inner, below, pending || f.allPending())
	}
}

// cell escapes what would end a table's cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// typeName words a type for a reader.
func (m *Manual) typeName(f *field, typ ast.Expr) string {
	switch t := m.resolve(typ).(type) {
	case *ast.ArrayType:
		if f.tag.Get("all") == "true" {
			return "true or list of " + m.plural(f, t.Elt)
		}
		return "list of " + m.plural(f, t.Elt)
	case *ast.MapType:
		return m.plural(f, t.Value) + " by name"
	case *ast.SelectorExpr:
		if t.Sel.Name == "RawMessage" {
			return "any"
		}
	case *ast.Ident:
		switch {
		case m.structs[t.Name] != nil:
			return "object"
		case t.Name == "bool":
			return "true or false"
		case t.Name == "string" && len(f.enum) > 0:
			return "`" + strings.Join(f.enum, "` | `") + "`"
		case t.Name == "string":
			return "string"
		}
	}
	return "number"
}

// plural is typeName for the elements of a list or object.
func (m *Manual) plural(f *field, typ ast.Expr) string {
	name := m.typeName(f, typ)
	if name == "string" || name == "object" {
		return name + "s"
	}
	return name
}
