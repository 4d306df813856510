package front

import (
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/hub"
	"mcphub/upstream"
)

// reserved is a listener whose address is known before anybody serves there.
func reserved(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// serveAt runs a hub at l that has the hubs at these addresses as servers, by letters, and a server of its own.
func serveAt(t *testing.T, l net.Listener, addrs ...string) *hub.Hub {
	t.Helper()
	text := `{"mcpServers":{"own":` + raw(t, stdio("only-tools"))
	for i, addr := range addrs {
		text += `,"` + string(rune('a'+i)) + `":{"url":"http://` + addr + `/mcp"}`
	}
	cfg, err := config.Parse("ring.json", []byte(text+"}}"), os.LookupEnv)
	if err != nil {
		t.Fatal(err)
	}
	h := hub.New(cfg, hub.Options{Log: zerolog.Nop(), Version: "test"})
	f := New(h, Options{Settings: &cfg.Settings})
	router := chi.NewRouter()
	f.Mount(router)
	server := &httptest.Server{Listener: l, Config: &http.Server{Handler: router}}
	server.Start()
	h.Start()
	t.Cleanup(func() {
		f.Drain()
		server.CloseClientConnections()
		server.Close()
		f.Close()
		h.Close()
	})
	return h
}

// failed waits until one of the servers has failed because it leads back.
func failed(t *testing.T, servers ...*upstream.Server) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(60 * time.Second); time.Now().Before(limit); <-tick.C {
		for _, s := range servers {
			if st := s.Status(); st.State == upstream.StateFailed && strings.Contains(st.Reason, "leads back to this hub") && strings.HasPrefix(st.Fix, "mcphub remove ") {
				return
			}
		}
	}
	t.Fatal("nobody notices the ring")
}

// TestRings has hubs be their own servers, directly and by way of others.
func TestRings(t *testing.T) {
	t.Run("itself", func(t *testing.T) {
		l := reserved(t)
		h := serveAt(t, l, l.Addr().String())
		failed(t, h.Server("a"))
		if got, _ := h.Published("own"); got == 0 {
			t.Error("its other server is gone too")
		}
		if got, _ := h.Published("a"); got != 0 {
			t.Errorf("it publishes %d tools of its own twice", got)
		}
	})
	t.Run("three", func(t *testing.T) {
		one, two, three := reserved(t), reserved(t), reserved(t)
		a, b, c := serveAt(t, one, two.Addr().String()), serveAt(t, two, three.Addr().String()), serveAt(t, three, one.Addr().String())
		failed(t, a.Server("a"), b.Server("a"), c.Server("a"))
	})
	t.Run("no ring", func(t *testing.T) {
		one, two, three := reserved(t), reserved(t), reserved(t)
		last := serveAt(t, three)
		serveAt(t, two, three.Addr().String())
		h := serveAt(t, one, two.Addr().String(), three.Addr().String()) // the last by two ways
		for _, name := range []string{"a", "b"} {
			<-h.Server(name).Settled()
			if st := h.Server(name).Status(); st.State != upstream.StateReady {
				t.Errorf("%s is %+v", name, st)
			}
		}
		if got, _ := last.Published("own"); got == 0 {
			t.Error("nothing to lead to")
		}
	})
}

func raw(t *testing.T, e entry) string {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
