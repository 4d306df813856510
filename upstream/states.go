package upstream

import (
	"strings"
	"time"

	"mcphub/config"
)

// State is where a server stands, as status shows it.
type State string

// The states.
const (
	StateIdle       State = "idle"       // not connected; the next call connects
	StateConnecting State = "connecting" // being connected to
	StateReady      State = "ready"      // connected
	StateDegraded   State = "degraded"   // a failure that may pass; it is connected to again, with growing pauses
	StateSuspended  State = "suspended"  // failed too often; calls fail at once until a probe succeeds
	StateNeedsAuth  State = "needs_auth" // wants credentials that the hub does not have
	StateUntrusted  State = "untrusted"  // comes from a file that nobody has trusted; never started
	StateDisabled   State = "disabled"   // switched off by its entry; never started
	StateFailed     State = "failed"     // its entry has an error; never started
)

// Status is a server's state, why, since when, and the command that gets it out of there. It is never changed once
// published.
type Status struct {
	State  State
	Reason string
	Since  time.Time
	Fix    string // a command line; "" where none is needed
}

// fixes is the one table from a state to the command that mends it. NAME, URL and DIR stand for the server's own.
var fixes = map[State]string{
	StateDegraded:  "mcphub reconnect NAME",
	StateSuspended: "mcphub reconnect NAME",
	StateNeedsAuth: "mcphub add NAME URL --header 'Authorization: Bearer ${TOKEN}' --replace",
	StateUntrusted: "mcphub trust DIR",
	StateDisabled:  "mcphub enable NAME",
	StateFailed:    "mcphub check",
}

// fixExited is for a program that ends by itself: what it wrote says why, and trying again does not help.
const fixExited = "mcphub logs NAME"

// troubles are the states that a log reader should not overlook.
var troubles = map[State]bool{StateDegraded: true, StateSuspended: true, StateNeedsAuth: true}

// fixSecret is for a server whose URL cannot be shown: doctor says what to do about it.
const fixSecret = "mcphub doctor NAME"

// fix fills a command in for a server.
func fix(command string, cfg *config.Server) string {
	for _, secret := range cfg.Secrets {
		if strings.Contains(command, "URL") && strings.Contains(cfg.URL, secret) {
			command = fixSecret
		}
	}
	return strings.NewReplacer("NAME", cfg.Name, "URL", shellWord(cfg.URL), "DIR", shellWord(cfg.Untrusted)).Replace(command)
}

// shellWord quotes what a shell would take apart.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// standstill is the state of a server that its configuration keeps from running, and why; "" where it may run.
func standstill(cfg *config.Server) (State, string) {
	switch {
	case cfg.Untrusted != "":
		return StateUntrusted, "its file in " + cfg.Untrusted + " is not trusted, or has changed since it was"
	case len(cfg.Failed) > 0:
		return StateFailed, cfg.Reason()
	case !cfg.Enabled:
		return StateDisabled, "enabled is false"
	}
	return "", ""
}

// setStatus publishes a new status, with the state's own fix where it has no other, and the time.
func (s *Server) setStatus(now Status) {
	old := s.status.Load()
	if old != nil && old.State == now.State && old.Reason == now.Reason {
		return
	}
	if now.Fix == "" {
		now.Fix = fixes[now.State]
	}
	now.Fix, now.Since = fix(now.Fix, s.cfg), time.Now()
	s.status.Store(&now)
	if old == nil {
		return
	}
	event := s.opt.Log.Info()
	if troubles[now.State] {
		event = s.opt.Log.Warn()
	}
	if now.Reason != "" {
		event.Str("reason", now.Reason)
	}
	if now.Fix != "" {
		event.Str("fix", now.Fix)
	}
	event.Str("server", s.cfg.Name).Str("state", string(now.State)).Msg("server")
	s.opt.changed(s)
}
