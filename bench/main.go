// Command bench measures the hub side by side with nothing in between and with a plain reverse proxy.
//
// All of it, with a report:
//
//	go run ./bench all -hub ./mcphub -out docs/performance.md
//
// The parts work on their own against any gateway: load, list, sessions and
// startup measure, upstream and revproxy are what is measured against. Each says
// its flags with -h. Process figures come from /proc, so it runs on Linux only.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

var commands = map[string]func(ctx context.Context, args []string) error{
	"all":      runAll,
	"load":     runLoad,
	"list":     runList,
	"sessions": runSessions,
	"startup":  runStartup,
	"upstream": runUpstream,
	"revproxy": runProxy,
}

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: bench all|load|list|sessions|startup|upstream|revproxy [flags]")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := commands[os.Args[1]](ctx, os.Args[2:])
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
