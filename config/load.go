package config

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

//go:embed schema.json
var schema []byte

// Schema returns config.schema.json: JSON Schema 2020-12 for a configuration file.
func Schema() []byte { return slices.Clone(schema) }

var serverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// Load reads, merges, defaults, expands and checks the files. A later file wins, per server and per setting, and every
// loss is a problem. env looks up a variable of the hub's environment, as os.LookupEnv does.
//
// The error is not nil only when a file cannot be read or parsed at all, and then names every such file. Everything else
// is in Config.Problems.
func Load(paths []string, env func(string) (string, bool)) (*Config, error) {
	l := newLoader(env)
	if err := l.addAll(paths); err != nil {
		return nil, err
	}
	return l.config(), nil
}

// Parse does what Load does for one file that is in memory. name stands for the file in problems and errors.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, error) {
	l := newLoader(env)
	if err := l.add(name, data); err != nil {
		return nil, err
	}
	return l.config(), nil
}

// readFile stops one byte after the limit, which parseSource then reports.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading configuration: %w", err)
	}
	return data, nil
}

// loader gathers files.
type loader struct {
	env      func(string) (string, bool)
	files    []string
	settings Settings
	hub      decoder // hub-wide problems, and where settings were written
	entries  []*entry
	byName   map[string]*entry
	skills   []Skill

	looked  []string // the files that were looked for
	trust   *Trust
	project string        // the project's directory
	mark    func(*Server) // marks entries that give way to earlier ones; nil while the hub's own files are read
}

// entry is a server under construction.
type entry struct {
	decoder
	server     *Server
	place      place // of its name
	broken     bool  // it is no object, and there is nothing more to say
	urlUnknown bool  // a variable of the url is missing, so its form cannot be checked
}

func newLoader(env func(string) (string, bool)) *loader {
	l := &loader{env: env, hub: decoder{at: map[string]place{}}, byName: map[string]*entry{}}
	setDefaults(reflect.ValueOf(&l.settings).Elem())
	return l
}

// add reads one more file.
func (l *loader) add(name string, data []byte) error {
	src, root, err := parseSource(name, data)
	if err != nil {
		return err
	}
	obj, ok := root.Value.(*hujson.Object)
	if !ok {
		return fmt.Errorf(`reading %s: must be an object, like {"mcpServers": {…}}, and is %s`, name, kindName(root))
	}
	l.files = append(l.files, name)
	earlier := maps.Clone(l.hub.at)
	seen := map[string]string{}
	for _, m := range obj.Members {
		l.member(m, place{src: src}, seen)
	}
	l.reportLostSettings(earlier)
	return nil
}

// member takes one member of the file's top level.
func (l *loader) member(m hujson.ObjectMember, root place, seen map[string]string) {
	name := m.Name.Value.(hujson.Literal).String()
	at := root.member(name, m.Name.StartOffset)
	means := name
	if name == "servers" {
		means = "mcpServers" // as VS Code calls it
	}
	if other, dup := seen[means]; dup {
		l.hub.errorf(at, "%s; keep one of them", setTwice(name, other))
		return
	}
	seen[means] = name
	at.off = m.Value.StartOffset
	switch {
	case means == "$schema":
	case m.Value.Value.Kind() == 'n' && (means == "settings" || means == "mcpServers"):
	case means == "settings":
		l.hub.object(m.Value, at, "", reflect.ValueOf(&l.settings).Elem())
	case means == "mcpServers":
		l.servers(m.Value, at)
	default:
		at.off = m.Name.StartOffset
		l.hub.unknownTop(at, name)
	}
}

// servers takes the entries of one file.
func (l *loader) servers(val hujson.Value, at place) {
	obj, ok := val.Value.(*hujson.Object)
	if !ok {
		l.hub.errorf(at, "must be an object of servers by name, and is %s", kindName(val))
		return
	}
	here := map[string]*entry{}
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		place := at.member(name, m.Name.StartOffset)
		place.server = name
		if first, dup := here[name]; dup {
			first.errorf(place, "this server is there twice; rename or remove one of them")
			continue
		}
		here[name] = l.entry(m.Value, place, name)
	}
}

// entry decodes one server and lets it replace one of the same name from an earlier file.
func (l *loader) entry(val hujson.Value, at place, name string) *entry {
	line, _ := at.src.position(at.off)
	e := &entry{server: &Server{Name: name, File: at.src.name, Line: line}, place: at, decoder: decoder{at: map[string]place{}}}
	if !serverName.MatchString(name) {
		e.errorf(at, "a server's name starts with a letter or digit and has up to 64 letters, digits, '_', '.' and '-'; rename it")
	}
	setDefaults(reflect.ValueOf(e.server).Elem())
	at.off = val.StartOffset
	e.object(val, at, "", reflect.ValueOf(e.server).Elem())
	_, isObject := val.Value.(*hujson.Object)
	e.broken = !isObject
	old := l.byName[name]
	if l.mark != nil && old != nil {
		l.hub.warnf(e.place, "has no effect: %s has a server of the same name, and wins", old.server.where())
		return e
	}
	if l.mark != nil {
		l.mark(e.server)
	}
	l.byName[name] = e
	if old == nil {
		l.entries = append(l.entries, e)
		return e
	}
	l.hub.problems = append(l.hub.problems, old.problems...)
	l.hub.warnf(old.place, "has no effect: %s has a server of the same name, and the later file wins", e.server.where())
	l.entries[slices.Index(l.entries, old)] = e
	return e
}

// reportLostSettings compares where settings were written before and after a file.
func (l *loader) reportLostSettings(earlier map[string]place) {
	for _, key := range sortedKeys(earlier) {
		was, now := earlier[key], l.hub.at[key]
		if was != now && !strings.Contains(key, "[") && !hasBelow(l.hub.at, key) {
			line, _ := now.src.position(now.off)
			l.hub.warnf(was, "has no effect: %s:%d sets it too, and the later file wins", now.src.name, line)
		}
	}
}

// hasBelow reports whether a key is an object with members of its own.
func hasBelow(at map[string]place, key string) bool {
	for k := range at {
		if strings.HasPrefix(k, key+".") {
			return true
		}
	}
	return false
}

// config checks everything and closes the books.
func (l *loader) config() *Config {
	l.checkSettings()
	l.startupTimeout()
	c := &Config{Settings: l.settings, Skills: l.skills, Files: l.looked}
	for _, e := range l.entries {
		e.finish(l.env)
		e.keepPlaces()
		c.Servers = append(c.Servers, e.server)
		c.Problems = append(c.Problems, e.problems...)
		for _, p := range e.problems {
			if p.Severity == Error {
				e.server.Failed = append(e.server.Failed, p)
			}
		}
	}
	c.Problems = append(c.Problems, l.hub.problems...)
	sortProblems(c.Problems, l.files)
	return c
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
