package admin

import (
	"net/http"
	"os"
	"time"

	"mcphub/hub"
)

// StatusView is the hub as GET /api/status shows it.
type StatusView struct {
	Version       string         `json:"version"`
	PID           int            `json:"pid"`
	Started       time.Time      `json:"started"`
	UptimeSeconds float64        `json:"uptimeSeconds"`
	Enabled       bool           `json:"enabled"`            // settings.enabled
	Servers       int            `json:"servers"`            // that there are, in whatever state
	States        map[string]int `json:"states"`             // how many servers are in each
	Tools         int            `json:"tools"`              // published, the hub's own included
	Sessions      *int           `json:"sessions,omitempty"` // of clients
	Problems      []ProblemView  `json:"problems"`           // of the configuration
}

func getStatus(a *api, w http.ResponseWriter, _ *http.Request) error {
	cfg := a.Config()
	v := StatusView{
		Version: a.Version, PID: os.Getpid(), Started: a.Started, UptimeSeconds: time.Since(a.Started).Seconds(), Enabled: cfg.Settings.Enabled,
		States: map[string]int{}, Tools: len((hub.Guide{Hub: a.Hub}).Tools()), Problems: ProblemsOf(a.Hub.Problems(), All),
	}
	for _, s := range a.Hub.Servers() {
		v.Servers++
		v.States[string(s.Status().State)]++
	}
	if a.Sessions != nil {
		n := a.Sessions()
		v.Sessions = &n
	}
	return writeJSON(w, v)
}

// Reloaded is what POST /api/reload has done.
type Reloaded struct {
	hub.Report

	Problems []ProblemView `json:"problems"` // of the configuration that is in use now
}

func postReload(a *api, w http.ResponseWriter, _ *http.Request) error {
	if a.Reload == nil {
		return problem("unsupported", "this hub has no configuration file to read again")
	}
	done, err := a.Reload()
	if err != nil {
		return problem("configuration", "%v; nothing has changed. After mending it, reload again", err)
	}
	return writeJSON(w, done)
}
