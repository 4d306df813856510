// Command soak runs the hub for a long time under clients that come and go and servers that die, and sees whether
// anything is lost, mixed up or left over.
//
//	go run ./soak -hub bin/mcphub -for 30m
//
// Clients of both eras list, call, ask, subscribe, cancel and disconnect at random, in front of three servers that
// are killed at random. Every call carries a nonce, and whatever reaches a client may hold no nonce but its own. At
// rest, the hub must hold no more than it did at rest after the warm-up. It prints one page and exits with 1 when
// something was not as it should be.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"mcphub/internal/testmcp"
)

// upstreamVerb makes this program a server: soak upstream NAME [ADDRESS].
const upstreamVerb = "upstream"

func main() {
	testmcp.Main() // returns unless this process is the old server
	if len(os.Args) > 2 && os.Args[1] == upstreamVerb {
		if err := runUpstream(os.Args[2], append(os.Args, "")[3]); err != nil {
			fmt.Fprintln(os.Stderr, "soak:", err)
			os.Exit(1)
		}
		return
	}
	hub := flag.String("hub", "bin/mcphub", "the built hub")
	length := flag.Duration("for", 30*time.Minute, "length of the run, a quarter of which is warm-up, at most five minutes")
	clients := flag.Int("clients", 200, "clients at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := soak(ctx, *hub, *length, *clients)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

func soak(ctx context.Context, hub string, length time.Duration, clients int) error {
	w, err := startWorld(hub)
	if err != nil {
		return err
	}
	v := newWatch()
	defer func() { w.close(len(v.violations) > 0) }()
	warm := min(length/4, 5*time.Minute)
	if err := w.burden(ctx, v, warm, clients); err != nil {
		return err
	}
	rest := min(length/10, fullRest)
	before, err := w.rest(ctx, rest, nil)
	if err != nil {
		return err
	}
	fmt.Println("at rest after the warm-up:", before)
	if err := w.burden(ctx, v, length-warm, clients); err != nil {
		return err
	}
	after, err := w.rest(ctx, rest, &before)
	if err != nil {
		return err
	}
	fmt.Println("at rest at the end:       ", after)
	if what := after.exceeds(before); what != "" {
		v.violated("%s is not flat: %v, then %v; the children are %q", what, before, after, w.commands())
	}
	w.stop(v)
	v.check()
	fmt.Printf("%d servers were killed\n\n%s\n", w.restarts, v.report())
	if len(v.violations) == 0 {
		fmt.Println("all as it should be")
		return nil
	}
	for _, text := range v.violations {
		fmt.Println("VIOLATION:", text)
	}
	return fmt.Errorf("%d violations", len(v.violations))
}

// burden keeps so many clients at the hub for a while and kills servers meanwhile.
func (w *world) burden(ctx context.Context, v *watch, length time.Duration, clients int) error {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	transport := &http.Transport{MaxIdleConnsPerHost: clients}
	defer transport.CloseIdleConnections()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				come(ctx, w.url, transport, v)
			}
		})
	}
	err := w.disturb(ctx)
	cancel()
	all.Wait()
	return err
}

// fullRest is longer than the hub keeps connections that nobody uses. A short run rests for less after the warm-up. At
// the end the hub has that long, beyond its rest, to be as flat as before.
const fullRest = 100 * time.Second

// rest leaves the hub alone and measures it.
func (w *world) rest(ctx context.Context, length time.Duration, before *measure) (measure, error) {
	pause(ctx, length)
	deadline := time.Now().Add(fullRest)
	for {
		if ctx.Err() != nil {
			return measure{}, errors.New("interrupted")
		}
		m, err := measureOf(w.hub.Process.Pid)
		if err != nil || before == nil || m.exceeds(*before) == "" || time.Now().After(deadline) {
			return m, err
		}
		pause(ctx, time.Second)
	}
}
