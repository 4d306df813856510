package upstream_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
)

// Variables of a process that holds servers.
const (
	envMark    = "MCPHUB_UPSTREAM_TEST_MARK" // all processes that come of it carry this
	envEntries = "MCPHUB_UPSTREAM_TEST_ENTRIES"
)

// hold runs the servers it is given and says so; then it takes orders from stdin, one a line.
func hold() {
	var entries []*config.Server
	if err := json.Unmarshal([]byte(os.Getenv(envEntries)), &entries); err != nil {
		panic(err)
	}
	mark := envMark + "=" + os.Getenv(envMark)
	reaper := upstream.NewReaper("env", mark, envRole+"=reaper", os.Args[0])
	var servers []*upstream.Server
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		switch orders.Text() {
		case "start":
			s := upstream.NewServer(entries[len(servers)], &upstream.Options{Log: zerolog.Nop(), Reaper: reaper})
			s.Start()
			servers = append(servers, s)
			if _, err := s.Call(context.Background(), toolCall("echo", "")); err != nil {
				panic(err)
			}
		case "close":
			for _, s := range servers {
				s.Close()
			}
			if err := reaper.Close(); err != nil {
				panic(err)
			}
		}
		fmt.Println("done")
	}
}

// holder is a process that holds servers.
type holder struct {
	t    *testing.T
	mark string
	cmd  *exec.Cmd
	in   *os.File
	out  *bufio.Scanner
}

// startHolder starts a process that will hold the servers of these names.
func startHolder(t *testing.T, names ...string) *holder {
	t.Helper()
	h := &holder{t: t, mark: rand.Text()}
	var entries []*config.Server
	for _, name := range names {
		cfg := entry(config.TypeStdio)
		cfg.Command, cfg.Args, cfg.Env = testmcp.Command(name)
		cfg.Env[envMark] = h.mark
		entries = append(entries, cfg)
	}
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	h.cmd = exec.Command(os.Args[0])
	h.cmd.Env = append(os.Environ(), envRole+"=holder", envMark+"="+h.mark, envEntries+"="+string(text), "GORACE=atexit_sleep_ms=0")
	h.cmd.Stderr = os.Stderr
	in, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	h.cmd.Stdin, h.in = in, ours
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.out = bufio.NewScanner(out)
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() { ours.Close() })
	return h
}

// order has the holder do something and waits until it is done.
func (h *holder) order(what string) {
	h.t.Helper()
	fmt.Fprintln(h.in, what)
	if !h.out.Scan() {
		h.t.Fatalf("the holder ended at %q", what)
	}
}

// die ends the holder as nothing can be done about.
func (h *holder) die() {
	h.t.Helper()
	if err := h.cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	_ = h.cmd.Wait() // killed, as wanted
}

// family lists the living processes that came of the holder, itself included, and which of them are reapers.
func (h *holder) family() (all, reapers []int) {
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, file := range environs {
		env, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(env, []byte(envMark+"="+h.mark)) {
			continue // gone, or somebody else's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil || !alive(pid) {
			continue
		}
		all = append(all, pid)
		if bytes.Contains(env, []byte(envRole+"=reaper")) {
			reapers = append(reapers, pid)
		}
	}
	return all, reapers
}

func (h *holder) gone() bool {
	all, _ := h.family()
	return len(all) == 0
}

// B035: a hub that is killed leaves no child, no grandchild and no reaper, whatever they think of it.
func TestB035Killed(t *testing.T) {
	t.Parallel()
	h := startHolder(t, "grandchildren", "ignores-eof", "ignores-sigterm+grandchildren")
	for range 3 {
		h.order("start")
	}
	if all, reapers := h.family(); len(all) != 9 || len(reapers) != 1 {
		t.Errorf("%d processes with %d reapers, want the holder, 3 children, 4 grandchildren and a reaper", len(all), len(reapers))
	}
	h.die()
	eventually(t, "the end of all processes", h.gone)
}

// A reaper that somebody ends is started again with the next child, and knows of the others.
func TestReaperIsReplaced(t *testing.T) {
	t.Parallel()
	h := startHolder(t, "grandchildren", "grandchildren", "well")
	h.order("start")
	_, reapers := h.family()
	if len(reapers) != 1 {
		t.Fatalf("%d reapers", len(reapers))
	}
	if err := syscall.Kill(reapers[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of the reaper", func() bool { return !alive(reapers[0]) })
	h.order("start")
	h.order("start")
	if _, now := h.family(); len(now) != 1 || now[0] == reapers[0] {
		t.Errorf("reapers %v, then %v", reapers, now)
	}
	h.die()
	eventually(t, "the end of all processes", h.gone)
}

// A hub that ends as it should leaves nothing when it says so.
func TestB035Closed(t *testing.T) {
	t.Parallel()
	h := startHolder(t, "grandchildren", "ignores-sigterm")
	h.order("start")
	h.order("start")
	h.order("close")
	eventually(t, "the end of all but the holder", func() bool {
		all, _ := h.family()
		return len(all) == 1
	})
	h.in.Close()
	if err := h.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
