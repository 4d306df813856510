package front

import (
	"context"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/hub"
	"mcphub/wire"
)

// Options are what a front needs besides its hub. The zero value of a duration means its default.
type Options struct {
	Log         zerolog.Logger
	Settings    *config.Settings
	Heartbeat   time.Duration // between comments on a quiet stream; 20 s
	WriteWait   time.Duration // how long one write to a stream may take; 10 s
	SessionDir  string        // where sessions outlive the process; "": they do not
	SessionIdle time.Duration // how long a session without a request or an open stream is kept; 1 h
	PingWait    time.Duration // how long a quiet client with an open stream may take to say that it is there; 1 min

	// Refuse answers a request that Guard keeps out, with the reason; nil answers with plain text.
	Refuse func(w http.ResponseWriter, r *http.Request, reason string)
}

// Front is the clients' door.
type Front struct {
	opt      Options
	hub      *hub.Hub
	door     atomic.Pointer[door]
	sessions sessions
	store    store
	calls    atomic.Int64
	stopping chan struct{}
	stopOnce sync.Once
	sweeper  sync.WaitGroup
}

// New makes the door of a hub. Close ends its sessions.
func New(h *hub.Hub, opt Options) *Front {
	if opt.Refuse == nil {
		opt.Refuse = func(w http.ResponseWriter, _ *http.Request, reason string) {
			http.Error(w, reason, http.StatusForbidden)
		}
	}
	setDefault(&opt.Heartbeat, 20*time.Second)
	setDefault(&opt.WriteWait, 10*time.Second)
	setDefault(&opt.SessionIdle, time.Hour)
	setDefault(&opt.PingWait, time.Minute)
	f := &Front{opt: opt, hub: h, stopping: make(chan struct{}), store: store{opt.SessionDir}}
	f.Reload(opt.Settings)
	f.sessions.byID = map[string]*session{}
	f.sweeper.Go(f.sweep)
	return f
}

// Reload applies other settings to the requests that come from now on.
func (f *Front) Reload(set *config.Settings) { f.door.Store(newDoor(set)) }

func setDefault(d *time.Duration, to time.Duration) {
	if *d == 0 {
		*d = to
	}
}

// Mount adds the MCP routes to r.
func (f *Front) Mount(r chi.Router) {
	r.Group(func(r chi.Router) {
		r.Use(f.Guard)
		for _, base := range []string{"", "/servers/{server}", "/scopes/{scope}"} {
			r.HandleFunc(base+"/mcp", web{f}.streamable)
			r.Get(base+"/sse", web{f}.openSSE)
			r.Post(base+"/messages", web{f}.postSSE)
		}
	})
}

// Guard is the middleware of every route: it catches panics and keeps foreign web pages out.
func (f *Front) Guard(next http.Handler) http.Handler { return f.recover(f.check(next)) }

// Drain ends the streams that would never end by themselves, so that the HTTP server can shut down.
// Requests under way go on.
func (f *Front) Drain() {
	f.stopOnce.Do(func() { close(f.stopping) })
	f.hub.Quiet()
}

// Sessions is how many sessions a front has.
func Sessions(f *Front) int { return len(f.sessions.all()) }

// Close ends all sessions.
func (f *Front) Close() {
	f.Drain()
	f.sweeper.Wait()
	var ending sync.WaitGroup
	for _, s := range f.sessions.all() {
		ending.Go(func() { f.end(s) })
	}
	ending.Wait()
}

// target is the door that a request's path names; ok is false where there is none.
func (f web) target(r *http.Request) (at hub.Door, ok bool) {
	at = hub.Door{Server: chi.URLParam(r, "server"), Scope: chi.URLParam(r, "scope")}
	return at, f.hub.Has(at)
}

// recover answers a request whose handling panicked, and logs the panic under the call's number.
func (f *Front) recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				text := f.panicked(p)
				fail(w, http.StatusInternalServerError, nil, &wire.Error{Code: wire.CodeInternal, Message: text})
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// panicked logs a panic and says what the client is told of it.
func (f *Front) panicked(p any) string {
	call := strconv.FormatInt(f.calls.Add(1), 10)
	f.opt.Log.Error().Str("call", call).Interface("panic", p).Bytes("stack", debug.Stack()).Msg("panic")
	return "the hub failed on this request; its log has the reason under call " + call
}

// serve has the hub answer one request, whatever transport it came by.
func (f *Front) serve(ctx context.Context, r *hub.Request) (answer hub.Answer) {
	defer func() {
		if p := recover(); p != nil {
			e := &wire.Error{Code: wire.CodeInternal, Message: f.panicked(p)}
			answer = hub.Answer{Error: e.Raw()}
		}
	}()
	start := time.Now()
	answer = f.hub.Serve(ctx, r)
	if e := f.opt.Log.Debug(); e.Enabled() {
		code, text := wire.ErrorOf(answer.Error)
		e.Int64("call", f.calls.Add(1)).Str("method", r.Msg.Method).Str("server", r.Client.Server).
			Dur("ms", time.Since(start)).Int("bytes", len(answer.Result)).Int("code", code).Str("error", text).Msg("request")
	}
	return answer
}
