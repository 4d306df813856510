package config

import (
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	"github.com/tailscale/hujson"
)

// Clients are the names of the clients whose files can be read.
func Clients() []string {
	var names []string
	for _, c := range clients {
		names = append(names, c.name)
	}
	return names
}

// Imported is an entry of another client's file, as it would stand in ours.
type Imported struct {
	// Server is the entry, checked but not expanded.
	Server *Server
	// Entry is the entry as a JSON object, under our names.
	Entry []byte
}

// ReadClient reads another client's file. Nothing is expanded. The problems are those of the file and its entries; an
// unknown client has no entries.
func ReadClient(name, path string, data []byte) ([]Imported, []Problem) {
	c := clientNamed(name)
	if c == nil {
		return nil, nil
	}
	l := gatherer{newLoader(func(string) (string, bool) { return "", false })}
	from := origin{source: SourceImport, lenient: true, untrusted: path}
	l.imports(c, path, data, from)
	problems := l.config().Problems
	var found []Imported
	for _, e := range l.entries {
		found = append(found, Imported{e.server, ownMembers(e.raw)})
	}
	return found, problems
}

// ownMembers is an entry without the members that mean nothing here.
func ownMembers(raw hujson.Value) []byte {
	fields := fieldsOf(reflect.TypeFor[Server]())
	out := &hujson.Object{}
	for _, m := range membersOf(raw) {
		if f, _ := findField(fields, m.Name.Value.(hujson.Literal).String()); f != nil && m.Value.Value.Kind() != 'n' {
			out.Members = append(out.Members, m)
		}
	}
	return pack(hujson.Value{Value: out})
}

// UserFile is where a client keeps the servers of the user on this operating system. home is the user's directory.
func UserFile(name, home string) string {
	support := map[string]string{
		"darwin":  filepath.Join(home, "Library", "Application Support"),
		"windows": filepath.Join(home, "AppData", "Roaming"),
	}[runtime.GOOS]
	if support == "" {
		support = filepath.Join(home, ".config")
	}
	switch name {
	case "claude":
		return filepath.Join(home, ".claude.json")
	case "claude-desktop":
		return filepath.Join(support, "Claude", "claude_desktop_config.json")
	case "cursor":
		return filepath.Join(home, ".cursor", "mcp.json")
	case "vscode":
		return filepath.Join(support, "Code", "User", "mcp.json")
	case "codex":
		return filepath.Join(home, ".codex", "config.toml")
	case "gemini":
		return filepath.Join(home, ".gemini", "settings.json")
	case "windsurf":
		return filepath.Join(home, ".codeium", "windsurf", "mcp_config.json")
	}
	return ""
}

// Trustable are the files below a project's directory that wait for trust, where they are there: its own, and those of the
// clients that keep one in a project.
func Trustable(dir string) []string {
	files := []string{filepath.Join(dir, projectFile)}
	for _, c := range clients {
		if c.project != "" {
			files = append(files, filepath.Join(dir, c.project))
		}
	}
	return files
}

// Preview is what a file that waits for trust would run. Nothing is expanded.
func Preview(file string, data []byte) ([]*Server, []Problem) {
	l := gatherer{newLoader(func(string) (string, bool) { return "", false })}
	from := origin{source: SourceProject, lenient: true, untrusted: file}
	if c := clientOf(file); c != nil {
		l.imports(c, file, data, from)
	} else if src, root, err := parseSource(file, data); err != nil {
		l.unreadable(err)
	} else {
		l.imported(root, src, from, func(place, string) {})
	}
	cfg := l.config()
	return cfg.Servers, cfg.Problems
}

// clientOf is the client whose file in a project this is, nil for the project's own.
func clientOf(file string) *client {
	for _, c := range clients {
		if c.project != "" && strings.HasSuffix(file, string(filepath.Separator)+c.project) {
			return c
		}
	}
	return nil
}
