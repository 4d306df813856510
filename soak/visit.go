package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"mcphub/wire"
)

// The servers behind the hub.
const (
	calm = "calm" // go-sdk's, a child of the hub
	web  = "web"  // the same over HTTP
	old  = "old"  // a child of the session era, whose questions do not say which call they belong to
)

// visit is the life of one client: it comes, does a few things and goes.
type visit struct {
	*client
	server string
}

// come opens a client and has it do what a die says.
func come(ctx context.Context, url string, transport http.RoundTripper, w *watch) {
	c := &client{url: url, http: &http.Client{Transport: transport}, watch: w, stateless: rand.N(2) == 0}
	v := &visit{c, []string{calm, calm, calm, calm, web, web, web, web, web, old}[rand.N(10)]}
	begun := time.Now()
	err := c.open(ctx)
	w.note("initialize", time.Since(begun), err, ctx.Err() != nil)
	if err != nil {
		return
	}
	defer c.close()
	for range 3 + rand.N(12) {
		if ctx.Err() != nil {
			return
		}
		v.act(ctx)
		pause(ctx, rand.N(300*time.Millisecond))
	}
}

// act does one thing.
func (v *visit) act(ctx context.Context) {
	switch rand.N(12) {
	case 0:
		v.measured(ctx, "tools/list", v.list)
	case 1, 2:
		v.measured(ctx, "progress", func(ctx context.Context) error { return v.call(ctx, "progress", v.watch.nonce()) })
	case 3, 4:
		v.measured(ctx, "elicitation", func(ctx context.Context) error { return v.call(ctx, "ask", v.watch.nonce()) })
	case 5, 6:
		if v.server != old {
			v.measured(ctx, "subscription", v.subscribe)
		}
	case 7, 8:
		v.leave(ctx)
	default:
		v.measured(ctx, "echo", func(ctx context.Context) error { return v.call(ctx, "echo", v.watch.nonce()) })
	}
}

// measured does something that has to have an answer.
func (v *visit) measured(ctx context.Context, name string, do func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	begun := time.Now()
	err := do(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		v.watch.violated("%s of %s has no answer within %v", name, v.server, answerLimit)
	}
	v.watch.note(name, time.Since(begun), err, ctx.Err() != nil)
}

func (v *visit) list(ctx context.Context) error {
	result, err := v.request(ctx, wire.ToolsList, []byte("{}"), v.watch.nonce())
	if err == nil && !bytes.Contains(result, wire.Quote("mcp_"+v.server+"_echo")) {
		return fmt.Errorf("the list lacks the tools of %s", v.server)
	}
	return err
}

// call calls a tool with its nonce in every argument that comes back.
func (v *visit) call(ctx context.Context, tool, nonce string) error {
	params := `{"name":"mcp_` + v.server + `_` + tool + `","arguments":{"text":"` + nonce + `","message":"` + nonce + `","ms":20,"n":3}}`
	result, err := v.request(ctx, wire.ToolsCall, []byte(params), nonce)
	switch {
	case err != nil:
		return err
	case string(wire.Get(result, "isError")) == "true":
		return fmt.Errorf("%w: %.200s", errFailed, wire.Get(result, "content"))
	case bytes.Contains(result, []byte(nonce)), v.server == old && (tool == "progress" || tool == "slow"): // these do not repeat their arguments
		return nil
	case tool == "ask" && v.server == old: // the hub declined for the user, not knowing whom to ask
		return fmt.Errorf("%w: declined", errFailed)
	}
	v.watch.violated("the answer to %s of %s lacks %s: %.300s", tool, v.server, nonce, result)
	return nil
}

// subscribe waits for news of a resource of its own, which it causes itself.
func (v *visit) subscribe(ctx context.Context) error {
	nonce := v.watch.nonce()
	uri := itemURI(v.server, nonce)
	ctx, cancel := context.WithCancel(ctx)
	news, ended := make(chan error, 1), make(chan error, 1)
	go func() {
		ended <- v.listen(ctx, uri, nonce, func(m wire.Message) {
			var refused error
			if m.Method == wire.Acknowledged && !bytes.Contains(m.Params, []byte(uri)) {
				refused = fmt.Errorf("%w: the subscription is not granted", errFailed) // its server is down
			}
			if refused != nil || m.Method == wire.ResourceUpdated {
				select {
				case news <- refused:
				default:
				}
			}
		})
	}()
	defer func() { cancel(); <-ended }()
	params := []byte(`{"uri":"` + uri + `"}`)
	if !v.stateless {
		if _, err := v.request(ctx, wire.ResourcesSubscribe, params, nonce); err != nil {
			return err
		}
		defer v.request(context.WithoutCancel(ctx), wire.ResourceUnsubscribe, params, nonce) //nolint:errcheck // the server may be gone
	}
	// A stream may open after the first news, and a server may be killed at any time: it is caused again, for a while.
	for range 20 {
		if err := v.call(ctx, "touch", nonce); err != nil && !errors.Is(err, errFailed) {
			return err
		}
		timer := time.NewTimer(250 * time.Millisecond)
		select {
		case err := <-news:
			timer.Stop()
			return err
		case <-timer.C:
		case err := <-ended:
			ended <- err
			return fmt.Errorf("the stream of a subscription at %s ended: %w", v.server, err)
		}
	}
	return fmt.Errorf("no news of a subscription at %s, stateless client: %t", v.server, v.stateless)
}

// leave calls a tool that takes its time and goes before the answer: by a disconnect or, half of the time in a
// session, by saying so.
func (v *visit) leave(ctx context.Context) {
	nonce := v.watch.nonce()
	limited, cancel := context.WithTimeout(ctx, time.Duration(rand.N(100))*time.Millisecond)
	defer cancel()
	if v.session != "" && rand.N(2) == 0 {
		go func() {
			<-limited.Done()
			v.tell(ctx, wire.Cancelled, []byte(`{"requestId":"`+nonce+`"}`)) //nolint:errcheck // the hub answers the call or not
		}()
		whole, done := context.WithTimeout(ctx, answerLimit)
		defer done()
		err := v.call(whole, "slow", nonce)
		v.watch.note("cancelled", 0, nil, false)
		if err != nil && whole.Err() != nil && ctx.Err() == nil {
			v.watch.violated("a cancelled call of %s has no end within %v", v.server, answerLimit)
		}
		return
	}
	v.watch.note("disconnected", 0, nil, v.call(limited, "slow", nonce) != nil)
}
