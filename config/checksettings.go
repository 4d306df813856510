package config

import (
	"net"
	"net/url"
	"strconv"
	"strings"
)

// checkSettings checks what tags cannot say. A setting with a problem goes back to its default; of a list, the element
// is dropped.
func (l *loader) checkSettings() {
	s := &l.settings
	if len(s.ToolPrefix)+len(s.ToolSeparator) > s.MaxToolNameLength/2 {
		l.hub.errorf(l.settingAt("toolPrefix"), "takes more than half of maxToolNameLength, %d; shorten it", s.MaxToolNameLength)
		s.ToolPrefix = "mcp"
	}
	if s.PublicURL != "" {
		s.PublicURL = strings.TrimRight(s.PublicURL, "/")
		if problem := checkPublicURL(s.PublicURL); problem != "" {
			l.hub.errorf(l.settingAt("publicUrl"), "%s", problem)
			s.PublicURL = ""
		}
	}
	s.Inbound.AllowedHosts = l.keep("inbound.allowedHosts", s.Inbound.AllowedHosts, normalHost)
	s.Inbound.AllowedOrigins = l.keep("inbound.allowedOrigins", s.Inbound.AllowedOrigins, normalOrigin)
}

// keep returns the elements in their normal form, without those that have a problem.
func (l *loader) keep(key string, list []string, normal func(string) (string, string)) []string {
	var kept []string
	for i, element := range list {
		clean, problem := normal(element)
		if problem != "" {
			l.hub.errorf(l.settingAt(key+"["+strconv.Itoa(i)+"]"), "%s", problem)
			continue
		}
		kept = append(kept, clean)
	}
	return kept
}

func checkPublicURL(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be a URL like https://hub.example.com"
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "must have no user, query or fragment; remove them"
	}
	return ""
}

// normalHost takes a host name or an address, in lower case, an IPv6 address without brackets.
func normalHost(text string) (host, problem string) {
	host = strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	switch {
	case net.ParseIP(host) != nil:
		return host, ""
	case strings.Contains(host, "*"):
		return "", "has no wildcards, because they would let DNS rebinding in; list each host name"
	case host == "" || strings.ContainsAny(host, "/:@ \t\r\n"):
		return "", "must be a host name alone, like hub.internal, without scheme, port and path"
	}
	return host, ""
}

// defaultPort is what browsers leave out of an origin.
var defaultPort = map[string]string{"http": "80", "https": "443"}

// normalOrigin takes scheme://host or scheme://host:port, in lower case, as browsers send it.
func normalOrigin(text string) (origin, problem string) {
	u, err := url.Parse(strings.ToLower(text))
	switch {
	case strings.Contains(text, "*"):
		return "", "has no wildcards, because they would let any page in; list each origin"
	case err != nil || u.Scheme == "" || u.Hostname() == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return "", "must be an origin like https://app.example.com, without path"
	}
	host := strings.TrimSuffix(u.Host, ":"+defaultPort[u.Scheme])
	return u.Scheme + "://" + host, ""
}
