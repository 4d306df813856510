package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// plan says how much of everything is measured. The defaults keep the whole run
// under four minutes.
type plan struct {
	hub      string
	rounds   int
	length   time.Duration // of a burst
	sessions int
	idle     int // stdio servers of the start
	starts   int
	tools    int // of the long list
	lists    int
	dir      string // for the hub's configuration and state
}

// figures is everything that was measured.
type figures struct {
	echo, large map[int]contest // by calls in flight
	hubRSS      int             // after the load
	proxyRSS    int
	direct, hub listing
	session     int // bytes of an idle session
	stream      int // bytes of a session with an open GET stream
	cold        float64
	warm        float64 // milliseconds to the first answer, state kept
	binary      int64
}

// Sides of a contest, by index.
const (
	sideDirect = iota
	sideProxy
	sideHub
	sideStdio // the hub, in front of a stdio upstream
)

var (
	echoWorkers  = []int{1, 16, 64}
	largeWorkers = []int{1, 4}
)

func runAll(ctx context.Context, args []string) error {
	p := plan{}
	flags := flag.NewFlagSet("all", flag.ContinueOnError)
	flags.StringVar(&p.hub, "hub", "./mcphub", "the built hub")
	out := flags.String("out", "", "file for the report; standard output when empty")
	flags.IntVar(&p.rounds, "rounds", 5, "rounds of every comparison")
	flags.DurationVar(&p.length, "length", 800*time.Millisecond, "length of a burst")
	flags.IntVar(&p.sessions, "sessions", 1000, "sessions to hold open")
	flags.IntVar(&p.idle, "idle", 50, "stdio servers configured at start")
	flags.IntVar(&p.starts, "starts", 5, "starts to time")
	flags.IntVar(&p.tools, "tools", 1000, "tools of the long list")
	flags.IntVar(&p.lists, "lists", 100, "how often to list them")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is in the system's directory for such
	p.dir = dir
	var f figures
	for _, stage := range []struct {
		name    string
		measure func(context.Context, plan, *figures) error
	}{
		{"calls", measureCalls}, {"lists", measureLists}, {"sessions", measureIdle}, {"start", measureStarts},
	} {
		fmt.Fprintf(os.Stderr, "%s: measuring %s\n", time.Now().Format(time.TimeOnly), stage.name)
		if err := stage.measure(ctx, p, &f); err != nil {
			return fmt.Errorf("measuring %s: %w", stage.name, err)
		}
	}
	text := report(p, f)
	if *out == "" {
		fmt.Print(text)
		return nil
	}
	return os.WriteFile(*out, []byte(text), 0o644)
}

// fresh makes a directory for one start of the hub.
func (p plan) fresh(name string) (string, error) {
	dir := filepath.Join(p.dir, name)
	return dir, os.MkdirAll(dir, 0o700)
}

// behind starts an upstream over HTTP and the hub in front of it, and of a second
// upstream over stdio where that is asked for, and waits for the hub's catalog.
func (p plan) behind(ctx context.Context, name string, tools int, stdio bool) (upstream, hub *child, err error) {
	dir, err := p.fresh(name)
	if err != nil {
		return nil, nil, err
	}
	upstream, err = startSelf(ctx, "upstream", "-listen", "127.0.0.1:0", "-tools", fmt.Sprint(tools))
	if err != nil {
		return nil, nil, err
	}
	servers := map[string]server{"up0": {URL: endpoint(upstream), Exposure: "direct"}}
	want := tools
	if stdio {
		entry, err := selfServer(tools)
		if err != nil {
			upstream.end()
			return nil, nil, err
		}
		servers["up1"] = entry
		want *= 2
	}
	hub, err = startHub(ctx, p.hub, dir, servers)
	if err != nil {
		upstream.end()
		return nil, nil, err
	}
	client := newClient(endpoint(hub), 1)
	defer client.close()
	if err := client.tools(ctx, want); err != nil {
		hub.end()
		upstream.end()
		return nil, nil, err
	}
	return upstream, hub, nil
}

func endpoint(c *child) string { return "http://" + c.addr + "/mcp" }

func measureCalls(ctx context.Context, p plan, f *figures) error {
	upstream, hub, err := p.behind(ctx, "calls", 10, true)
	if err != nil {
		return err
	}
	defer upstream.end()
	defer hub.end()
	proxy, err := startSelf(ctx, "revproxy", "-to", endpoint(upstream))
	if err != nil {
		return err
	}
	defer proxy.end()
	sides := []side{
		sideDirect: {name: "direct", url: endpoint(upstream)},
		sideProxy:  {name: "reverse proxy", url: endpoint(proxy), pid: proxy.pid()},
		sideHub:    {name: "hub", url: endpoint(hub), prefix: "mcp_up0_", pid: hub.pid()},
		sideStdio:  {name: "hub, stdio", url: endpoint(hub), prefix: "mcp_up1_", pid: hub.pid()},
	}
	f.echo, f.large = map[int]contest{}, map[int]contest{}
	for _, workers := range echoWorkers {
		if f.echo[workers], err = compare(ctx, sides, echo(workers, p.length), p.rounds); err != nil {
			return err
		}
	}
	for _, workers := range largeWorkers { // few calls fit into a burst, so it is longer
		if f.large[workers], err = compare(ctx, sides[:sideStdio], large(workers, 2*p.length), p.rounds); err != nil {
			return err
		}
	}
	if f.hubRSS, err = rss(hub.pid()); err != nil {
		return err
	}
	f.proxyRSS, err = rss(proxy.pid())
	return err
}

func measureLists(ctx context.Context, p plan, f *figures) error {
	upstream, hub, err := p.behind(ctx, "lists", p.tools, false)
	if err != nil {
		return err
	}
	defer upstream.end()
	defer hub.end()
	if f.direct, err = measureList(ctx, side{url: endpoint(upstream)}, p.lists); err != nil {
		return err
	}
	f.hub, err = measureList(ctx, side{url: endpoint(hub), pid: hub.pid()}, p.lists)
	return err
}

func measureIdle(ctx context.Context, p plan, f *figures) error {
	for name, into := range map[string]*int{"idle": &f.session, "streams": &f.stream} {
		upstream, hub, err := p.behind(ctx, name, 10, false)
		if err != nil {
			return err
		}
		*into, err = measureSessions(ctx, side{url: endpoint(hub), pid: hub.pid()}, p.sessions, name == "streams")
		hub.end()
		upstream.end()
		if err != nil {
			return err
		}
	}
	return nil
}

func measureStarts(ctx context.Context, p plan, f *figures) error {
	binary, err := os.Stat(p.hub)
	if err != nil {
		return err
	}
	f.binary = binary.Size()
	dir, err := p.fresh("start")
	if err != nil {
		return err
	}
	if f.cold, err = measureStartup(ctx, p.hub, dir, p.idle); err != nil {
		return err
	}
	var warm []float64
	for range p.starts {
		millis, err := measureStartup(ctx, p.hub, dir, p.idle)
		if err != nil {
			return err
		}
		warm = append(warm, millis)
	}
	f.warm = median(warm)
	return nil
}
