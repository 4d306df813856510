package admin

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"mcphub/config"
	"mcphub/hub"
)

// ScopeView is one scope as GET /api/scopes/ID shows it.
type ScopeView struct {
	ID       string       `json:"id"`
	URL      string       `json:"url"`     // where clients connect
	Servers  []ServerView `json:"servers"` // its own
	Sessions int          `json:"sessions"`
	Created  time.Time    `json:"created"`
	Ends     time.Time    `json:"ends,omitzero"` // at the latest; zero where only the last session ends it
}

func (a *api) scopeView(r *http.Request, sc hub.Scope) ScopeView {
	base := a.Config().Settings.PublicURL
	if base == "" {
		base = "http://" + r.Host
	}
	v := ScopeView{ID: sc.ID, URL: base + "/scopes/" + sc.ID + "/mcp", Servers: []ServerView{}, Sessions: sc.Sessions, Created: sc.Created, Ends: sc.Ends}
	for _, s := range a.Hub.Scopes().Servers(sc.ID) {
		one := a.view(s)
		one.Tools, one.Notes = a.Hub.Scopes().Published(sc.ID, s.Name())
		v.Servers = append(v.Servers, one)
	}
	return v
}

func getScopes(a *api, w http.ResponseWriter, r *http.Request) error {
	views := []ScopeView{}
	for _, sc := range a.Hub.Scopes().List() {
		views = append(views, a.scopeView(r, sc))
	}
	return writeJSON(w, views)
}

// postScopes opens a scope of the servers in the body.
func postScopes(a *api, w http.ResponseWriter, r *http.Request) error {
	body, err := a.jsonBody(w, r)
	if err != nil {
		return err
	}
	var asked struct {
		Servers json.RawMessage `json:"mcpServers"`
		TTL     float64         `json:"ttlSeconds"`
	}
	if err := json.Unmarshal(body, &asked); err != nil {
		return problem("bad_request", `the body is no JSON object like {"mcpServers": {…}, "ttlSeconds": 3600}: %v`, err)
	}
	if asked.TTL < 0 || asked.TTL > maxTTL.Seconds() {
		return problem("bad_request", "ttlSeconds is at least 0, for none, and at most %v", maxTTL.Seconds())
	}
	if asked.Servers == nil {
		asked.Servers = json.RawMessage("{}")
	}
	given, err := json.Marshal(map[string]json.RawMessage{"mcpServers": asked.Servers})
	if err != nil {
		return problem("bad_request", "%v", err)
	}
	sc, err := a.Hub.Scopes().Open(given, time.Duration(asked.TTL*float64(time.Second)))
	if err != nil {
		return handedOver(err)
	}
	w.Header().Set("Location", "/api/scopes/"+sc.ID)
	return writeStatus(w, http.StatusCreated, a.scopeView(r, sc))
}

// maxTTL is the longest that a scope may be asked to last.
const maxTTL = 366 * 24 * time.Hour

func getScope(a *api, w http.ResponseWriter, r *http.Request) error {
	id := param(r, "scope")
	for _, sc := range a.Hub.Scopes().List() {
		if sc.ID == id {
			return writeJSON(w, a.scopeView(r, sc))
		}
	}
	return problem("unknown_scope", "%v", hub.ErrNoScope)
}

func deleteScope(a *api, w http.ResponseWriter, r *http.Request) error {
	if err := a.Hub.Scopes().Close(param(r, "scope")); err != nil {
		return problem("unknown_scope", "%v", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// putServer registers a server, or replaces one that is registered.
func putServer(a *api, w http.ResponseWriter, r *http.Request) error {
	body, err := a.jsonBody(w, r)
	if err != nil {
		return err
	}
	if !json.Valid(body) {
		return problem("bad_request", `the body is no JSON; send an entry like {"url": "https://…"}`)
	}
	report, err := a.Hub.Registry().Add(param(r, "server"), body)
	if err != nil {
		return handedOver(err)
	}
	return writeJSON(w, a.done(report))
}

func (a *api) done(report hub.Report) Reloaded {
	return Reloaded{Report: report, Problems: ProblemsOf(a.Hub.Problems(), All)}
}

// deleteServer takes a registered server away.
func deleteServer(a *api, w http.ResponseWriter, r *http.Request) error {
	s, err := a.named(r)
	if err != nil {
		return err
	}
	report, err := a.Hub.Registry().Remove(s.Name())
	if errors.Is(err, hub.ErrNotRegistered) {
		entry := s.Config().Place("")
		return problem("taken", "%s stands in %s, line %d, and was not registered; take it out there: mcphub remove %s", s.Name(), entry.File, entry.Line, s.Name())
	}
	if err != nil {
		return err
	}
	return writeJSON(w, a.done(report))
}

// postApprove takes a server's tools as they are now.
func postApprove(a *api, w http.ResponseWriter, r *http.Request) error {
	s, err := a.named(r)
	if err != nil {
		return err
	}
	approved, err := a.Hub.Approve(s.Name())
	if err != nil {
		return err
	}
	return writeJSON(w, Approved{approved})
}

// Approved is what POST /api/servers/NAME/approve answers.
type Approved struct {
	Tools []string `json:"approved"` // those that had changed, by the server's own names
}

// handedOver is the problem with servers that somebody hands over.
func handedOver(err error) error {
	switch {
	case errors.Is(err, config.ErrNotHandedOver):
		return problem("switched_off", "%v; set it in the configuration", err)
	case errors.Is(err, hub.ErrConfigured):
		return problem("taken", "%v", err)
	}
	p := problem("bad_servers", "what was handed over cannot be used; errors has each reason")
	p.Errors = strings.Split(err.Error(), "\n")
	return p
}

// jsonBody reads a body that says that it is JSON, which a web page of another origin cannot send unasked.
func (a *api) jsonBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/json" {
		return nil, problem("no_json", "send the header Content-Type: application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.MaxBody))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, problem("body_too_large", "the body is over limits.maxMessageBytes, %d", tooLarge.Limit)
	}
	if err != nil {
		return nil, problem("bad_request", "the body broke off: %v", err)
	}
	return body, nil
}
