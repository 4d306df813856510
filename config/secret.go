package config

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	secretName = regexp.MustCompile(`(?i)(^|[^a-z])(token|secret|password|passwd|authorization|cookie|credentials?|(api|access|private|auth|secret)[-_]?key)([^a-z]|$)`)
	// notSecret are names about a secret rather than of one.
	notSecret   = regexp.MustCompile(`(?i)[-_](file|path|dir|url|uri|env|name|id|type|ttl|header)$`)
	knownSecret = regexp.MustCompile(`(?i:^(bearer|basic|token) +\S{8,}$)|\b(gh[oprsu]_|github_pat_|glpat-|xox[abprs]-|sk-|npm_|hf_|AKIA|AIza)[A-Za-z0-9_-]{16,}|\beyJ[A-Za-z0-9_-]{8,}\.|-----BEGIN [A-Z ]*PRIVATE KEY`)
)

// minSecret is the length below which a value is taken for a word, not a secret.
const minSecret = 8

// looksSecret reports whether a literal looks like a secret, by its own form or by the name it has.
func looksSecret(name, value string) bool {
	if strings.Contains(value, "${") || len(value) < minSecret {
		return false
	}
	return knownSecret.MatchString(value) || secretName.MatchString(name) && !notSecret.MatchString(name)
}

// literalSecrets warns of secrets written into the file, and remembers them. It runs before variables are expanded.
func (e *entry) literalSecrets() {
	const how = "looks like a secret written into the file; put it in a variable and "
	note := func(key, value, advice string) {
		e.warnf(e.placeOf(key), "%s%s", how, advice)
		e.server.Secrets = append(e.server.Secrets, value)
	}
	for _, name := range sortedKeys(e.server.Headers) {
		if value := e.server.Headers[name]; looksSecret(name, value) {
			scheme, token, ok := strings.Cut(value, " ")
			if !ok {
				token = scheme
			}
			note("headers."+name, strings.TrimSpace(token), `name that in "bearerTokenEnv", or write ${VARIABLE} here`)
		}
	}
	for _, name := range sortedKeys(e.server.Env) {
		if value := e.server.Env[name]; looksSecret(name, value) {
			note("env."+name, value, "write ${VARIABLE} here")
		}
	}
	secrets := slices.DeleteFunc(urlSecrets(e.server.URL), func(s string) bool { return strings.Contains(s, "${") })
	if len(secrets) > 0 {
		note("url", secrets[0], `name that in "bearerTokenEnv", or write ${VARIABLE} here`)
		e.server.Secrets = append(e.server.Secrets, secrets[1:]...)
	}
}

// urlSecrets returns the password and the values of secret-named parameters of a URL.
func urlSecrets(text string) []string {
	u, err := url.Parse(text)
	if err != nil {
		return nil
	}
	var secrets []string
	if password, ok := u.User.Password(); ok && password != "" {
		secrets = append(secrets, password)
	}
	query := u.Query()
	for _, name := range sortedKeys(query) {
		for _, value := range query[name] {
			if looksSecret(name, value) {
				secrets = append(secrets, value)
			}
		}
	}
	return secrets
}

// uniqueSecrets sorts, and drops what is empty or there twice.
func uniqueSecrets(secrets []string) []string {
	slices.Sort(secrets)
	secrets = slices.Compact(secrets)
	if len(secrets) > 0 && secrets[0] == "" {
		secrets = secrets[1:]
	}
	return secrets
}
