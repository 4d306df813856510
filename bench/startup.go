package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"
)

// measureStartup starts the hub with that many stdio servers configured and
// returns the milliseconds until the first request, an initialize, is answered.
// State in dir is kept for the next start.
func measureStartup(ctx context.Context, hub, dir string, servers int) (float64, error) {
	entries := map[string]server{}
	for i := range servers {
		entry, err := selfServer(3)
		if err != nil {
			return 0, err
		}
		entries[fmt.Sprintf("idle%02d", i)] = entry
	}
	begun := time.Now()
	started, err := startHub(ctx, hub, dir, entries)
	if err != nil {
		return 0, err
	}
	defer started.end()
	client := newClient("http://"+started.addr+"/mcp", 1)
	defer client.close()
	s := &session{client: client}
	if _, err := s.post(ctx, initialize); err != nil {
		return 0, fmt.Errorf("the first request: %w", err)
	}
	return float64(time.Since(begun).Microseconds()) / 1000, nil
}

func runStartup(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("startup", flag.ContinueOnError)
	hub := flags.String("hub", "./mcphub", "the built hub")
	servers := flags.Int("servers", 50, "how many stdio servers to configure")
	n := flags.Int("n", 5, "how often to start")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-startup-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it is in the system's directory for such
	for range *n {
		millis, err := measureStartup(ctx, *hub, dir, *servers)
		if err != nil {
			return err
		}
		fmt.Printf("%.1f ms\n", millis)
	}
	return nil
}
