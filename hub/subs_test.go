package hub

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// held is the entry of a server that answers nothing until it is let go.
func held(t testing.TB, up *testmcp.Server) (e entry, letGo func()) {
	t.Helper()
	target, err := url.Parse(up.URL)
	if err != nil {
		t.Fatal(err)
	}
	open := make(chan struct{})
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = target.Scheme, target.Host
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
			proxy.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	}))
	letGo = sync.OnceFunc(func() { close(open) })
	t.Cleanup(func() {
		letGo()
		front.CloseClientConnections()
		front.Close()
	})
	return entry{"url": front.URL + target.Path}, letGo
}

// inbox has what a client is sent. It is an Outlet too.
type inbox struct {
	t    testing.TB
	msgs chan wire.Message
}

func newInbox(t testing.TB) *inbox { return &inbox{t, make(chan wire.Message, 100)} }

func (b *inbox) Send(msg []byte) {
	m, err := wire.Scan(msg)
	if err != nil {
		b.t.Errorf("%v in %s", err, msg)
	}
	b.msgs <- m
}

func (b *inbox) Prime(time.Duration) {}

// updates reads up to n updates of resources, and returns the members uri and who of each.
func (b *inbox) updates(n int) (got []string) {
	b.t.Helper()
	late := time.After(20 * time.Second)
	for len(got) < n {
		select {
		case m := <-b.msgs:
			if m.Method == wire.ResourceUpdated {
				got = append(got, wire.String(wire.Get(m.Params, "uri"))+" "+wire.String(wire.Get(m.Params, "who")))
			}
		case <-late:
			b.t.Fatalf("of %d updates came %q", n, got)
		}
	}
	return got
}

// until waits for a message.
func (b *inbox) until(method string) {
	b.t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case m := <-b.msgs:
			if m.Method == method {
				return
			}
		case <-late:
			b.t.Fatalf("%s does not come", method)
		}
	}
}

// session is a client that has joined, and what it is sent.
func session(t testing.TB, h *Hub) (*Client, *inbox) {
	t.Helper()
	b := newInbox(t)
	c := &Client{Version: wire.V20251125, Params: []byte(`{"protocolVersion":"2025-11-25","capabilities":{}}`), Push: b.Send}
	h.Join(c)
	t.Cleanup(func() { h.Leave(c) })
	return c, b
}

// listening opens a stateless client's stream of changes.
func listening(t testing.TB, h *Hub, filter string) *inbox {
	t.Helper()
	b := newInbox(t)
	m, err := wire.Scan(wire.AppendRequest(nil, []byte("1"), wire.Listen, []byte(`{"notifications":`+filter+`}`)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var listening sync.WaitGroup
	listening.Go(func() { h.Serve(ctx, &Request{Client: &Client{Version: wire.V20260728}, Msg: m, Out: b}) })
	t.Cleanup(func() { cancel(); listening.Wait() })
	b.until(wire.Acknowledged)
	return b
}

// changed has a server say that a resource was updated, and who says so.
func changed(t testing.TB, h *Hub, server, uri string) {
	t.Helper()
	params := `{"name":"mcp_` + server + `_tell","arguments":{"method":"` + wire.ResourceUpdated + `","params":{"uri":"` + uri + `","who":"` + server + `"}}}`
	if got := ask(t, h, "", wire.ToolsCall, params); !strings.Contains(string(got.Result), "told") {
		t.Fatalf("%s %s", got.Result, got.Error)
	}
}

// TestSubscriptionsFollowTheirURI has a server come late whose URI was read from another one until then: who is
// subscribed to it hears of what the URI means now, and the other server is no longer asked to tell.
func TestSubscriptionsFollowTheirURI(t *testing.T) {
	up := testmcp.HTTP(t, notes("a", "test://same").Name(t))
	late, letGo := held(t, up)
	command, args, env, early := testmcp.LoggedCommand(t, notes("b", "test://same").Name(t))
	h := start(t, nil, "a", late, "b", entry{"command": command, "args": args, "env": env})
	<-h.Servers()[1].Settled()
	c, told := session(t, h)
	const uri, moved = `{"uri":"test://same"}`, "mcphub://b/test:%2F%2Fsame"
	if got := serve(t, h, c, wire.ResourcesSubscribe, uri); got.Error != nil {
		t.Fatalf("subscribing: %s", got.Error)
	}
	stream := listening(t, h, `{"resourceSubscriptions":["test://same"]}`)
	changed(t, h, "b", "test://same")
	for who, b := range map[string]*inbox{"session": told, "stream": stream} {
		if got := b.updates(1); got[0] != "test://same b" {
			t.Errorf("%s: before, %q", who, got)
		}
	}
	letGo()
	<-h.Servers()[0].Settled()
	if _, text := read(t, h, "test://same"); text != "a's" {
		t.Fatalf("the URI still reads %s", text)
	}
	early.WaitMessages(t, wire.ResourceUnsubscribe, 1)
	up.Log.WaitMessages(t, wire.ResourcesSubscribe, 1)
	if got := serve(t, h, c, wire.ResourcesSubscribe, uri); string(got.Result) != "{}" {
		t.Errorf("subscribing again: %s %s", got.Result, got.Error)
	}
	changed(t, h, "b", "test://same") // its name is another one now
	changed(t, h, "a", "test://same")
	for who, b := range map[string]*inbox{"session": told, "stream": stream} {
		if got := b.updates(1); got[0] != "test://same a" {
			t.Errorf("%s: after, %q", who, got)
		}
	}
	serve(t, h, c, wire.ResourcesSubscribe, `{"uri":"`+moved+`"}`)
	changed(t, h, "b", "test://same")
	if got := told.updates(1); got[0] != moved+" b" {
		t.Errorf("under the hub's name: %q", got)
	}
	if got := serve(t, h, c, wire.ResourceUnsubscribe, `{"uri":"`+moved+`"}`); got.Error != nil {
		t.Errorf("unsubscribing: %s", got.Error)
	}
	if n, m := early.Count(wire.ResourcesSubscribe), early.Count(wire.ResourceUnsubscribe); n != 2 || m != 2 {
		t.Errorf("b was asked %d times to tell and %d times to stop", n, m)
	}
}

// TestSubscribedUnderTwoNames hears of a change under each.
func TestSubscribedUnderTwoNames(t *testing.T) {
	h := settled(t, nil, "a", stdio("well"))
	c, told := session(t, h)
	names := []string{"mcphub://a/test:%2F%2Fhello.txt", "test://", "test://hello.txt"}
	for _, name := range names {
		if got := serve(t, h, c, wire.ResourcesSubscribe, `{"uri":"`+name+`"}`); got.Error != nil {
			t.Fatalf("%s: %s", name, got.Error)
		}
	}
	stream := listening(t, h, `{"resourceSubscriptions":["test://hello.txt","`+names[0]+`"]}`)
	changed(t, h, "a", "test://hello.txt")
	changed(t, h, "a", "test://words/x")
	want := names[0] + " a,test://hello.txt a,test://words/x a" // of a part of test:// under its own name, each once
	if got := strings.Join(told.updates(3), ","); got != want {
		t.Errorf("the session hears %s, want %s", got, want)
	}
	if got := strings.Join(stream.updates(2), ","); got != names[0]+" a,test://hello.txt a" {
		t.Errorf("the stream hears %s", got)
	}
}
