package config

import (
	"fmt"
	"reflect"
	"strings"
)

// foreign is a key that another program writes into such files and that means nothing here.
type foreign struct {
	severity Severity // Error where ignoring it would lose a protection or leave a server unable to work
	message  string
}

const noEffect = "has no effect here; "

// foreignServer are keys of server entries, by what writes them: VS Code, Cursor, Claude Code, Claude Desktop, Cline, Roo
// Code, Windsurf, Gemini CLI, Copilot CLI, LibreChat.
var foreignServer = map[string]foreign{
	"alwaysAllow":          {Warning, noEffect + "approval is the client's matter; remove it"},
	"alwaysLoad":           {Warning, noEffect + `remove it, or see "directTools"`},
	"autoApprove":          {Warning, noEffect + "approval is the client's matter; remove it"},
	"authProviderType":     {Error, `is not supported; remove it and see "oauth"`},
	"description":          {Warning, noEffect + "remove it"},
	"dev":                  {Warning, noEffect + "remove it"},
	"disabledTools":        {Error, `is not supported; name the tools in "excludeTools"`},
	"enabledTools":         {Error, `is not supported; name the tools in "includeTools"`},
	"envFile":              {Error, `is not supported; put the variables in "env"`},
	"extensionName":        {Warning, noEffect + "remove it"},
	"gallery":              {Warning, noEffect + "remove it"},
	"headersHelper":        {Error, `is not supported; put the headers in "headers", with ${VARIABLE} for what changes`},
	"iconPath":             {Warning, noEffect + "remove it"},
	"name":                 {Warning, noEffect + "the entry's key is the server's name; remove it"},
	"sandbox":              {Error, `is not supported; make the sandbox part of "command"`},
	"sandboxEnabled":       {Error, `is not supported; make the sandbox part of "command"`},
	"targetAudience":       {Error, `is not supported; remove it and see "oauth"`},
	"targetServiceAccount": {Error, `is not supported; remove it and see "oauth"`},
	"timeout":              {Warning, noEffect + `write it in milliseconds as "requestTimeoutMs"`},
	"transport":            {Warning, noEffect + `write "type"`},
	"transportType":        {Warning, noEffect + `write "type"`},
	"trust":                {Warning, noEffect + "approval is the client's matter; remove it"},
	"version":              {Warning, noEffect + "remove it"},
	"watchPaths":           {Warning, noEffect + "remove it"},
}

// foreignTop are keys beside mcpServers or servers.
var foreignTop = map[string]foreign{
	"inputs":         {Warning, noEffect + "VS Code asks its user for these; write ${VARIABLE} where ${input:…} stands"},
	"globalShortcut": {Warning, noEffect + "it is Claude Desktop's; remove it"},
	"preferences":    {Warning, noEffect + "it is Claude Desktop's; remove it"},
	"sandbox":        {Error, `is not supported; make the sandbox part of each "command"`},
}

// unknown reports a member that no field of its owner has.
func (d *decoder) unknown(at place, name string, owner reflect.Type, fields []field) {
	f, foreign := foreignServer[name]
	foreign = foreign && owner == reflect.TypeFor[Server]()
	if d.lenient && !(foreign && f.severity == Error) {
		if !foreign {
			d.warnf(at, "means nothing to the hub and is left out")
		}
		return
	}
	if foreign {
		d.problems = append(d.problems, at.problem(f.severity, "%s", f.message))
		return
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
		for _, alias := range f.aliases {
			names = append(names, strings.TrimPrefix(alias, "!"))
		}
	}
	d.errorf(at, "unknown key%s", didYouMean(name, names, "; remove it (`mcphub schema` has all keys)"))
}

// unknownTop reports a member of the top level that means nothing here.
func (d *decoder) unknownTop(at place, name string) {
	if f, ok := foreignTop[name]; ok {
		d.problems = append(d.problems, at.problem(f.severity, "%s", f.message))
		return
	}
	known := []string{"$schema", "settings", "mcpServers"}
	d.errorf(at, "unknown key%s", didYouMean(name, known, "; the top level has "+orList(known)))
}

// didYouMean names the nearest of the known words, or says otherwise when none is near.
func didYouMean(word string, known []string, otherwise string) string {
	if best := Nearest(word, known); best != "" {
		return fmt.Sprintf("; did you mean %q?", best)
	}
	return otherwise
}

// maxCompared bounds the work on absurdly long words; the longest known key has 23 letters.
const maxCompared = 64

// editDistance counts the letters to insert, delete, replace or swap with their neighbour to make b of a.
func editDistance(a, b string) int {
	if len(a) > maxCompared || len(b) > maxCompared {
		return maxCompared
	}
	var before, last, row [maxCompared + 1]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
