package front

import (
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"mcphub/config"
)

// door decides by Host and Origin whether a request may come from a web page. A page that has its own
// name resolve to this machine (DNS rebinding) sends that name as Host; a page of another site sends
// its own Origin (MCP 2026-07-28, Streamable HTTP, Security).
type door struct {
	hosts   []string // names that may be asked for besides localhost, without port
	origins []string // pages that may ask besides the hub's own
	maxBody int64    // bytes of a request's body
}

func newDoor(set *config.Settings) *door {
	d := &door{origins: slices.Clone(set.Inbound.AllowedOrigins), maxBody: set.Limits.MaxMessageBytes}
	for _, h := range set.Inbound.AllowedHosts {
		d.hosts = append(d.hosts, strings.ToLower(h))
	}
	if u, err := url.Parse(set.PublicURL); err == nil && u.Host != "" {
		d.hosts = append(d.hosts, strings.ToLower(u.Hostname()))
		d.origins = append(d.origins, u.Scheme+"://"+u.Host)
	}
	return d
}

// check lets requests through that the present door allows.
func (f *Front) check(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d := f.door.Load()
		if !d.hostAllowed(r.Host) {
			f.opt.Refuse(w, r, "Host "+r.Host+" is not allowed: add it to inbound.allowedHosts")
			return
		}
		origin := r.Header.Get("Origin")
		if origin != "" && !d.originAllowed(origin, r.Host) {
			f.opt.Refuse(w, r, "Origin "+origin+" is not allowed: add it to inbound.allowedOrigins")
			return
		}
		if origin != "" {
			allowPage(w.Header(), origin)
			if r.Method == http.MethodOptions {
				w.WriteHeader(http.StatusNoContent)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// hostAllowed lets addresses through as they are: only a name can be rebound.
func (d *door) hostAllowed(hostport string) bool {
	host := hostOf(hostport)
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return isLoopback(host) || slices.Contains(d.hosts, host)
}

// hostOf is a Host header without its port, in lower case.
func hostOf(hostport string) string {
	i := strings.LastIndexByte(hostport, ':')
	if i >= 0 && (strings.HasPrefix(hostport, "[") || strings.Count(hostport, ":") == 1) && !strings.HasSuffix(hostport, "]") {
		hostport = hostport[:i]
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(hostport, "[]"), "."))
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback() || host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// originAllowed lets in the hub's own pages, those of programs on this machine, and the configured ones.
func (d *door) originAllowed(origin, host string) bool {
	if slices.Contains(d.origins, origin) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && (strings.EqualFold(u.Host, host) || isLoopback(strings.ToLower(u.Hostname())))
}

// allowPage lets an allowed page's scripts read the answer.
func allowPage(h http.Header, origin string) {
	h.Set("Access-Control-Allow-Origin", origin)
	h.Add("Vary", "Origin")
	h.Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	h.Set("Access-Control-Allow-Headers", "Content-Type, Accept, Authorization, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name")
	h.Set("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate")
}
