package front

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
)

// Limits of what a relayed 100-byte call may allocate in the hub, the HTTP server and client aside.
const (
	maxAllocs = 30
	maxBytes  = 6 << 10
)

// relayOnce sends one small call through the handler to a child process and back.
func relayOnce(t testing.TB, router http.Handler, body *bytes.Reader, req *http.Request, w *recorder) {
	if _, err := body.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	clear(w.header)
	w.body.Reset()
	req.Body = io.NopCloser(body)
	router.ServeHTTP(w, req)
	if !strings.Contains(w.body.String(), "hello hello") {
		t.Fatalf("HTTP %d %s", w.status, w.body.String())
	}
}

func relayRig(t testing.TB) (http.Handler, *bytes.Reader, *http.Request, *recorder) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{})
	router := chi.NewRouter()
	r.front.Mount(router)
	text := call("12", "mcp_up_echo", `{"text":"hello hello hello hello hello"}`)
	req := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", nil)
	req.Header.Set("Content-Type", "application/json")
	req.ContentLength = int64(len(text))
	return router, bytes.NewReader([]byte(text)), req, &recorder{header: http.Header{}}
}

func BenchmarkRelay(b *testing.B) {
	router, body, req, w := relayRig(b)
	b.ReportAllocs()
	for b.Loop() {
		relayOnce(b, router, body, req, w)
	}
}

// TestRelayAllocations keeps the cost of a small call where it is.
func TestRelayAllocations(t *testing.T) {
	router, body, req, w := relayRig(t)
	result := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			relayOnce(b, router, body, req, w)
		}
	})
	if result.N == 0 {
		t.Fatal("the relayed call failed")
	}
	t.Logf("%d allocations, %d bytes a call", result.AllocsPerOp(), result.AllocedBytesPerOp())
	if raceEnabled {
		t.Log("these are the race detector's allocations too; the limit is held without it")
		return
	}
	if result.AllocsPerOp() > maxAllocs || result.AllocedBytesPerOp() > maxBytes {
		t.Errorf("a relayed call makes %d allocations of %d bytes, over %d and %d",
			result.AllocsPerOp(), result.AllocedBytesPerOp(), maxAllocs, maxBytes)
	}
}
