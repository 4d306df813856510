package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"sync"
	"time"
)

// side is one way to the upstream.
type side struct {
	name   string
	url    string
	prefix string // of the names of tools there
	pid    int    // of the process in between, 0 when there is none
}

// work is what all workers of a burst do over and over.
type work struct {
	tool    string
	args    string // arguments beside text: `,"kib":1024`
	size    int    // bytes an answer has at least
	workers int    // each in a session of its own, with one call in flight
	length  time.Duration
}

// burst is what came of some work on one side.
type burst struct {
	calls int
	rate  float64       // calls a second
	p50   float64       // of a call's time, milliseconds
	cpu   time.Duration // of the process in between, all calls together
}

// contest holds the bursts of all sides: bursts[round][side].
type contest struct {
	sides  []side
	bursts [][]burst
}

// compare has all sides do the work in turn, in another order each round, so that
// what else the machine does falls on all of them.
func compare(ctx context.Context, sides []side, w work, rounds int) (contest, error) {
	c := contest{sides: sides}
	for round := range rounds {
		bursts := make([]burst, len(sides))
		for i := range sides {
			turn := (i + round) % len(sides)
			b, err := w.run(ctx, sides[turn])
			if err != nil {
				return c, fmt.Errorf("%s, %s with %d in flight: %w", sides[turn].name, w.tool, w.workers, err)
			}
			bursts[turn] = b
		}
		c.bursts = append(c.bursts, bursts)
	}
	return c, nil
}

func rate(b burst) float64 { return b.rate }
func p50(b burst) float64  { return b.p50 }

// of is the median of a value over the rounds.
func (c contest) of(side int, value func(burst) float64) float64 {
	var all []float64
	for _, round := range c.bursts {
		all = append(all, value(round[side]))
	}
	return median(all)
}

// ratio is the median over the rounds of a value on one side to that on another.
// The two were taken within seconds, so it holds where the values themselves drift.
func (c contest) ratio(side, base int, value func(burst) float64) float64 {
	var all []float64
	for _, round := range c.bursts {
		all = append(all, value(round[side])/value(round[base]))
	}
	return median(all)
}

// cpu is the CPU time of the process in between for one call, in microseconds. It
// is taken over all rounds at once, as /proc counts in steps of 10 ms.
func (c contest) cpu(side int) float64 {
	var spent time.Duration
	calls := 0
	for _, round := range c.bursts {
		spent += round[side].cpu
		calls += round[side].calls
	}
	return float64(spent.Microseconds()) / float64(calls)
}

// run does the work on one side. Opening the sessions and one call in each are
// not counted.
func (w work) run(ctx context.Context, s side) (burst, error) {
	client := newClient(s.url, w.workers)
	defer client.close()
	sessions := make([]*session, w.workers)
	for i := range sessions {
		opened, err := client.open(ctx)
		if err != nil {
			return burst{}, err
		}
		sessions[i] = opened
		if err := w.call(ctx, opened, s.prefix, "warm"); err != nil {
			return burst{}, err
		}
	}
	before, err := s.cpuTime()
	if err != nil {
		return burst{}, err
	}
	took, seconds, err := w.all(ctx, sessions, s.prefix)
	if err != nil {
		return burst{}, err
	}
	after, err := s.cpuTime()
	if err != nil {
		return burst{}, err
	}
	for _, opened := range sessions {
		if err := opened.end(ctx); err != nil {
			return burst{}, err
		}
	}
	return burst{
		calls: len(took),
		rate:  float64(len(took)) / seconds,
		p50:   float64(median(took).Microseconds()) / 1000,
		cpu:   after - before,
	}, nil
}

func (s side) cpuTime() (time.Duration, error) {
	if s.pid == 0 {
		return 0, nil
	}
	return cpuTime(s.pid)
}

// all has every session call until the time is up. It returns the time of each
// call and that of all.
func (w work) all(ctx context.Context, sessions []*session, prefix string) (took []time.Duration, seconds float64, err error) {
	times := make([][]time.Duration, len(sessions))
	errs := make([]error, len(sessions))
	begun := time.Now()
	until := begun.Add(w.length)
	var workers sync.WaitGroup
	for i, s := range sessions {
		workers.Go(func() {
			for n := 0; errs[i] == nil; n++ {
				at := time.Now()
				if at.After(until) {
					return
				}
				errs[i] = w.call(ctx, s, prefix, fmt.Sprintf("nonce-%d-%d", i, n))
				times[i] = append(times[i], time.Since(at))
			}
		})
	}
	workers.Wait()
	return slices.Concat(times...), time.Since(begun).Seconds(), errors.Join(errs...)
}

// call makes one call and holds its answer against the question: a gateway that
// mixes answers up, or cuts them, must not be fast by that.
func (w work) call(ctx context.Context, s *session, prefix, nonce string) error {
	answer, err := s.post(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+quote(prefix+w.tool)+`,"arguments":{"text":"`+nonce+`|"`+w.args+`}}}`)
	switch {
	case err != nil:
		return err
	case !bytes.Contains(answer, []byte(nonce+"|")):
		return fmt.Errorf("the answer lacks %s: %.200s", nonce, answer)
	case bytes.Contains(answer, []byte(`"isError":true`)):
		return fmt.Errorf("the tool failed: %.200s", answer)
	case len(answer) < w.size:
		return fmt.Errorf("the answer has %d bytes, it should have %d", len(answer), w.size)
	}
	return nil
}

// echo is a small call; large is one with a result of 1 MiB.
func echo(workers int, length time.Duration) work {
	return work{tool: "echo", workers: workers, length: length}
}

func large(workers int, length time.Duration) work {
	return work{tool: "blob", args: `,"kib":1024`, size: 1 << 20, workers: workers, length: length}
}

// runLoad compares any gateway with the upstream itself and, where given, with a
// reverse proxy.
func runLoad(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("load", flag.ContinueOnError)
	direct := flags.String("direct", "", "URL of the upstream")
	proxy := flags.String("proxy", "", "URL through the reverse proxy; left out when empty")
	proxyPID := flags.Int("proxy-pid", 0, "its process")
	hub := flags.String("hub-url", "", "URL of the gateway")
	hubPID := flags.Int("hub-pid", 0, "its process")
	prefix := flags.String("prefix", "mcp_up0_", "what the gateway puts before names of tools")
	tool := flags.String("tool", "echo", "echo or blob, which is 1 MiB")
	workers := flags.Int("c", 16, "calls in flight")
	rounds := flags.Int("rounds", 5, "rounds")
	length := flags.Duration("length", time.Second, "length of a burst")
	if err := flags.Parse(args); err != nil {
		return err
	}
	sides := []side{{name: "direct", url: *direct}}
	if *proxy != "" {
		sides = append(sides, side{name: "reverse proxy", url: *proxy, pid: *proxyPID})
	}
	sides = append(sides, side{name: "hub", url: *hub, prefix: *prefix, pid: *hubPID})
	w := echo(*workers, *length)
	if *tool == "blob" {
		w = large(*workers, *length)
	}
	c, err := compare(ctx, sides, w, *rounds)
	if err != nil {
		return err
	}
	for i, s := range sides {
		fmt.Printf("%-14s %8.0f calls/s (× %.2f)  p50 %.2f ms (× %.2f)  CPU %.0f µs/call\n",
			s.name, c.of(i, rate), c.ratio(i, 0, rate), c.of(i, p50), c.ratio(i, 0, p50), c.cpu(i))
	}
	return nil
}
