package upstream_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mcphub/wire"
)

// handmade is a Streamable HTTP server for what testmcp has no name for. It serves one session and no GET
// stream, unless call or get says otherwise.
type handmade struct {
	t   testing.TB
	url string
	// call answers tools/call; nil answers with an empty result.
	call func(w http.ResponseWriter, r *http.Request, m wire.Message)
	// get serves GET; nil refuses.
	get func(w http.ResponseWriter, r *http.Request)
	// subscribe answers resources/subscribe and unsubscribe; nil refuses.
	subscribe func(w http.ResponseWriter, m wire.Message)
	// posted sees everything that is posted.
	posted func(m wire.Message)

	mu    sync.Mutex
	count map[string]int // of requests by method
}

// startHandmade starts the server; it ends with the test.
func startHandmade(t testing.TB, h *handmade) *handmade {
	t.Helper()
	h.t, h.count = t, map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(h.serve))
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	h.url = srv.URL + "/mcp"
	return h
}

func (h *handmade) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	var m wire.Message
	if r.Method == http.MethodPost {
		if m, err = wire.Scan(body); err != nil {
			h.t.Errorf("got %q: %v", body, err)
		}
	}
	h.mu.Lock()
	h.count[r.Method+" "+m.Method]++
	h.mu.Unlock()
	switch {
	case r.Method == http.MethodGet && h.get != nil:
		h.get(w, r)
	case r.Method != http.MethodPost:
		http.Error(w, "no", http.StatusMethodNotAllowed)
	default:
		h.post(w, r, m)
	}
}

func (h *handmade) post(w http.ResponseWriter, r *http.Request, m wire.Message) {
	if h.posted != nil {
		h.posted(m)
	}
	switch {
	case !m.IsRequest():
		w.WriteHeader(http.StatusAccepted)
	case m.Method == wire.Initialize:
		w.Header().Set("Mcp-Session-Id", "one")
		answer(w, m, `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"handmade","version":"1"}}`)
	case m.Method == wire.ToolsList:
		answer(w, m, `{"tools":[{"name":"echo","inputSchema":{"type":"object"}}]}`)
	case m.Method == wire.ToolsCall && h.call != nil:
		h.call(w, r, m)
	case m.Method == wire.ToolsCall:
		answer(w, m, `{"content":[]}`)
	case h.subscribe != nil && (m.Method == wire.ResourcesSubscribe || m.Method == wire.ResourceUnsubscribe):
		h.subscribe(w, m)
	default:
		http.Error(w, "Bad Request", http.StatusBadRequest)
	}
}

// seen is how many requests of this kind came, like "POST tools/call" or "GET ".
func (h *handmade) seen(what string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count[what]
}

// answer answers a request with JSON.
func answer(w http.ResponseWriter, m wire.Message, result string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(wire.AppendResult(nil, m.ID, []byte(result)))
}

// events begins an event stream; the function it returns sends on it.
func events(w http.ResponseWriter) (send func(lines ...string)) {
	w.Header().Set("Content-Type", "text/event-stream")
	send = func(lines ...string) {
		if len(lines) > 0 {
			_, _ = io.WriteString(w, strings.Join(lines, "\n")+"\n\n")
		}
		_ = http.NewResponseController(w).Flush()
	}
	send()
	return send
}

// result is the data line of an answer.
func result(m wire.Message, raw string) string {
	return "data: " + string(wire.AppendResult(nil, m.ID, []byte(raw)))
}
