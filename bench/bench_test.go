package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// The test binary is the bench too: the parts that serve run as processes of their own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && commands[os.Args[1]] != nil {
		main()
		os.Exit(0)
	}
	os.Setenv("GORACE", "atexit_sleep_ms=0") //nolint:errcheck // children take a second longer without it
	os.Exit(m.Run())
}

// served starts a part of the bench that ends with the test.
func served(t *testing.T, args ...string) *child {
	t.Helper()
	c, err := startSelf(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.end)
	return c
}

// TestAProxyInTheHubsPlace measures with a reverse proxy where the hub would stand.
func TestAProxyInTheHubsPlace(t *testing.T) {
	upstream := served(t, "upstream", "-listen", "127.0.0.1:0", "-tools", "5")
	proxy := served(t, "revproxy", "-to", endpoint(upstream))
	gateway := served(t, "revproxy", "-to", endpoint(upstream))
	sides := []side{
		{name: "direct", url: endpoint(upstream)},
		{name: "proxy", url: endpoint(proxy), pid: proxy.pid()},
		{name: "hub", url: endpoint(gateway), pid: gateway.pid()},
	}
	kilobytes := work{tool: "blob", args: `,"kib":64`, size: 64 << 10, workers: 1, length: 50 * time.Millisecond}
	for _, w := range []work{echo(4, 50*time.Millisecond), kilobytes} {
		c, err := compare(t.Context(), sides, w, 2)
		if err != nil {
			t.Fatal(err)
		}
		for i := range sides {
			if c.of(i, rate) <= 0 || c.of(i, p50) <= 0 || c.ratio(i, 0, rate) <= 0 {
				t.Errorf("%s on %s: bursts %v, want calls in each", w.tool, sides[i].name, c.bursts)
			}
		}
	}
	l, err := measureList(t.Context(), sides[2], 3)
	if err != nil || l.tools != 5 || l.bytes < 1000 || l.millis <= 0 {
		t.Errorf("list %+v, %v; want 5 tools", l, err)
	}
	if _, err := measureSessions(t.Context(), sides[2], 5, true); err != nil {
		t.Error(err)
	}
}

func TestAnswersAreHeldAgainstQuestions(t *testing.T) {
	upstream := served(t, "upstream", "-listen", "127.0.0.1:0", "-json")
	client := newClient(endpoint(upstream), 1)
	defer client.close()
	s, err := client.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := echo(1, 0).call(t.Context(), s, "", "n"); err != nil {
		t.Errorf("a right answer: %v", err)
	}
	for what, w := range map[string]work{
		"an unknown tool": {tool: "none"},
		"a short answer":  {tool: "echo", size: 1 << 20},
		"a failure":       {tool: "blob", args: `,"kib":"many"`},
	} {
		if w.call(t.Context(), s, "", "n") == nil {
			t.Errorf("%s counts as an answer", what)
		}
	}
}

func TestAServerThatDoesNotStart(t *testing.T) {
	_, err := startSelf(t.Context(), "revproxy", "-to", "nowhere")
	if err == nil || !strings.Contains(err.Error(), "-to takes the URL") {
		t.Errorf("got %v, want what the child said", err)
	}
}

func TestProcessFigures(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); time.Since(begun) < 10*time.Second; { // burn until the clock moves
		now, err := cpuTime(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if now > before {
			break
		}
	}
	if after, err := cpuTime(os.Getpid()); err != nil || after <= before || after-before > 10*time.Second {
		t.Errorf("CPU time %v after %v, %v", after, before, err)
	}
	if bytes, err := rss(os.Getpid()); err != nil || bytes < 1<<20 || bytes > 1<<32 {
		t.Errorf("memory %d, %v", bytes, err)
	}
	if _, err := cpuTime(-1); err == nil {
		t.Error("a process that is not there has a CPU time")
	}
	if got := machine(); !strings.Contains(got, "cores, Linux") {
		t.Errorf("machine %q", got)
	}
}

func TestFigures(t *testing.T) {
	if got := median([]float64{9, 1, 5}); got != 5 {
		t.Errorf("median %v, want 5", got)
	}
	c := contest{sides: make([]side, 2), bursts: [][]burst{
		{{calls: 10, rate: 100, cpu: time.Millisecond}, {calls: 10, rate: 50, cpu: 3 * time.Millisecond}},
		{{calls: 30, rate: 400, cpu: time.Millisecond}, {calls: 10, rate: 100, cpu: time.Millisecond}},
		{{calls: 10, rate: 200, cpu: time.Millisecond}, {calls: 20, rate: 80, cpu: 4 * time.Millisecond}},
	}}
	if got := c.ratio(1, 0, rate); got != 0.4 {
		t.Errorf("ratio of rates %v, want the median of 0.5, 0.25 and 0.4", got)
	}
	if got := c.of(0, rate); got != 200 {
		t.Errorf("rate %v, want 200", got)
	}
	if got := []float64{c.cpu(0), c.cpu(1)}; !slices.Equal(got, []float64{60, 200}) {
		t.Errorf("CPU %v µs a call, want 60 and 200", got)
	}
}

func TestReportSaysWhatWasMissed(t *testing.T) {
	even := func(hub burst) contest {
		b := burst{calls: 1000, rate: 1000, p50: 1, cpu: 100 * time.Millisecond}
		return contest{sides: []side{{name: "direct"}, {name: "reverse proxy", pid: 1}, {name: "hub", pid: 2}, {name: "hub, stdio", pid: 2}}, bursts: [][]burst{{b, b, hub, b}}}
	}
	good, bad := even(burst{calls: 1000, rate: 990, p50: 1, cpu: 110 * time.Millisecond}), even(burst{calls: 1000, rate: 500, p50: 2, cpu: 400 * time.Millisecond})
	f := figures{
		echo: map[int]contest{1: good, 16: good, 64: bad}, large: map[int]contest{1: good, 4: bad},
		hub: listing{tools: 1000, cpu: 0.3}, session: 5000, stream: 31_000, warm: 99, binary: 20_000_000,
	}
	text := report(plan{tools: 1000, idle: 50}, f)
	for _, want := range []string{
		"| Small call, HTTP, 16 in flight: CPU to the reverse proxy's | at most × 1.15 | × 1.10 | met |",
		"| Small call, HTTP, 16 in flight: throughput to the reverse proxy's | at least × 1.00 | × 0.99 | met |",
		"| Small call, HTTP, 64 in flight: throughput to the reverse proxy's | at least × 1.00 | × 0.50 | **missed** |",
		"| Small call, stdio, 16 in flight: CPU | at most 70 µs | 100 µs | **missed** |",
		"| 1 MiB result, 4 in flight: CPU to the reverse proxy's | at most × 3.00 | × 4.00 | **missed** |",
		"| Idle session: memory | at most 6.0 KB | 5.0 KB | met |",
		"| Session with an open GET stream: memory | at most 30.0 KB | 31.0 KB | **missed** |",
		"| Start to first answer, 50 stdio servers configured | at most 100 ms | 99 ms | met |",
		"| 16 | hub | 990 | 0.99 | 1.00 | 1.00 | 110 | 1.10 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if host, err := os.Hostname(); err == nil && len(host) > 3 && strings.Contains(text, host) {
		t.Errorf("the report names the host %s", host)
	}
	if strings.Contains(text, fmt.Sprint(math.NaN())) {
		t.Errorf("the report holds figures that are none:\n%s", text)
	}
}
