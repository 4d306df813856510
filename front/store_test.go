package front

import (
	"net/http"
	"os"
	"testing"
	"time"

	"mcphub/wire"
)

// TestRecordsLastAsLongAsSessions sees that an open session's record is never too old, and that a request which
// outlasts its session brings no record back.
func TestRecordsLastAsLongAsSessions(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{SessionDir: t.TempDir()})
	records := func() int {
		entries, err := os.ReadDir(r.front.store.dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	session := r.initialize("/mcp", wire.V20251125)
	s := r.front.lookup(session[1], "")
	r.front.store.sweep(time.Now().Add(2*recordAge), r.front.sessions.has)
	if records() != 1 {
		t.Fatalf("the open session has %d records", records())
	}
	if got := r.do(http.MethodDelete, "/mcp", "", session...); got.status != http.StatusNoContent {
		t.Fatalf("DELETE: HTTP %d", got.status)
	}
	r.front.keep(s)
	if records() != 0 {
		t.Errorf("the session has ended and has %d records", records())
	}
}
