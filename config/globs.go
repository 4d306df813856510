package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Globs is a list of patterns over names: `*`, `?`, `[…]` and `{a,b}`. A star also matches a slash: a tool's name is no
// path. Patterns were checked when the file was loaded.
type Globs []string

// everything is what true stands for.
var everything = Globs{"*"}

// Match reports whether any of the patterns matches the whole name.
func (g Globs) Match(name string) bool {
	for _, pattern := range g {
		if globMatch(pattern, name) {
			return true
		}
	}
	return false
}

// globMatch hides slashes from doublestar, for which they separate.
func globMatch(pattern, name string) bool {
	if pattern == name || pattern == "*" {
		return true
	}
	const hidden = "\x1f"
	return doublestar.MatchUnvalidated(strings.ReplaceAll(pattern, "/", hidden), strings.ReplaceAll(name, "/", hidden))
}

// Includes reports whether the entry lets a tool through, by the server's own name for it. See Excludes.
func (s *Server) Includes(tool string) bool { return s.Excludes(tool) == "" }

// Excludes is the field that keeps a tool out, by the server's own name for the tool and as [Server.Place] takes it, "" where
// none does: "includeTools" that has no pattern for it, then "excludeTools[n]" that has one, then "tools.NAME.enabled".
func (s *Server) Excludes(tool string) (key string) {
	if len(s.IncludeTools) > 0 && !s.IncludeTools.Match(tool) {
		return "includeTools"
	}
	for i, pattern := range s.ExcludeTools {
		if globMatch(pattern, tool) {
			return "excludeTools[" + strconv.Itoa(i) + "]"
		}
	}
	if override, ok := s.Tools[tool]; ok && !override.Enabled {
		return "tools." + tool + ".enabled"
	}
	return ""
}

// Unmatched returns the globs of includeTools and excludeTools, and the names in tools, that fit none of the server's
// tools: most likely misspelled. The order is that of the file, names in tools last and sorted.
func (s *Server) Unmatched(tools []string) []string {
	var lost []string
	for _, list := range []Globs{s.IncludeTools, s.ExcludeTools} {
		for _, pattern := range list {
			if !matchesAny(pattern, tools) {
				lost = append(lost, pattern)
			}
		}
	}
	for _, name := range sortedKeys(s.Tools) {
		if !slices.Contains(tools, name) {
			lost = append(lost, name)
		}
	}
	return lost
}

func matchesAny(pattern string, names []string) bool {
	for _, name := range names {
		if globMatch(pattern, name) {
			return true
		}
	}
	return false
}
