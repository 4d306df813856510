// Package config turns configuration files into one checked, read-only value.
//
// A file is JSON with comments and trailing commas. The structs [Settings] and [Server] are at once the manual, the
// file's shape and the value that the other rooms read: their doc comments and struct tags are what config.schema.json
// and the tables of README.md are made from (go generate ./config), what the decoder follows, and what a test compares.
// The tags are listed in field.go.
package config

import (
	"cmp"
	"fmt"
	"slices"
)

//go:generate go run ./internal/manual/generate

// Config is everything the files say, merged, defaulted, expanded and checked. Nobody changes it after Gather.
type Config struct {
	// Settings holds for the hub as a whole. A setting that had a problem has its default.
	Settings Settings
	// Servers is in order of their sources, then in file order, the first mention of a name deciding its place. Entries that cannot run are among them,
	// with Failed set.
	Servers []*Server
	// Problems is everything found wrong or doubtful in all files, in order of file, line and column.
	Problems []Problem
	// Skills are the skills that carry servers, in the order of settings.skills. Gather only.
	Skills []Skill
	// Files are the paths that were looked for, whether something is there or not: what to watch.
	Files []string

	digests map[string]digest // what Files held when they were read
}

// Skill is a directory with instructions for an agent and the servers that these need.
type Skill struct {
	Name        string   // from its front matter, or that of its directory; like a server's name
	Description string   // from its front matter
	Dir         string   // its directory
	Text        string   // all of SKILL.md
	Servers     []string // the entries that it carries, without those that lost to another of their name
}

// Server returns the entry of that name, or nil.
func (c *Config) Server(name string) *Server {
	for _, s := range c.Servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// Source is where an entry comes from. Where two have one name, the earlier in this list wins.
type Source string

const (
	// SourceFile is a file of the hub's own.
	SourceFile Source = "file"
	// SourceImport is another client's file.
	SourceImport Source = "import"
	// SourceProject is the project's .mcphub/config.json.
	SourceProject Source = "project"
	// SourceRegistered is somebody who has handed the server over to the running hub, for everybody.
	SourceRegistered Source = "registered"
	// SourceScope is the same for those alone who are in a scope.
	SourceScope Source = "scope"
	// SourceSkill is a skill.
	SourceSkill Source = "skill"
)

// HandedOver says that the entry is in no file.
func (s Source) HandedOver() bool { return s == SourceRegistered || s == SourceScope }

// Severity says whether a problem takes something out of service.
type Severity int

const (
	// Error means that the server it names does not run, or that the setting it names has its default.
	Error Severity = iota
	// Warning means that everything runs, but perhaps not as its author thinks.
	Warning
)

// String returns "error" or "warning".
func (s Severity) String() string {
	if s == Warning {
		return "warning"
	}
	return "error"
}

// Problem is one thing wrong or doubtful in a file, with its place and what to do about it. It never holds a secret.
type Problem struct {
	File         string   // as given to Load
	Line, Column int      // from 1, the column in bytes; 0 when the problem is in no file
	Path         string   // JSON path like mcpServers.github.env.TOKEN
	Server       string   // the entry it belongs to; "" when it concerns the hub
	Severity     Severity // Error or Warning
	Message      string   // what is wrong and the next step
}

// String is one line: file:line:column: severity: path: message, without the parts that are empty.
func (p Problem) String() string {
	s := p.Severity.String() + ": "
	if p.File != "" && p.Line == 0 {
		s = p.File + ": " + s
	} else if p.File != "" {
		s = fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, s)
	}
	if p.Path != "" {
		s += p.Path + ": "
	}
	return s + p.Message
}

// sortProblems orders by file as given, then by place, and keeps the order in which one place's problems were found.
func sortProblems(problems []Problem, files []string) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(files, a.File), slices.Index(files, b.File)),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
}
