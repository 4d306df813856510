package main

import (
	"fmt"
	"strings"
	"time"
)

// noise is how far a ratio of throughputs may be off between equals: client,
// gateway and upstream share the cores.
const noise = 0.03

// target is a figure the project set itself and what was measured.
type target struct {
	what, want, got string
	met             bool
}

// most and least compare a figure with its bound and write both in one format.
func most(what, format string, bound, got float64) target {
	return target{what, "at most " + fmt.Sprintf(format, bound), fmt.Sprintf(format, got), got <= bound}
}

func least(what, format string, bound, got float64) target {
	return target{what, "at least " + fmt.Sprintf(format, bound), fmt.Sprintf(format, got), got >= bound-noise}
}

const (
	kb = 1000.0
	mb = 1000.0 * kb
)

func targets(p plan, f figures) []target {
	var all []target
	for _, n := range echoWorkers {
		c := f.echo[n]
		all = append(all,
			most(fmt.Sprintf("Small call, HTTP, %d in flight: CPU to the reverse proxy's", n), "× %.2f", 1.15, c.cpu(sideHub)/c.cpu(sideProxy)),
			least(fmt.Sprintf("Small call, HTTP, %d in flight: throughput to the reverse proxy's", n), "× %.2f", 1, c.ratio(sideHub, sideProxy, rate)))
	}
	for _, n := range echoWorkers[1:] {
		all = append(all, most(fmt.Sprintf("Small call, stdio, %d in flight: CPU", n), "%.0f µs", 70, f.echo[n].cpu(sideStdio)))
	}
	for _, n := range largeWorkers {
		all = append(all, most(fmt.Sprintf("1 MiB result, %d in flight: CPU to the reverse proxy's", n), "× %.2f", 3, f.large[n].cpu(sideHub)/f.large[n].cpu(sideProxy)))
	}
	return append(all,
		most(fmt.Sprintf("List of %d tools: CPU", p.tools), "%.2f ms", 2, f.hub.cpu),
		most("Idle session: memory", "%.1f KB", 6, float64(f.session)/kb),
		most("Session with an open GET stream: memory", "%.1f KB", 30, float64(f.stream)/kb),
		most(fmt.Sprintf("Start to first answer, %d stdio servers configured", p.idle), "%.0f ms", 100, f.warm),
		most("Binary", "%.1f MB", 30, float64(f.binary)/mb))
}

func report(p plan, f figures) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Performance

Written by %sgo run ./bench all%s on %s. Machine: %s.

Client, gateway and upstream share the machine, so ratios and CPU time per call say more than calls per second. All
sides do the same work in turn, in another order each round, %d rounds of %v, twice that for large results. A ratio is
the median over the rounds; CPU time, which the kernel tells in steps of 10 ms, is taken over all rounds together. It is
that of the process in between, its children's not included. With one call in flight it holds what the runtime spends on
looking for work. Every answer is held against its question. The upstream is a go-sdk server that answers with SSE; the
reverse proxy is net/http/httputil.ReverseProxy with buffered request bodies.

## Targets

| figure | target | measured | |
|---|---|---|---|
`, "`", "`", time.Now().UTC().Format(time.DateOnly), machine(), p.rounds, p.length)
	for _, t := range targets(p, f) {
		verdict := "met"
		if !t.met {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", t.what, t.want, t.got, verdict)
	}
	fmt.Fprintf(&b, "\nThroughput counts as met within %.0f %% of its target.\n", noise*100)
	b.WriteString("\n## Small calls (echo, about 100 bytes)\n\n")
	contests(&b, f.echo, echoWorkers)
	b.WriteString("\n## Results of 1 MiB\n\n")
	contests(&b, f.large, largeWorkers)
	fmt.Fprintf(&b, `
After these calls the hub held %.1f MB of memory, the reverse proxy %.1f MB.

## Lists, sessions, start

- tools/list of %d tools: %d KB through the hub in %.2f ms with %.2f ms of its CPU; directly %d KB in %.2f ms.
- Memory over %d sessions: %.1f KB for an idle one, %.1f KB with an open GET stream, connection included.
- Start to first answer with %d stdio servers: %.0f ms with the state of an earlier run, %.0f ms without.
- Binary: %.1f MB.
`, float64(f.hubRSS)/mb, float64(f.proxyRSS)/mb,
		f.hub.tools, f.hub.bytes/int(kb), f.hub.millis, f.hub.cpu, f.direct.bytes/int(kb), f.direct.millis,
		p.sessions, float64(f.session)/kb, float64(f.stream)/kb, p.idle, f.warm, f.cold, float64(f.binary)/mb)
	return b.String()
}

// contests writes a table with one line for each side and number of calls in flight.
func contests(b *strings.Builder, all map[int]contest, workers []int) {
	b.WriteString("| in flight | side | calls/s | × direct | p50 ms | × direct | CPU µs/call | × reverse proxy |\n|---|---|---|---|---|---|---|---|\n")
	for _, n := range workers {
		c := all[n]
		for i, s := range c.sides {
			own, ratio := "–", "–"
			if s.pid != 0 {
				own, ratio = fmt.Sprintf("%.0f", c.cpu(i)), fmt.Sprintf("%.2f", c.cpu(i)/c.cpu(sideProxy))
			}
			fmt.Fprintf(b, "| %d | %s | %.0f | %.2f | %.2f | %.2f | %s | %s |\n",
				n, s.name, c.of(i, rate), c.ratio(i, sideDirect, rate), c.of(i, p50), c.ratio(i, sideDirect, p50), own, ratio)
		}
	}
}
