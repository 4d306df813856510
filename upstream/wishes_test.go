package upstream_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/upstream"
	"mcphub/wire"
)

// TestSubscribersSideBySide has a server think about its first subscription while another client wants the same, and
// refuse: the second client's is asked for by itself.
func TestSubscribersSideBySide(t *testing.T) {
	asked, decide := make(chan struct{}), make(chan struct{})
	var first sync.Once
	h := startHandmade(t, &handmade{subscribe: func(w http.ResponseWriter, m wire.Message) {
		refuse := false
		first.Do(func() {
			refuse = true
			close(asked)
			<-decide
		})
		if refuse {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(wire.AppendError(nil, m.ID, []byte(`{"code":-32603,"message":"not now"}`)))
			return
		}
		answer(w, m, "{}")
	}})
	s := start(t, webAt(h.url))
	mustCall(t, s, "echo", "") // a subscription from before the connection would be restored on it
	subscribe := func() chan upstream.Answer {
		got := make(chan upstream.Answer, 1)
		go func() {
			a, err := s.Wishes().Subscribe(t.Context(), "test://s")
			if err != nil {
				t.Error(err)
			}
			got <- a
		}()
		return got
	}
	one := subscribe()
	<-asked
	two := subscribe()
	select {
	case a := <-two:
		t.Fatalf("somebody is subscribed before the server has said so: %s", a.Result)
	case <-one:
		t.Fatal("the server has not answered yet")
	default:
		close(decide)
	}
	if a := <-one; !strings.Contains(string(a.Error), "not now") {
		t.Errorf("the first one got %s %s", a.Result, a.Error)
	}
	if a := <-two; a.Error != nil || h.seen("POST resources/subscribe") != 2 {
		t.Errorf("the second one got %s after %d requests", a.Error, h.seen("POST resources/subscribe"))
	}
	if a, err := s.Wishes().Unsubscribe(t.Context(), "test://s"); err != nil || a.Error != nil || h.seen("POST resources/unsubscribe") != 1 {
		t.Errorf("unsubscribing: %s %v after %d requests", a.Error, err, h.seen("POST resources/unsubscribe"))
	}
}

// TestListeningGoesOn has a stateless server fail its first subscription.
func TestListeningGoesOn(t *testing.T) {
	cfg, srv := web(t, "modern-only+500-rpc:subscriptions/listen#1")
	s := start(t, cfg)
	settled(t, s)
	srv.Log.WaitMessages(t, wire.Listen, 2)
}

// TestForgottenSession has a server forget its session between two GET streams, while nobody calls.
func TestForgottenSession(t *testing.T) {
	var h *handmade
	h = startHandmade(t, &handmade{get: func(w http.ResponseWriter, r *http.Request) {
		switch {
		case h.seen("GET ") == 1: // opened, and cut off
			events(w)
		case h.seen("POST initialize") == 1:
			http.Error(w, "session not found", http.StatusNotFound)
		default:
			events(w)
			<-r.Context().Done()
		}
	}})
	s := start(t, webAt(h.url))
	settled(t, s)
	eventually(t, "another session, and its list", func() bool { return h.seen("POST initialize") == 2 && h.seen("POST tools/list") >= 2 })
}

// TestOneListFails has a server whose resources cannot be listed.
func TestOneListFails(t *testing.T) {
	cfg, _ := web(t, "500:resources/list")
	s := start(t, cfg)
	settled(t, s)
	offer := s.Offer()
	if offer == nil || len(offer.Tools) == 0 || len(offer.Prompts) == 0 || len(offer.Resources) != 0 || s.Status().State != upstream.StateReady {
		t.Fatalf("the server offers %+v, its state is %+v", offer, s.Status())
	}
	has(t, strings.Join(offer.Notes, "\n"), "resources/list: answered HTTP 500")
}

// TestQuietListsAreReadAgain has a server that never tells of changes and says how long its lists hold.
func TestQuietListsAreReadAgain(t *testing.T) {
	cfg, srv := web(t, testmcp.Replies{
		"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"t","version":"1"}}`,
		"tools/list": `{"tools":[],"ttlMs":1}`,
	}.Name(t))
	s := start(t, cfg)
	settled(t, s)
	eventually(t, "another look at the list", func() bool {
		s.Refresh(false) // as for every list that a client asks for
		return srv.Log.Count(wire.ToolsList) > 1
	})
}

// TestOddProgressTokens has clients ask for progress by what is no token.
func TestOddProgressTokens(t *testing.T) {
	cfg, log := program(t, "well")
	s := start(t, cfg)
	for _, token := range []string{"null", `{"a":1}`, "[1]", "true"} {
		call := toolCall("echo", `{}`)
		call.Params = wire.Splice(call.Params, wire.Edit{Key: "_meta", Value: []byte(`{"progressToken":` + token + `,"x":1}`)})
		if _, err := s.Call(t.Context(), call); err != nil {
			t.Fatal(err)
		}
		all := log.Messages(wire.ToolsCall)
		if body := all[len(all)-1].Body; strings.Contains(body, "progressToken") || !strings.Contains(body, `"_meta":{"x":1}`) {
			t.Errorf("the server got %s", body)
		}
	}
}
