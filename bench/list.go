package main

import (
	"context"
	"flag"
	"fmt"
	"time"
)

// listing is what tools/list costs.
type listing struct {
	tools, bytes int
	millis       float64 // a client's wait
	cpu          float64 // of the process in between, milliseconds
}

// measureList lists n times one after the other.
func measureList(ctx context.Context, s side, n int) (listing, error) {
	client := newClient(s.url, 1)
	defer client.close()
	opened, err := client.open(ctx)
	if err != nil {
		return listing{}, err
	}
	var l listing
	if l.tools, l.bytes, err = opened.list(ctx); err != nil { // the first may build what the others find
		return l, err
	}
	before, err := s.cpuTime()
	if err != nil {
		return l, err
	}
	var took []time.Duration
	for range n {
		at := time.Now()
		if _, _, err := opened.list(ctx); err != nil {
			return l, err
		}
		took = append(took, time.Since(at))
	}
	after, err := s.cpuTime()
	if err != nil {
		return l, err
	}
	l.millis = float64(median(took).Microseconds()) / 1000
	l.cpu = float64((after - before).Microseconds()) / 1000 / float64(n)
	return l, opened.end(ctx)
}

func runList(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("list", flag.ContinueOnError)
	url := flags.String("url", "", "URL of the gateway or the upstream")
	pid := flags.Int("pid", 0, "its process")
	n := flags.Int("n", 50, "how often to list")
	if err := flags.Parse(args); err != nil {
		return err
	}
	l, err := measureList(ctx, side{url: *url, pid: *pid}, *n)
	if err != nil {
		return err
	}
	fmt.Printf("%d tools, %d bytes, %.2f ms, CPU %.2f ms a list\n", l.tools, l.bytes, l.millis, l.cpu)
	return nil
}
