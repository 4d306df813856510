package admin

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"mcphub/upstream"
)

// Finding is what trying a server has shown.
type Finding struct {
	Server  string        `json:"server"`
	OK      bool          `json:"ok"`
	Skipped bool          `json:"skipped,omitempty"` // it is disabled, so nothing was tried
	Step    upstream.Step `json:"step,omitempty"`    // that failed; "" where none did
	State   string        `json:"state"`
	Reason  string        `json:"reason,omitempty"` // what went wrong
	Fix     string        `json:"fix,omitempty"`    // the next step
	Tools   int           `json:"tools"`            // that the server has
	Ms      int64         `json:"ms"`               // it took
}

func postCheck(a *api, w http.ResponseWriter, r *http.Request) error {
	s, err := a.named(r)
	if err != nil {
		return err
	}
	return writeJSON(w, Examine(r.Context(), s))
}

func postReconnect(a *api, w http.ResponseWriter, r *http.Request) error {
	s, err := a.named(r)
	if err != nil {
		return err
	}
	return writeJSON(w, examine(r.Context(), s, true))
}

// Examine tries a started server: it is connected to where it is not, asked something, and its list awaited. One that
// works is left as it is.
func Examine(ctx context.Context, s *upstream.Server) Finding {
	st := s.Status().State
	return examine(ctx, s, st == upstream.StateDegraded || st == upstream.StateSuspended || st == upstream.StateNeedsAuth)
}

// examine is Examine; anew connects to the server in any case.
func examine(ctx context.Context, s *upstream.Server, anew bool) Finding {
	start := time.Now()
	f := Finding{Server: s.Name()}
	f.Step, f.Reason = attempt(ctx, s, anew)
	st := s.Status()
	f.Skipped = st.State == upstream.StateDisabled
	f.OK = f.Step == "" || f.Skipped
	f.State, f.Ms = string(st.State), time.Since(start).Milliseconds()
	if !f.OK {
		f.Fix = cmp.Or(st.Fix, "mcphub logs "+s.Name()) // it may be connecting once more by now
	}
	if offer := s.Offer(); offer != nil {
		f.Tools = len(offer.Tools)
	}
	return f
}

// attempt is the step at which a server fails, and why.
func attempt(ctx context.Context, s *upstream.Server, anew bool) (upstream.Step, string) {
	st := s.Status()
	switch st.State {
	case upstream.StateDisabled:
		return "", ""
	case upstream.StateFailed:
		return upstream.StepConfig, s.Config().Reason()
	case upstream.StateUntrusted:
		return upstream.StepTrust, st.Reason
	}
	if anew {
		if err := s.Reconnect(ctx); err != nil {
			return stepOf(err), reasonOf(err)
		}
	}
	if err := upstream.Probe(ctx, s); err != nil {
		return stepOf(err), reasonOf(err)
	}
	if upstream.Listed(ctx, s) != nil {
		return upstream.StepList, "no list in time"
	}
	if st := s.Status(); s.Offer() == nil || st.State == upstream.StateDegraded {
		return upstream.StepList, st.Reason
	}
	return "", ""
}

func stepOf(err error) upstream.Step {
	if e := new(upstream.Error); errors.As(err, &e) {
		return e.Step()
	}
	return upstream.StepHandshake
}

// reasonOf leaves the server's name out, which stands beside it.
func reasonOf(err error) string {
	if e := new(upstream.Error); errors.As(err, &e) {
		return e.Text
	}
	return err.Error()
}
