package front

import (
	"context"
	"net/http"
	"strings"
	"sync"

	"mcphub/hub"
	"mcphub/wire"
)

// openSSE opens a session of the older HTTP+SSE transport (MCP 2024-11-05, Transports): the stream
// names the address to post to and carries every message to the client.
func (f web) openSSE(w http.ResponseWriter, r *http.Request) {
	at, ok := f.target(r)
	if !ok {
		http.Error(w, "no server of that name is configured", http.StatusNotFound)
		return
	}
	d := f.newDuplex(at)
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	d.s.duplex = &postedTo{d, ctx}
	f.sessions.add(d.s)
	defer func() {
		cancel()
		f.end(d.s)
		d.tasks.Wait()
	}()
	defer d.s.use()()
	events := f.startEvents(w)
	endpoint := strings.TrimSuffix(r.URL.Path, "/sse") + "/messages?sessionId=" + d.s.id
	if events.Event("", "endpoint", []byte(endpoint)) == nil {
		f.pump(r, d.s, events, nil)
	}
}

// postedTo is what a POST needs of the stream it belongs to.
type postedTo struct {
	d   *duplex
	ctx context.Context // the stream's
}

// postSSE takes a message for an open stream.
func (f web) postSSE(w http.ResponseWriter, r *http.Request) {
	at, _ := f.target(r)
	s := f.sessions.get(r.URL.Query().Get("sessionId"), at)
	if s == nil || s.duplex == nil {
		http.Error(w, "session not found: open the event stream again", http.StatusNotFound)
		return
	}
	body, ok := f.readBody(w, r)
	if !ok {
		return
	}
	s.touch()
	s.duplex.d.take(s.duplex.ctx, body)
	w.WriteHeader(http.StatusAccepted)
}

// Stdio serves one client on a pair of pipes until in ends or ctx does.
func (f *Front) Stdio(ctx context.Context, in *wire.LineReader, write func([]byte) error) error {
	d := f.newDuplex(hub.Door{})
	ctx, cancel := context.WithCancel(ctx)
	var writer sync.WaitGroup
	writer.Go(func() { d.pump(ctx, cancel, write) })
	defer func() { // calls may end, as a shell's pipe needs it; what waits for the client would not
		d.s.client.Mute()
		f.hub.Quiet()
		d.tasks.Wait()
		cancel()
		writer.Wait()
		f.end(d.s)
	}()
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		for {
			line, err := in.Next()
			if err != nil {
				failed <- err
				return
			}
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case line := <-lines:
			d.take(ctx, line)
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pump writes the outbox as lines until ctx has ended and the outbox is empty.
func (d *duplex) pump(ctx context.Context, cancel func(), write func([]byte) error) {
	for ended := false; ; {
		for _, msg := range d.s.out.take() {
			if write(append(wire.OneLine(msg), '\n')) != nil {
				cancel() // the client reads no more
				return
			}
		}
		if ended {
			return
		}
		select {
		case <-d.s.out.wake:
		case <-ctx.Done():
			ended = true
		}
	}
}
