// Package admin is the operator's view of a running hub.
package admin

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5"

	"mcphub/hub"
)

// ServerView is one server as GET /api/servers shows it.
type ServerView struct {
	Name            string    `json:"name"`
	State           string    `json:"state"`
	Reason          string    `json:"reason,omitempty"` // why it is in that state
	Since           time.Time `json:"since"`
	Type            string    `json:"type"`
	ProtocolVersion string    `json:"protocolVersion,omitempty"` // spoken with the server, once known
	Tools           int       `json:"tools"`                     // published
	Notes           []string  `json:"notes,omitempty"`           // what was dropped, repaired or renamed

	// Unattributed is how many of its questions were declined because they could have been for several clients.
	Unattributed int64 `json:"unattributed,omitempty"`
}

// Servers describes every configured server.
func Servers(h *hub.Hub) []ServerView {
	views := []ServerView{}
	for _, s := range h.Servers() {
		st := s.Status()
		tools, notes := h.Published(s.Name())
		v := ServerView{
			Name: s.Name(), State: string(st.State), Reason: st.Reason, Since: st.Since,
			Type: string(s.Config().Type), Tools: tools, Notes: notes, Unattributed: s.Unattributed.Load(),
		}
		if offer := s.Offer(); offer != nil {
			v.ProtocolVersion = offer.Version
		}
		views = append(views, v)
	}
	return views
}

// Mount adds the operator's routes to r: /healthz, /readyz, /api/servers and the log of a server.
func Mount(r chi.Router, h *hub.Hub) {
	r.Get("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	r.Get("/readyz", func(w http.ResponseWriter, r *http.Request) { ready(w, r, h) })
	r.Get("/api/servers", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, Servers(h)) })
}

// settledWait is how long /readyz?servers=settled waits.
const settledWait = 30 * time.Second

// ready answers once the hub serves; with ?servers=settled it waits until every server has been tried.
func ready(w http.ResponseWriter, r *http.Request, h *hub.Hub) {
	if r.URL.Query().Get("servers") == "settled" {
		limit := time.NewTimer(settledWait)
		defer limit.Stop()
		for _, s := range h.Servers() {
			select {
			case <-s.Settled():
			case <-limit.C:
				http.Error(w, "server "+s.Name()+" is still "+string(s.Status().State), http.StatusServiceUnavailable)
				return
			case <-r.Context().Done():
				return
			}
		}
	}
	_, _ = w.Write([]byte("ready\n"))
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client is gone where this fails
}
