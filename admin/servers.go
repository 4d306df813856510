package admin

import (
	"encoding/json"
	"net/http"
	"time"

	"mcphub/config"
	"mcphub/hub"
	"mcphub/upstream"
)

// ServerView is one server as GET /api/servers shows it.
type ServerView struct {
	Name            string    `json:"name"`
	State           string    `json:"state"`
	Reason          string    `json:"reason,omitempty"` // why it is in that state
	Fix             string    `json:"fix,omitempty"`    // the command that gets it out of there
	Since           time.Time `json:"since"`
	Type            string    `json:"type"`
	Source          string    `json:"source"` // where its entry comes from
	Lifecycle       string    `json:"lifecycle"`
	ProtocolVersion string    `json:"protocolVersion,omitempty"` // spoken with the server, once known
	Tools           int       `json:"tools"`                     // published
	PID             int       `json:"pid,omitempty"`             // of its program, where one runs for all clients
	InFlight        int       `json:"inFlight"`                  // calls of clients under way
	LastUsed        time.Time `json:"lastUsed,omitzero"`         // when the last of them ended
	Notes           []string  `json:"notes,omitempty"`           // what was dropped, repaired or renamed

	// Unattributed is how many of its questions were declined because they could have been for several clients.
	Unattributed int64 `json:"unattributed,omitempty"`
}

// Fine says whether the server needs nobody's attention: it is switched off, or works, or would with the next call.
func (v *ServerView) Fine() bool {
	switch upstream.State(v.State) {
	case upstream.StateReady, upstream.StateIdle, upstream.StateConnecting, upstream.StateDisabled:
		return true
	}
	return false
}

// ServerDetail is one server as GET /api/servers/NAME shows it.
type ServerDetail struct {
	ServerView

	Entry      config.Place    `json:"entry"`                // where it is configured
	Problems   []ProblemView   `json:"problems"`             // of its entry
	ServerInfo json.RawMessage `json:"serverInfo,omitempty"` // name and version that it gave itself
	Published  []string        `json:"published"`            // names of its tools
}

// ProblemView is something wrong or doubtful in a configuration file.
type ProblemView struct {
	File     string `json:"file"`
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	Path     string `json:"path"`
	Server   string `json:"server,omitempty"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
}

// ProblemsOf describes the problems that meant picks.
func ProblemsOf(all []config.Problem, meant func(config.Problem) bool) []ProblemView {
	views := []ProblemView{}
	for _, p := range all {
		if meant(p) {
			views = append(views, ProblemView{p.File, p.Line, p.Column, p.Path, p.Server, p.Severity.String(), p.Message})
		}
	}
	return views
}

// All picks every problem.
func All(config.Problem) bool { return true }

func getServers(a *api, w http.ResponseWriter, _ *http.Request) error {
	views := []ServerView{}
	for _, s := range a.Hub.Servers() {
		views = append(views, a.view(s))
	}
	return writeJSON(w, views)
}

func (a *api) view(s *upstream.Server) ServerView {
	st, cfg := s.Status(), s.Config()
	tools, notes := a.Hub.Published(s.Name())
	v := ServerView{
		Name: s.Name(), State: string(st.State), Reason: st.Reason, Fix: st.Fix, Since: st.Since, Type: string(cfg.Type), Source: string(cfg.Source), Lifecycle: string(cfg.Lifecycle),
		Tools: tools, Notes: notes, PID: s.PID(), InFlight: s.InFlight(), LastUsed: s.LastUsed(), Unattributed: s.Unattributed.Load(),
	}
	if offer := s.Offer(); offer != nil {
		v.ProtocolVersion = offer.Version
	}
	return v
}

func getServer(a *api, w http.ResponseWriter, r *http.Request) error {
	s, err := a.named(r)
	if err != nil {
		return err
	}
	cfg, entry := a.Config(), s.Config()
	if newest := cfg.Server(s.Name()); newest != nil { // it may have moved in its file
		entry = newest
	}
	d := ServerDetail{
		ServerView: a.view(s), Entry: entry.Place(""), Published: []string{},
		Problems: ProblemsOf(a.Hub.Problems(), func(p config.Problem) bool { return p.Server == s.Name() }),
	}
	if offer := s.Offer(); offer != nil {
		d.ServerInfo = offer.ServerInfo()
	}
	for _, t := range (hub.Guide{Hub: a.Hub}).Tools() {
		if t.Server == s.Name() {
			d.Published = append(d.Published, t.Name)
		}
	}
	return writeJSON(w, d)
}
