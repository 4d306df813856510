package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
)

// firstSessions are opened before memory is read for the first time, so that what a
// process sets up once, the garbage collector's headroom included, is not taken for
// the sessions'.
const firstSessions = 1000

// measureSessions opens n sessions and returns by how many bytes each made the
// process grow. With streams each holds an open GET stream, connection included.
func measureSessions(ctx context.Context, s side, n int, streams bool) (perSession int, err error) {
	client := newClient(s.url, 1)
	defer client.close()
	var closers []func() error
	defer func() {
		for _, closer := range closers {
			err = errors.Join(err, closer())
		}
	}()
	open := func(count int) error {
		for range count {
			opened, err := client.open(ctx)
			if err != nil {
				return err
			}
			closers = append(closers, func() error { return opened.end(ctx) })
			if !streams {
				continue
			}
			closeStream, err := opened.listen(ctx)
			if err != nil {
				return err
			}
			closers = append(closers, closeStream)
		}
		return nil
	}
	if err := open(firstSessions); err != nil {
		return 0, err
	}
	before, err := rss(s.pid)
	if err != nil {
		return 0, err
	}
	if err := open(n); err != nil {
		return 0, err
	}
	after, err := rss(s.pid)
	if err != nil {
		return 0, err
	}
	return (after - before) / n, nil
}

func runSessions(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("sessions", flag.ContinueOnError)
	url := flags.String("url", "", "URL of the gateway, freshly started")
	pid := flags.Int("pid", 0, "its process")
	n := flags.Int("n", 1000, "how many sessions to open")
	streams := flags.Bool("streams", false, "hold a GET stream open in each")
	if err := flags.Parse(args); err != nil {
		return err
	}
	bytes, err := measureSessions(ctx, side{url: *url, pid: *pid}, *n, *streams)
	if err != nil {
		return err
	}
	fmt.Printf("%d bytes a session over %d sessions\n", bytes, *n)
	return nil
}
