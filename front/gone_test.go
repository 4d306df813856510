package front

import (
	"net/http"
	"testing"
	"time"

	"mcphub/wire"
)

// TestB048 freezes a client while its stream is open: its session ends, and that of one that answers pings does not.
func TestB048(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well")}, Options{SessionIdle: time.Second, PingWait: 5 * time.Second})
	frozen, alive := r.peer(wire.V20251125, `{}`, friendly), r.peer(wire.V20251125, `{}`, friendly)
	stream := frozen.get()
	pings := make(chan int, 1)
	hers := alive.get()
	go func() {
		n := 0
		for {
			m, ok := hers.next()
			if !ok {
				pings <- n
				return
			}
			if m.Method == wire.Ping {
				n++
				alive.reply(m, answer{result: "{}"})
			}
		}
	}()
	for { // until the hub has ended it
		if _, ok := stream.next(); !ok {
			break
		}
	}
	if got := r.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, frozen.session...); got.status != http.StatusNotFound {
		t.Errorf("the frozen client's session: HTTP %d", got.status)
	}
	if got := r.post("/mcp", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, alive.session...); got.status != http.StatusOK {
		t.Errorf("the other one's: HTTP %d", got.status)
	}
	hers.body.Close()
	if n := <-pings; n == 0 {
		t.Error("nobody was asked")
	}
}
