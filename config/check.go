package config

import (
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// maxProgress is how many times requestTimeoutMs a request with progress may take by default.
const maxProgress = 10

// maxTimeoutMs is a week, as in the tags of the timeouts.
const maxTimeoutMs = 604_800_000

// placeOf is where a field was written, or where its server is.
func (e *entry) placeOf(key string) place {
	if at, ok := e.at[key]; ok {
		return at
	}
	return e.place
}

// written reports whether the file sets a field, by its canonical name.
func (e *entry) written(key string) bool {
	_, ok := e.at[key]
	return ok
}

// finish checks a decoded entry, and expands it unless it is disabled: then its variables need not be there. Without env
// only the form of what would be expanded is checked.
func (e *entry) finish(env func(string) (string, bool)) {
	if e.broken {
		return
	}
	e.checkTimeouts()
	e.checkEmptyFilter()
	e.literalSecrets()
	if !e.resolveType() {
		return
	}
	e.checkIdle()
	if e.server.Enabled && e.server.Untrusted == "" {
		e.expand(env)
		e.checkProgram()
		e.checkURL()
		if env != nil {
			e.settleCwd()
		}
	}
	e.checkHeaders()
	e.checkAuth()
	e.server.Secrets = uniqueSecrets(e.server.Secrets)
}

// lookup finds the variables of the source before those of the environment.
func (o origin) lookup(env func(string) (string, bool)) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if value, ok := o.variables[name]; ok {
			return value, true
		}
		return env(name)
	}
}

// settleCwd makes a program of a project or a skill run where its author was.
func (e *entry) settleCwd() {
	if s := e.server; s.Type == TypeStdio && e.origin.dir != "" && !filepath.IsAbs(s.Cwd) {
		s.Cwd = filepath.Join(e.origin.dir, s.Cwd)
	}
}

// resolveType settles whether the server is a program or a URL, and reports whether it is any.
func (e *entry) resolveType() bool {
	s := e.server
	if s.Command == "" && s.URL == "" {
		if !e.failed() { // else that is probably why
			e.errorf(e.place, `needs a "command" (a program) or a "url" (an HTTP server)`)
		}
		return false
	}
	switch {
	case s.Command != "" && s.URL != "":
		e.warnf(e.placeOf("url"), `has no effect: the entry has a "command" too, and that is what runs; remove one of them`)
		s.Type = TypeStdio
	case s.Command != "":
		if s.Type == TypeHTTP || s.Type == TypeSSE {
			e.errorf(e.placeOf("type"), `is %q, which needs a "url" in place of the "command"`, s.Type)
		}
		s.Type = TypeStdio
	case s.Type == TypeStdio:
		e.errorf(e.placeOf("type"), `is "stdio", which needs a "command" in place of the "url"`)
	case s.Type == "":
		s.Type = TypeHTTP
	}
	return true
}

// checkEmptyFilter warns of a list that looks as if it let nothing through.
func (e *entry) checkEmptyFilter() {
	if include := e.server.IncludeTools; include != nil && len(include) == 0 {
		e.warnf(e.placeOf("includeTools"), `an empty list lets all tools through; for none write "excludeTools": ["*"]`)
	}
}

// failed reports whether an error was found so far.
func (e *entry) failed() bool {
	return slices.ContainsFunc(e.problems, func(p Problem) bool { return p.Severity == Error })
}

// checkIdle warns of fields that say nothing about a server of this type.
func (e *entry) checkIdle() {
	s := e.server
	idle := map[string]bool{"headers": len(s.Headers) > 0, "bearerTokenEnv": s.BearerTokenEnv != "", "auth": s.Auth != AuthAuto}
	kind := "a program"
	if s.Type != TypeStdio {
		idle = map[string]bool{"args": len(s.Args) > 0, "env": len(s.Env) > 0, "inheritEnv": s.InheritEnv, "cwd": s.Cwd != ""}
		kind = "reached by a URL"
	}
	for _, key := range sortedKeys(idle) {
		if idle[key] {
			e.warnf(e.placeOf(key), "has no effect: the server is %s; remove it", kind)
		}
	}
}

// checkTimeouts fills in the largest timeout and compares the timeouts with each other.
func (e *entry) checkTimeouts() {
	s := e.server
	if s.MaxRequestTimeout == 0 {
		s.MaxRequestTimeout = maxProgress * s.RequestTimeout
	}
	if s.MaxRequestTimeout < s.RequestTimeout {
		e.errorf(e.placeOf("maxRequestTimeoutMs"), "is less than requestTimeoutMs, %d; raise it", s.RequestTimeout.Milliseconds())
	}
	for _, name := range sortedKeys(s.Tools) {
		if s.Tools[name].Timeout > max(s.MaxRequestTimeout, s.RequestTimeout) {
			e.errorf(e.placeOf("tools."+name+".timeoutMs"), "is more than maxRequestTimeoutMs, %d; raise that too", s.MaxRequestTimeout.Milliseconds())
		}
	}
}

// checkProgram refuses what the operating system cannot take.
func (e *entry) checkProgram() {
	s := e.server
	if s.Type == TypeStdio && e.written("command") && s.Command == "" {
		e.errorf(e.placeOf("command"), "is empty once its variables are replaced; name a program")
	}
	keys := map[string]string{"command": s.Command, "cwd": s.Cwd}
	for i, arg := range s.Args {
		keys[fmt.Sprintf("args[%d]", i)] = arg
	}
	for name, value := range s.Env {
		keys["env."+name] = value
		if name == "" || strings.ContainsAny(name, "=\x00") {
			e.errorf(e.placeOf("env."+name), "is no name for a variable; rename it")
		}
	}
	for _, key := range sortedKeys(keys) {
		if strings.Contains(keys[key], "\x00") {
			e.errorf(e.placeOf(key), "holds a NUL character; remove it")
		}
	}
}

// checkURL never quotes the URL, which may hold a password.
func (e *entry) checkURL() {
	s := e.server
	if s.Type == TypeStdio || e.urlUnknown { // a program, or a URL with what is not known
		return
	}
	u, err := url.Parse(s.URL)
	switch {
	case err != nil:
		e.errorf(e.placeOf("url"), "is no valid URL; write it like https://host/mcp")
	case u.Scheme != "http" && u.Scheme != "https":
		e.errorf(e.placeOf("url"), "must start with http:// or https://")
	case u.Hostname() == "":
		e.errorf(e.placeOf("url"), "has no host; write it like https://host/mcp")
	}
	s.Secrets = append(s.Secrets, urlSecrets(s.URL)...)
}

// ownHeaders are set by the hub for each request, by the rules of MCP and HTTP.
var ownHeaders = []string{
	"accept", "connection", "content-length", "content-type", "host", "last-event-id", "mcp-method", "mcp-name",
	"mcp-protocol-version", "mcp-session-id", "transfer-encoding",
}

// checkHeaders refuses what would break a request, and drops what the hub sets itself.
func (e *entry) checkHeaders() {
	seen := map[string]string{}
	for _, name := range sortedKeys(e.server.Headers) {
		at, lower := e.placeOf("headers."+name), strings.ToLower(name)
		switch other, dup := seen[lower]; {
		case !headerName(name):
			e.errorf(at, "is no valid header name; use letters, digits and '-'")
		case !headerValue(e.server.Headers[name]):
			e.errorf(at, "the value holds a line break or another control character; remove it")
		case dup:
			e.errorf(at, "is the same header as %q; keep one of them", other)
		case slices.Contains(ownHeaders, lower):
			e.warnf(at, "has no effect: the hub sets this header itself; remove it")
			delete(e.server.Headers, name)
		}
		seen[lower] = name
	}
}

func headerName(s string) bool {
	for _, r := range s {
		if !(r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || strings.ContainsRune("!#$%&'*+-.^_`|~", r)) {
			return false
		}
	}
	return s != ""
}

func headerValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

// checkAuth compares the ways to authenticate with each other.
func (e *entry) checkAuth() {
	s := e.server
	if s.Type == TypeStdio {
		return
	}
	header := slices.ContainsFunc(sortedKeys(s.Headers), func(name string) bool { return strings.EqualFold(name, "Authorization") })
	switch {
	case s.Auth == AuthNone && s.BearerTokenEnv != "":
		e.warnf(e.placeOf("bearerTokenEnv"), `has no effect with "auth": false; remove one of them`)
	case s.BearerTokenEnv != "" && header:
		e.errorf(e.placeOf("bearerTokenEnv"), "there is an Authorization header too; keep one of them")
	case s.Auth == AuthBearer && s.BearerTokenEnv == "" && !header:
		e.errorf(e.placeOf("auth"), `is "bearer", which needs "bearerTokenEnv" or an Authorization header`)
	}
}

// checkGlobs reports patterns that are none.
func (d *decoder) checkGlobs(globs Globs, key string) {
	for i, pattern := range globs {
		at := d.at[fmt.Sprintf("%s[%d]", key, i)]
		switch {
		case pattern == "":
			d.errorf(at, "is empty and matches nothing; remove it")
		case !doublestar.ValidatePattern(pattern):
			d.errorf(at, `is no valid pattern; close every [ and {, or put \ in front of it`)
		}
	}
}

// startupTimeout applies the variable that overrides startupTimeoutMs of all servers.
func (l *loader) startupTimeout() {
	const variable = "MCPHUB_STARTUP_TIMEOUT_MS"
	text, ok := l.env(variable)
	if !ok || text == "" {
		return
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 || ms > maxTimeoutMs {
		l.hub.problems = append(l.hub.problems, Problem{Path: variable, Severity: Error, Message: fmt.Sprintf(
			"must be a whole number of milliseconds, at most %d; until then each server's startupTimeoutMs holds", maxTimeoutMs)})
		return
	}
	for _, e := range l.entries {
		e.server.StartupTimeout = time.Duration(ms) * time.Millisecond
	}
}
