package front

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"mcphub/hub"
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
	s := r.front.lookup(session[1], hub.Door{})
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

// TestResumedSession goes on in the hub's next process: what it said in a batch is known there, and it hears first that
// the lists may have changed meanwhile.
func TestResumedSession(t *testing.T) {
	opt := Options{SessionDir: t.TempDir()}
	servers := map[string]entry{"up": stdio("well")}
	before := newRig(t, servers, opt)
	for _, view := range []string{"", "up"} {
		path := "/mcp"
		if view != "" {
			path = "/servers/" + view + path
		}
		session := before.initialize(path, wire.V20250326)
		before.post(path, `[{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"error"}}]`, session...)
		rec, _ := before.front.store.load(session[1])
		if level := rec.State.Level + string(rec.State.Lasting[""].Params); !strings.Contains(level, "error") {
			t.Errorf("view %q: the record has level %q", view, level)
		}
		stream := streamOf(t, newRig(t, servers, opt).open(http.MethodGet, path, "", session...))
		for _, want := range []string{wire.ToolsChanged, wire.PromptsChanged, wire.ResourcesChanged} {
			if m, _ := stream.next(); m.Method != want {
				t.Errorf("view %q: %s came for %s", view, m.Raw, want)
			}
		}
	}
}
