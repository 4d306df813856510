package hub

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"

	"mcphub/config"
)

// reserved are the names of the hub's own tools and prompts. A server's tool that would be published
// under one gets a suffix, so that neither hides the other.
var reserved = map[string]bool{
	"tool_search": true, "tool_call": true,
	"mcp_list_resources": true, "mcp_read_resource": true, "mcp_read_output": true, "mcp_inline": true,
}

// publish is the name that clients see for a tool: a function of the server's name, the tool's name
// and the settings, never of what else there is. It stays inside [A-Za-z0-9_-], which every model API
// takes; where characters had to go, a hash of the true names keeps it unique.
func publish(set *config.Settings, of *config.Server, tool string, bare bool) string {
	name, _ := named(set, of, tool, bare)
	return name
}

// named is publish, and why the name has a suffix, "" where it has none.
func named(set *config.Settings, of *config.Server, tool string, bare bool) (name, why string) {
	whole := tool
	if !bare {
		whole = of.Name + set.ToolSeparator + tool
		if set.ToolPrefix != "" && of.Source != config.SourceRegistered {
			whole = set.ToolPrefix + set.ToolSeparator + whole
		}
	}
	name = safe(whole)
	switch {
	case name != whole:
		why = "some clients refuse a character of " + whole
	case len(name) > set.MaxToolNameLength:
		why = name + " is longer than settings.maxToolNameLength"
	case reserved[name]:
		why = name + " is a name of the hub's own"
	default:
		return name, ""
	}
	return suffixed(set, name, of.Name, tool), why
}

// suffixed cuts name to make room for a hash of server and tool.
func suffixed(set *config.Settings, name, server, tool string) string {
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	hash := "_" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:4])[:6])
	return name[:min(len(name), set.MaxToolNameLength-len(hash))] + hash
}

// safe replaces every character that some client refuses.
func safe(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
}
