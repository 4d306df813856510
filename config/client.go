package config

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// client is another MCP client, whose files can be imported.
type client struct {
	name    string
	project string   // its file in a project; "" where it has none
	keys    []string // what the object of its servers is called
	toml    bool
	mixed   bool // the file holds much else
	// text turns a string of an entry into ours, where variables are written otherwise; nil where they are not.
	text func(string) string
	// entry is what is left to do once the common names are ours; nil for nothing.
	entry func([]hujson.ObjectMember) []hujson.ObjectMember
}

// clients are those that can be imported, as settings.importConfigs and mcphub import name them.
var clients = []*client{
	{name: "claude", project: ".mcp.json", keys: []string{"mcpServers"}, mixed: true},
	{name: "claude-desktop", keys: []string{"mcpServers"}, mixed: true, text: literalText},
	{name: "cursor", project: filepath.Join(".cursor", "mcp.json"), keys: []string{"mcpServers"}},
	{name: "vscode", project: filepath.Join(".vscode", "mcp.json"), keys: []string{"servers", "mcpServers"}},
	{name: "codex", project: filepath.Join(".codex", "config.toml"), keys: []string{"mcp_servers"}, toml: true, mixed: true, text: literalText, entry: codexEntry},
	{name: "gemini", project: filepath.Join(".gemini", "settings.json"), keys: []string{"mcpServers"}, mixed: true, text: dollarText},
	{name: "windsurf", project: filepath.Join(".windsurf", "mcp_config.json"), keys: []string{"mcpServers"}},
}

func clientNamed(name string) *client {
	i := slices.IndexFunc(clients, func(c *client) bool { return c.name == name })
	if i < 0 {
		return nil
	}
	return clients[i]
}

// origin is where the client's entries come from. dir is what it calls its workspace.
func (c *client) origin(dir string, env func(string) (string, bool)) origin {
	variables := map[string]string{
		"workspaceFolder": dir, "workspaceFolderBasename": filepath.Base(dir), "pathSeparator": string(filepath.Separator),
	}
	if home, ok := env("HOME"); ok {
		variables["userHome"] = home
	}
	return origin{source: SourceImport, dir: dir, variables: variables, lenient: true}
}

// imports reads a client's file into entries.
func (l gatherer) imports(c *client, path string, data []byte, from origin) {
	parse := parseSource
	if c.toml {
		parse = parseTOML
	}
	src, root, err := parse(path, data)
	if err != nil {
		l.unreadable(err)
		return
	}
	l.imported(c.translate(root), src, from, func(at place, name string) {
		if !c.mixed && name != "inputs" {
			l.hub.warnf(at, "means nothing to the hub and is left out")
		}
	})
}

// imported takes mcpServers of a file and hands every other key to other.
func (l gatherer) imported(root hujson.Value, src *source, from origin, other func(at place, name string)) {
	obj, ok := root.Value.(*hujson.Object)
	if !ok {
		l.unreadable(&unreadable{file: src.name, message: `must be an object, like {"mcpServers": {…}}, and is ` + kindName(root)})
		return
	}
	found := ""
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		at := place{src: src}.member(name, m.Name.StartOffset)
		switch {
		case name == "$schema":
		case name != "mcpServers" && name != "servers":
			other(at, name)
		case found != "":
			l.hub.errorf(at, "%s; keep one of them", setTwice(name, found))
		case m.Value.Value.Kind() != 'n':
			found = name
			at.off = m.Value.StartOffset
			l.servers(m.Value, at, from)
		}
	}
}

// translate words a client's file as ours. What it does not know stays as it is.
func (c *client) translate(root hujson.Value) hujson.Value {
	obj, ok := root.Value.(*hujson.Object)
	if !ok {
		return root
	}
	off := c.switchedOff(obj)
	out := &hujson.Object{}
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		servers, isObject := m.Value.Value.(*hujson.Object)
		if !slices.Contains(c.keys, name) {
			if name != "servers" && name != "mcpServers" { // else it is some other setting of that name
				out.Members = append(out.Members, m)
			}
			continue
		}
		m.Name.Value = hujson.String("mcpServers")
		if isObject {
			m.Value.Value = c.translateServers(servers, off)
		}
		out.Members = append(out.Members, m)
	}
	root.Value = out
	return root
}

func (c *client) translateServers(servers *hujson.Object, off func(string) bool) *hujson.Object {
	out := &hujson.Object{}
	for _, m := range servers.Members {
		if entry, ok := m.Value.Value.(*hujson.Object); ok {
			members := c.translateEntry(entry.Members)
			if off(m.Name.Value.(hujson.Literal).String()) {
				members = put(members, "enabled", hujson.Value{StartOffset: m.Value.StartOffset, Value: hujson.Bool(false)})
			}
			m.Value.Value = &hujson.Object{Members: members}
		}
		out.Members = append(out.Members, m)
	}
	return out
}

// commonNames are what clients call fields that we have.
var commonNames = map[string]string{
	"timeout": "requestTimeoutMs", "disabledTools": "excludeTools", "enabledTools": "includeTools",
	"transport": "type", "transportType": "type",
}

// expanded are the fields of an entry in which variables may stand.
var expanded = []string{"command", "args", "env", "cwd", "url", "serverUrl", "httpUrl", "headers", "http_headers"}

func (c *client) translateEntry(members []hujson.ObjectMember) []hujson.ObjectMember {
	var out []hujson.ObjectMember
	for _, m := range members {
		name := m.Name.Value.(hujson.Literal).String()
		if c.text != nil && slices.Contains(expanded, name) {
			m.Value = mapTexts(m.Value, c.text)
		}
		if ours, ok := commonNames[name]; ok {
			m.Name.Value = hujson.String(ours)
		}
		out = append(out, m)
	}
	if c.entry != nil {
		out = c.entry(out)
	}
	return out
}

// mapTexts applies f to a string, or to those of a list or an object.
func mapTexts(v hujson.Value, f func(string) string) hujson.Value {
	switch t := v.Value.(type) {
	case hujson.Literal:
		if t.Kind() == '"' {
			v.Value = hujson.String(f(t.String()))
		}
	case *hujson.Array:
		list := &hujson.Array{}
		for _, e := range t.Elements {
			list.Elements = append(list.Elements, mapTexts(e, f))
		}
		v.Value = list
	case *hujson.Object:
		object := &hujson.Object{}
		for _, m := range t.Members {
			m.Value = mapTexts(m.Value, f)
			object.Members = append(object.Members, m)
		}
		v.Value = object
	}
	return v
}

// literalText keeps a client's text from being expanded that would not have expanded it.
func literalText(s string) string { return strings.ReplaceAll(s, "${", "$${") }

var dollarName = regexp.MustCompile(`\$[A-Za-z_][A-Za-z0-9_]*`)

// dollarText writes $NAME, which Gemini CLI expands beside ${NAME}, as ${NAME}.
func dollarText(s string) string {
	return dollarName.ReplaceAllStringFunc(s, func(m string) string { return "${" + m[1:] + "}" })
}

// switchedOff says which servers Gemini CLI's settings mcp.allowed and mcp.excluded keep from running.
func (c *client) switchedOff(root *hujson.Object) func(name string) bool {
	allowed, excluded := texts(root, "mcp", "allowed"), texts(root, "mcp", "excluded")
	return func(name string) bool {
		return c.name == "gemini" && (slices.Contains(excluded, name) || len(allowed) > 0 && !slices.Contains(allowed, name))
	}
}

// texts returns the strings of a list inside an object inside another.
func texts(root *hujson.Object, outer, inner string) []string {
	list := &hujson.Array{}
	if object, ok := get(root.Members, outer).Value.(*hujson.Object); ok {
		if found, ok := get(object.Members, inner).Value.(*hujson.Array); ok {
			list = found
		}
	}
	var all []string
	for _, e := range list.Elements {
		if lit, ok := e.Value.(hujson.Literal); ok {
			all = append(all, lit.String())
		}
	}
	return all
}

// get returns the value of a member, whose Value is nil where there is none.
func get(members []hujson.ObjectMember, name string) hujson.Value {
	for _, m := range members {
		if m.Name.Value.(hujson.Literal).String() == name {
			return m.Value
		}
	}
	return hujson.Value{}
}

// put sets a member.
func put(members []hujson.ObjectMember, name string, value hujson.Value) []hujson.ObjectMember {
	out := slices.DeleteFunc(slices.Clone(members), func(m hujson.ObjectMember) bool { return m.Name.Value.(hujson.Literal).String() == name })
	return append(out, hujson.ObjectMember{Name: hujson.Value{StartOffset: value.StartOffset, Value: hujson.String(name)}, Value: value})
}

// codexNames are what Codex calls fields that we have, and codexSeconds those that count seconds.
var (
	codexNames = map[string]string{
		"bearer_token_env_var": "bearerTokenEnv", "enabled_tools": "includeTools", "disabled_tools": "excludeTools",
		"startup_timeout_ms": "connectTimeoutMs", "http_headers": "headers",
	}
	codexSeconds = map[string]string{"startup_timeout_sec": "connectTimeoutMs", "tool_timeout_sec": "requestTimeoutMs"}
	// codexOwn are Codex's own matter: approval, and what it does when a server does not start.
	codexOwn = []string{"default_tools_approval_mode", "required", "supports_parallel_tool_calls", "tools", "enabled_tools_approval"}
)

// codexEntry words a [mcp_servers.NAME] table as ours.
func codexEntry(members []hujson.ObjectMember) []hujson.ObjectMember {
	var out []hujson.ObjectMember
	for _, m := range members {
		name := m.Name.Value.(hujson.Literal).String()
		if slices.Contains(codexOwn, name) || name == "env_vars" || name == "env_http_headers" {
			continue
		}
		if ours, ok := codexNames[name]; ok {
			m.Name.Value = hujson.String(ours)
		}
		if ours, ok := codexSeconds[name]; ok {
			m.Name.Value = hujson.String(ours)
			m.Value.Value = milliseconds(m.Value.Value)
		}
		out = append(out, m)
	}
	out = addTexts(out, "env", codexVariables(get(members, "env_vars")))
	return addTexts(out, "headers", codexHeaders(get(members, "env_http_headers")))
}

// milliseconds turns a number of seconds.
func milliseconds(v hujson.ValueTrimmed) hujson.ValueTrimmed {
	lit, _ := v.(hujson.Literal)
	seconds, err := strconv.ParseFloat(string(lit), 64)
	if err != nil {
		return v
	}
	return hujson.Int(int64(seconds * 1000))
}

// codexVariables are the variables that Codex passes on where they are set, by name or as {name = "NAME"}.
func codexVariables(list hujson.Value) []hujson.ObjectMember {
	array, ok := list.Value.(*hujson.Array)
	if !ok {
		return nil
	}
	var out []hujson.ObjectMember
	for _, e := range array.Elements {
		if object, ok := e.Value.(*hujson.Object); ok {
			e = get(object.Members, "name")
		}
		if lit, ok := e.Value.(hujson.Literal); ok {
			out = put(out, lit.String(), hujson.Value{StartOffset: e.StartOffset, Value: hujson.String("${" + lit.String() + ":-}")})
		}
	}
	return out
}

// codexHeaders are headers by the names of the variables that hold them.
func codexHeaders(object hujson.Value) []hujson.ObjectMember {
	names, ok := object.Value.(*hujson.Object)
	if !ok {
		return nil
	}
	return mapTexts(hujson.Value{Value: names}, func(name string) string { return "${" + name + "}" }).Value.(*hujson.Object).Members
}

// addTexts adds members to an object of an entry, which keeps what it has.
func addTexts(entry []hujson.ObjectMember, name string, more []hujson.ObjectMember) []hujson.ObjectMember {
	if len(more) == 0 {
		return entry
	}
	value := get(entry, name)
	object, _ := value.Value.(*hujson.Object)
	if object == nil {
		object = &hujson.Object{}
		value.StartOffset = more[0].Value.StartOffset
	}
	members := slices.Clone(object.Members)
	for _, m := range more {
		if key := m.Name.Value.(hujson.Literal).String(); get(members, key).Value == nil {
			members = append(members, m)
		}
	}
	value.Value = &hujson.Object{Members: members}
	return put(entry, name, value)
}
