package config

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// projectFile is what a project says to hubs, below its directory.
var projectFile = filepath.Join(".mcphub", "config.json")

// Gather does what Load does, and adds the servers of the other sources, in this order: what settings.importConfigs names
// in the project directory, the project's own .mcphub/config.json, and settings.skills. Where two sources have a server
// of one name the first wins, also when its entry is disabled, and the loss is a problem.
//
// A file of the project runs nothing unless trust says so; until then its entries have Untrusted set and are not
// expanded. A file of another source that cannot be read is a problem, never an error.
func Gather(paths []string, env func(string) (string, bool), trust *Trust) (*Config, error) {
	l := gatherer{newLoader(env)}
	l.trust = trust
	if err := l.own(paths); err != nil {
		return nil, err
	}
	if dir, ok := l.projectDir(paths); ok {
		for _, name := range l.settings.ImportConfigs {
			c := clientNamed(name)
			l.foreign(c, filepath.Join(dir, c.project), dir)
		}
		l.project(dir)
	}
	skillReader{l}.gather()
	if trust != nil {
		l.note(trust.path, trust.held)
	}
	return l.config(), nil
}

// gatherer reads what the hub's own files name.
type gatherer struct{ *loader }

// projectDir settles settings.projectDir, absolute and without symbolic links, so that trust has one name for it.
func (l gatherer) projectDir(paths []string) (string, bool) {
	dir, ok := l.settingPath("projectDir", l.settings.ProjectDir)
	if !ok || len(paths) == 0 {
		return "", false
	}
	if dir == "" {
		dir = filepath.Dir(paths[0])
	}
	dir, err := CanonicalDir(dir)
	if err != nil && l.settings.ProjectDir != "" {
		l.hub.warnf(l.settingAt("projectDir"), "there is no such directory; make it, or name another")
	}
	l.settings.ProjectDir = dir
	return dir, err == nil
}

// CanonicalDir is the one name that a directory has for trust: absolute, without symbolic links. The error says that
// there is no such directory.
func CanonicalDir(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return dir, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return dir, err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return dir, errors.Join(err, fs.ErrNotExist)
	}
	return real, nil
}

// settingPath expands a path of the settings, which counts from the directory of the file that says it.
func (l gatherer) settingPath(key, text string) (string, bool) {
	if text == "" {
		return "", true
	}
	var missing []string
	path, err := expandText(text, func(name string) string {
		value, ok := l.env(name)
		if !ok {
			missing = append(missing, name)
		}
		return value
	}, l.env)
	switch {
	case err != nil:
		l.hub.errorf(l.settingAt(key), "%s", err)
		return "", false
	case len(missing) > 0:
		l.hub.errorf(l.settingAt(key), "not set in the hub's environment: %s; set what is missing, or write ${NAME:-default}", strings.Join(missing, ", "))
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(l.settingAt(key).src.name), path)
	}
	return path, true
}

// settingAt is where a setting was written.
func (l *loader) settingAt(key string) place { return l.hub.at[key] }

// fetch reads a file of another source. It reports false for one that is absent, or that was read as the operator's own.
func (l gatherer) fetch(path string) ([]byte, bool) {
	if slices.ContainsFunc(l.files[:l.owned], func(known string) bool { return sameFile(known, path) }) {
		return nil, false
	}
	data, err := l.read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		l.unreadable(&unreadable{file: path, message: err.Error()})
	}
	return data, err == nil
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// unreadable makes a problem of a file that stops nothing else.
func (l gatherer) unreadable(err error) {
	p := Problem{Severity: Error, Message: err.Error()}
	var u *unreadable
	if errors.As(err, &u) {
		p.File, p.Line, p.Column, p.Message = u.file, u.line, u.column, "its servers are left out: "+u.message
	}
	l.hub.problems = append(l.hub.problems, p)
}

// mayRun says for a file of the project whether its servers may run: "" or the directory to trust.
func (l gatherer) mayRun(path string, data []byte, dir string) string {
	if l.trust.Trusts(path, data) {
		return ""
	}
	return dir
}

// foreign imports another client's file.
func (l gatherer) foreign(c *client, path, dir string) {
	data, ok := l.fetch(path)
	if !ok {
		return
	}
	from := c.origin(dir, l.env)
	from.untrusted = l.mayRun(path, data, dir)
	l.imports(c, path, data, from)
}

// project takes the servers of the project's own file.
func (l gatherer) project(dir string) {
	path := filepath.Join(dir, projectFile)
	data, ok := l.fetch(path)
	if !ok {
		return
	}
	src, root, err := parseSource(path, data)
	if err != nil {
		l.unreadable(err)
		return
	}
	from := origin{source: SourceProject, dir: dir, untrusted: l.mayRun(path, data, dir)}
	l.imported(root, src, from, func(at place, name string) {
		if name == "settings" {
			l.hub.warnf(at, "has no effect: a project has no say in the hub's settings; move it to the hub's own configuration")
		} else {
			l.hub.warnf(at, `means nothing to the hub and is left out; a project's file has "mcpServers"`)
		}
	})
}

// skillFile is what makes a directory a skill, and skillServers what it may have beside it.
const (
	skillFile    = "SKILL.md"
	skillServers = "mcp.json"
)

// skillReader reads skills.
type skillReader struct{ gatherer }

// gather goes through settings.skills.
func (l skillReader) gather() {
	for i, text := range l.settings.Skills {
		key := "skills[" + strconv.Itoa(i) + "]"
		dir, ok := l.settingPath(key, text)
		if !ok || text == "" {
			continue
		}
		dir, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		l.settings.Skills[i] = dir
		l.in(dir, l.settingAt(key))
	}
}

// in takes a directory that is a skill, or that holds some.
func (l skillReader) in(dir string, at place) {
	if _, err := os.Stat(filepath.Join(dir, skillFile)); err == nil {
		if !l.skill(dir) {
			l.hub.warnf(at, "the skill carries no servers; put them into %s beside %s", skillServers, skillFile)
		}
		return
	}
	names, held := listDir(dir)
	l.note(dir, held)
	l.note(filepath.Join(dir, skillFile), digest{})
	found := false
	for _, name := range names {
		found = l.skill(filepath.Join(dir, name)) || found
	}
	if !found {
		l.hub.warnf(at, "holds no skill: neither it nor a directory in it has %s with servers", skillFile)
	}
}

// maxSkills bounds what is looked at, and watched, in one directory.
const maxSkills = 1000

// listDir returns the directories in a directory, sorted, and a digest of their names.
func listDir(dir string) ([]string, digest) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, digest{}
	}
	var names []string
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() && len(names) < maxSkills {
			names = append(names, e.Name())
		}
	}
	return names, digestOf([]byte(strings.Join(names, "\x00")+"\x00"), nil)
}
