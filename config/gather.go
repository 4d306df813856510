package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/tailscale/hujson"
)

// Sources says where a configuration comes from.
type Sources struct {
	// Files are the hub's own. A later one wins, per server and per setting.
	Files []string
	// Trust is the file that says what of others may run, as [ReadTrust] reads it.
	Trust string
	// Env looks up a variable of the hub's environment, as os.LookupEnv does.
	Env func(string) (string, bool)
}

// projectFile is where a project keeps servers for the hub.
var projectFile = filepath.Join(".mcphub", "config.json")

// Load reads all that the files name: themselves, the files of other clients that they import, the project's own file,
// and skills. Where two have a server of one name, the first of these wins, and every loss is a problem. What comes from
// another client or the project waits for trust.
//
// The error is not nil only when a file of the hub's own cannot be read or parsed at all, and then names every such file.
// Everything else is in Config.Problems.
func (s Sources) Load() (*Config, error) {
	l := newLoader(s.Env)
	if err := l.addAll(s.Files); err != nil {
		return nil, err
	}
	trust, err := ReadTrust(s.Trust)
	if err != nil {
		return nil, err
	}
	l.looked = append(l.looked, s.Trust)
	l.trust = trust
	l.project = l.settings.ProjectDir
	if dir := filepath.Dir(slices.Concat(s.Files, []string{"."})[0]); !filepath.IsAbs(l.project) {
		l.project = filepath.Join(dir, l.project)
	}
	for _, client := range l.settings.ImportConfigs {
		l.addForeign(client)
	}
	l.addProject()
	l.addSkills()
	return l.config(), nil
}

// addAll reads the hub's own files.
func (l *loader) addAll(paths []string) error {
	var errs []error
	for _, path := range paths {
		l.looked = append(l.looked, path)
		data, err := readFile(path)
		if err == nil {
			err = l.add(path, data)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// lesser reads a file that is not the hub's own: it gives way to all before it, and what is wrong with it stops nothing.
// parse makes our form of its content.
func (l *loader) lesser(path string, as Source, parse func([]byte) ([]byte, []Problem, error)) {
	l.looked = append(l.looked, path)
	data, err := readFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return // it need not be there
	}
	var text []byte
	if err == nil {
		var problems []Problem
		text, problems, err = parse(data)
		l.hub.problems = append(l.hub.problems, problems...)
	}
	var src *source
	var root hujson.Value
	if err == nil {
		src, root, err = parseSource(path, text)
	}
	if err != nil {
		l.hub.problems = append(l.hub.problems, Problem{File: path, Severity: Warning, Message: err.Error() + "; its servers are left out"})
		return
	}
	untrusted := ""
	if !l.trust.Holds(path, data) {
		untrusted = l.project
	}
	l.take(src, root, func(s *Server) { s.Source, s.Untrusted = as, untrusted })
}

// take takes the servers of a source that gives way, each marked as what it is.
func (l *loader) take(src *source, root hujson.Value, mark func(*Server)) {
	l.files = append(l.files, src.name)
	at := place{src: src}
	obj, ok := root.Value.(*hujson.Object)
	if !ok {
		l.hub.warnf(at, `must be an object, like {"mcpServers": {…}}, and is %s`, kindName(root))
		return
	}
	l.mark = mark
	defer func() { l.mark = nil }()
	for _, m := range obj.Members {
		name := m.Name.Value.(hujson.Literal).String()
		here := at.member(name, m.Name.StartOffset)
		switch name {
		case "mcpServers", "servers":
			here.off = m.Value.StartOffset
			l.servers(m.Value, here)
		case "$schema":
		default:
			l.hub.warnf(here, "has no effect: of this file the servers alone are taken")
		}
	}
}

// addForeign reads the file that another client keeps in the project.
func (l *loader) addForeign(client string) {
	file, ok := importFiles[client]
	if !ok {
		return // which the tags have said
	}
	path := filepath.Join(l.project, file)
	l.lesser(path, SourceImport, func(data []byte) ([]byte, []Problem, error) { return translate(client, path, data) })
}

// addProject reads the project's own file.
func (l *loader) addProject() {
	path := filepath.Join(l.project, projectFile)
	if slices.ContainsFunc(l.files, func(own string) bool { return absolute(own) == absolute(path) }) {
		return // the operator runs the hub by it
	}
	l.lesser(path, SourceProject, func(data []byte) ([]byte, []Problem, error) { return data, nil, nil })
}

// Trustable are the files below a project's directory that wait for trust where they are there.
func Trustable(dir string) []string {
	files := []string{filepath.Join(dir, projectFile)}
	for _, client := range sortedKeys(importFiles) {
		files = append(files, filepath.Join(dir, importFiles[client]))
	}
	return files
}

// Preview reads a file that waits for trust, for showing what it would run.
func Preview(dir, file string) ([]*Server, error) {
	l := newLoader(func(string) (string, bool) { return "", false })
	l.trust, l.project = &Trust{}, dir
	for client, name := range importFiles {
		if filepath.Join(dir, name) == file {
			l.lesser(file, SourceImport, func(data []byte) ([]byte, []Problem, error) { return translate(client, file, data) })
		}
	}
	if filepath.Join(dir, projectFile) == file {
		l.lesser(file, SourceProject, func(data []byte) ([]byte, []Problem, error) { return data, nil, nil })
	}
	cfg := l.config()
	if len(cfg.Servers) == 0 && len(cfg.Problems) > 0 {
		return nil, fmt.Errorf("%s", cfg.Problems[0].Message)
	}
	return cfg.Servers, nil
}
