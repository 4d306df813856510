package config

import (
	_ "embed"
	"errors"
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
	if err := l.own(paths); err != nil {
		return nil, err
	}
	return l.config(), nil
}

// own reads the operator's own files.
func (l *loader) own(paths []string) error {
	var errs []error
	for _, path := range paths {
		data, err := l.read(path)
		if err == nil {
			err = l.add(path, data)
		} else {
			err = fmt.Errorf("reading configuration: %w", err)
		}
		errs = append(errs, err)
	}
	l.owned = len(l.files)
	return errors.Join(errs...)
}

// Parse does what Load does for one file that is in memory. name stands for the file in problems and errors.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, error) {
	l := newLoader(env)
	if err := l.add(name, data); err != nil {
		return nil, err
	}
	return l.config(), nil
}

// read notes that the file was looked for, and what it held.
func (l *loader) read(path string) ([]byte, error) {
	data, err := readFile(path)
	l.note(path, digestOf(data, err))
	return data, err
}

// note keeps a path to watch.
func (l *loader) note(path string, held digest) {
	if _, known := l.digests[path]; !known {
		l.files = append(l.files, path)
	}
	l.digests[path] = held
}

// readFile stops one byte after the limit, which newSource then reports.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileBytes+1))
}

// loader gathers files.
type loader struct {
	env      func(string) (string, bool)
	dry      bool // nothing is expanded
	trust    *Trust
	files    []string // looked for, in order
	owned    int      // how many of them are the operator's own
	digests  map[string]digest
	skills   []Skill
	settings Settings
	hub      decoder // hub-wide problems, and where settings were written
	entries  []*entry
	byName   map[string]*entry
}

// entry is a server under construction.
type entry struct {
	decoder
	server     *Server
	place      place // of its name
	raw        hujson.Value
	broken     bool // it is no object, and there is nothing more to say
	urlUnknown bool // a variable of the url is missing, so its form cannot be checked
	origin     origin
}

// origin is where entries come from, and what follows from that.
type origin struct {
	source    Source
	untrusted string            // the directory that is to be trusted first
	dir       string            // where programs run that name no absolute directory; "" for the hub's own
	variables map[string]string // names that ${…} may hold beside those of the environment
	skill     string
	lenient   bool // what means nothing here is the other client's, and no mistake
}

func newLoader(env func(string) (string, bool)) *loader {
	l := &loader{env: env, digests: map[string]digest{}, hub: decoder{at: map[string]place{}}, byName: map[string]*entry{}}
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
		l.servers(m.Value, at, origin{source: SourceFile})
	default:
		at.off = m.Name.StartOffset
		l.hub.unknownTop(at, name)
	}
}

// servers takes the entries of one file.
func (l *loader) servers(val hujson.Value, at place, from origin) {
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
		here[name] = l.entry(m.Value, place, name, from)
	}
}

// entry decodes one server and settles which one of its name counts.
func (l *loader) entry(val hujson.Value, at place, name string, from origin) *entry {
	line, _ := at.src.position(at.off)
	e := &entry{place: at, raw: val, origin: from, decoder: decoder{at: map[string]place{}, lenient: from.lenient}}
	e.server = &Server{Name: name, File: at.src.name, Line: line}
	if !serverName.MatchString(name) {
		e.errorf(at, "a server's name starts with a letter or digit and has up to 64 letters, digits, '_', '.' and '-'; rename it")
	}
	setDefaults(reflect.ValueOf(e.server).Elem())
	e.server.Source, e.server.Untrusted, e.server.Skill = from.source, from.untrusted, from.skill
	at.off = val.StartOffset
	e.object(val, at, "", reflect.ValueOf(e.server).Elem())
	_, isObject := val.Value.(*hujson.Object)
	e.broken = !isObject
	l.settle(e)
	return e
}

// settle lets an entry take its place. Among the operator's files the later wins, and they win over all other sources,
// of which the first wins.
func (l *loader) settle(e *entry) {
	old := l.byName[e.server.Name]
	switch {
	case old == nil:
		l.byName[e.server.Name] = e
		l.entries = append(l.entries, e)
	case e.origin.source != SourceFile:
		l.hub.warnf(e.place, "has no effect: %s:%d has a server of the same name", old.server.File, old.server.Line)
	default:
		l.byName[e.server.Name] = e
		l.hub.problems = append(l.hub.problems, old.problems...)
		l.hub.warnf(old.place, "has no effect: %s:%d has a server of the same name, and the later file wins", e.server.File, e.server.Line)
		l.entries[slices.Index(l.entries, old)] = e
	}
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
	c := &Config{Settings: l.settings, Skills: l.skills, Files: l.files, digests: l.digests}
	for _, e := range l.entries {
		e.finish(l.variables(e))
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

// variables is what an entry may look up, or nil when it is not to be expanded.
func (l *loader) variables(e *entry) func(string) (string, bool) {
	if l.dry || e.server.Untrusted != "" {
		return nil
	}
	return e.origin.lookup(l.env)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
