package admin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"mcphub/upstream"
)

// api answers everything under /api.
type api struct{ Options }

// routes are all there are under /api; openapi.json describes each. A handler that returns an error has written nothing.
var routes = []struct {
	method, path string
	handle       func(*api, http.ResponseWriter, *http.Request) error
}{
	{http.MethodGet, "/openapi.json", getOpenAPI},
	{http.MethodGet, "/status", getStatus},
	{http.MethodPost, "/reload", postReload},
	{http.MethodGet, "/servers", getServers},
	{http.MethodGet, "/servers/{server}", getServer},
	{http.MethodGet, "/servers/{server}/logs", getLogs},
	{http.MethodPut, "/servers/{server}", putServer},
	{http.MethodDelete, "/servers/{server}", deleteServer},
	{http.MethodPost, "/servers/{server}/approve", postApprove},
	{http.MethodPost, "/servers/{server}/check", postCheck},
	{http.MethodPost, "/servers/{server}/reconnect", postReconnect},
	{http.MethodGet, "/tools", getTools},
	{http.MethodGet, "/tools/{tool}/why", getWhy},
	{http.MethodPost, "/tools/{tool}", postCall},
	{http.MethodGet, "/scopes", getScopes},
	{http.MethodPost, "/scopes", postScopes},
	{http.MethodGet, "/scopes/{scope}", getScope},
	{http.MethodDelete, "/scopes/{scope}", deleteScope},
}

func (a *api) mount(r chi.Router) {
	r.Use(a.enter)
	for _, route := range routes {
		r.Method(route.method, route.path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := route.handle(a, w, r); err != nil {
				fail(w, r, err)
			}
		}))
	}
	r.NotFound(func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, problem("not_found", "the API has no %s; GET /api/openapi.json lists what it has", r.URL.Path))
	})
	r.MethodNotAllowed(func(w http.ResponseWriter, req *http.Request) { wrongMethod(w, req, r) })
}

// wrongMethod says which methods a path of the router has.
func wrongMethod(w http.ResponseWriter, r *http.Request, router chi.Routes) {
	path := chi.RouteContext(r.Context()).RoutePath
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if router.Match(chi.NewRouteContext(), method, path) {
			allowed = append(allowed, method)
		}
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	fail(w, r, problem("wrong_method", "%s takes %s, not %s", r.URL.Path, strings.Join(allowed, " and "), r.Method))
}

type requestKey struct{}

// requestID is the id under which the log has a request.
func requestID(r *http.Request) string {
	id, _ := r.Context().Value(requestKey{}).(string)
	return id
}

// enter gives every request an id, and answers for a handler that panics.
func (a *api) enter(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, start := rand.Text()[:10], time.Now()
		r = r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
		w.Header().Set("X-Request-Id", id)
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				a.Log.Error().Str("request", id).Interface("panic", p).Bytes("stack", debug.Stack()).Msg("panic")
				fail(w, r, problem("internal", "the hub failed on this request; its log has the reason under request %s", id))
			} else if p != nil {
				panic(p)
			}
		}()
		next.ServeHTTP(w, r)
		a.Log.Debug().Str("request", id).Str("method", r.Method).Str("path", r.URL.Path).Dur("ms", time.Since(start)).Msg("api")
	})
}

// param is a part of the path, unescaped. The router leaves the escapes in only where the path has some that matter.
func param(r *http.Request, name string) string {
	value := chi.URLParam(r, name)
	if r.URL.RawPath == "" {
		return value
	}
	if plain, err := url.PathUnescape(value); err == nil {
		return plain
	}
	return value
}

// named is the server that a path names.
func (a *api) named(r *http.Request) (*upstream.Server, error) {
	name := param(r, "server")
	if s := a.Hub.Server(name); s != nil {
		return s, nil
	}
	return nil, problem("unknown_server", "there is no server %q; GET /api/servers has the names", name)
}

func writeJSON(w http.ResponseWriter, v any) error { return writeStatus(w, http.StatusOK, v) }

func writeStatus(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // the client is gone where this fails
	return nil
}

// Refuse answers a request that may not come in: as a problem under /api, in plain text elsewhere.
func Refuse(w http.ResponseWriter, r *http.Request, reason string) {
	if strings.HasPrefix(r.URL.Path, "/api/") || r.URL.Path == "/api" {
		(&api{}).enter(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fail(w, r, problem("not_allowed", "%s", reason))
		})).ServeHTTP(w, r)
		return
	}
	http.Error(w, reason, http.StatusForbidden)
}

// fail answers with an error as a problem.
func fail(w http.ResponseWriter, r *http.Request, err error) {
	var p *Problem
	if !errors.As(err, &p) {
		p = problem("internal", "%v", err)
	}
	if id := requestID(r); id != "" {
		p.Instance = "urn:mcphub:request:" + id
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Del("Content-Length")
	w.WriteHeader(p.Status)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(p) // the client is gone where this fails
}
