package admin

import (
	"bufio"
	"net/http"
	"strings"
	"testing"
)

// TestLogs reads what a server printed before it ended.
func TestLogs(t *testing.T) {
	r := newRig(t, every(t))
	var all, last LogView
	r.into(&all, http.MethodGet, "/api/servers/ends/logs", "")
	r.into(&last, http.MethodGet, "/api/servers/ends/logs?lines=1&follow=false", "")
	if all.Server != "ends" || len(all.Lines) < 3 || len(last.Lines) != 1 {
		t.Errorf("%+v, %+v", all, last)
	}
	var none LogView
	if r.into(&none, http.MethodGet, "/api/servers/ends/logs?lines=0", ""); none.Lines == nil || len(none.Lines) != 0 {
		t.Errorf("%+v", none)
	}
}

// follow opens a followed log.
func (r *rig) follow(path, accept string) (next func() string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); accept != "*/*" && kind != accept || resp.StatusCode != http.StatusOK {
		r.t.Fatalf("%s: %d %s", path, resp.StatusCode, kind)
	}
	lines := bufio.NewReader(resp.Body)
	return func() string {
		line, err := lines.ReadString('\n')
		if err != nil {
			return err.Error()
		}
		return strings.TrimSuffix(line, "\n")
	}
}

// TestFollow reads a log while it is written, in both forms, over a reload that puts another server in its place, to the
// end of the hub.
func TestFollow(t *testing.T) {
	noisy := stdio("noise")
	r := newRig(t, map[string]entry{"up": noisy})
	r.post("/api/tools/mcp_up_echo", "")
	lines, events := r.follow("/api/servers/up/logs?lines=1&follow=true", "*/*"), r.follow("/api/servers/up/logs?lines=0&follow=true", "text/event-stream")
	if first := lines(); !strings.HasPrefix(first, `{"line":"`) {
		t.Errorf("the first line is %s", first)
	}
	r.post("/api/tools/mcp_up_echo", "")
	if next := lines(); !strings.HasPrefix(next, `{"line":"`) {
		t.Errorf("the next line is %s", next)
	}
	for {
		if line := events(); strings.HasPrefix(line, `data: {"line":"`) {
			break
		} else if line == "EOF" {
			t.Fatal("the event stream ended")
		}
	}
	other := stdio("exits-at-start")
	r.write(map[string]entry{"up": other})
	if status, body := r.post("/api/reload", ""); status != http.StatusOK {
		t.Fatalf("reloading: %d %s", status, body)
	}
	var want LogView
	eventually(t, "the new server writes", func() bool {
		r.into(&want, http.MethodGet, "/api/servers/up/logs?lines=1", "")
		return len(want.Lines) == 1
	})
	for line := lines(); !strings.Contains(line, want.Lines[0]); line = lines() {
		if line == "EOF" {
			t.Fatal("the stream ended with the first server")
		}
	}
	r.write(nil)
	if status, body := r.post("/api/reload", ""); status != http.StatusOK {
		t.Fatalf("reloading: %d %s", status, body)
	}
	for lines() != "EOF" { // ends when its server is gone
	}
}

// TestFollowEndsWithTheHub, which could not shut down otherwise.
func TestFollowEndsWithTheHub(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")})
	lines := r.follow("/api/servers/up/logs?lines=0&follow=true", "*/*")
	close(r.done)
	r.done = make(chan struct{}) // for the end of the test
	for lines() != "EOF" {
	}
}
