package upstream_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
)

// B032: a server that fills its stderr before it answers is not stopped by that.
func TestB032(t *testing.T) {
	t.Parallel()
	cfg, _ := program(t, "floods-stderr")
	s := start(t, cfg)
	for range 5 {
		mustCall(t, s, "echo", "")
	}
	lines := s.Logs(1000)
	if kept := len(strings.Join(lines, "\n")); kept == 0 || kept > 70<<10 {
		t.Errorf("%d bytes of stderr were kept, want the last 64 KiB", kept)
	}
}

// B034: a server that breaks on a method it does not know works all the same, and one process is kept.
func TestB034(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mute-discover", "dead-after-discover"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, log := program(t, name)
			cfg.ConnectTimeout = 12 * time.Second
			s := start(t, cfg)
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			first, err := s.Call(ctx, toolCall("whoami", ""))
			if err != nil {
				t.Fatal(err)
			}
			pid := text(first)
			eventually(t, "the end of all processes but one", func() bool { return running(log) == 1 })
			if now := mustCall(t, s, "whoami", ""); now != pid {
				t.Errorf("the process changed: %s, then %s", pid, now)
			}
			s.Close()
			noneAlive(t, log)
		})
	}
}

// running counts the processes that log knows of and that live.
func running(log *testmcp.Log) int {
	n := 0
	for _, e := range log.Of(testmcp.EventStart) {
		if alive(e.PID) {
			n++
		}
	}
	return n
}

// B035: stopping leaves no process, however often.
func TestB035(t *testing.T) {
	t.Parallel()
	for range 5 {
		var servers []*upstream.Server
		var logs []*testmcp.Log
		for range 3 {
			cfg, log := program(t, "grandchildren")
			servers, logs = append(servers, start(t, cfg)), append(logs, log)
		}
		for _, s := range servers {
			mustCall(t, s, "echo", "")
		}
		for i, s := range servers {
			s.Close()
			noneAlive(t, logs[i])
		}
	}
}

// B038, B039: lines that are no messages are skipped and shown in the server's log.
func TestB038(t *testing.T) {
	t.Parallel()
	cfg, _ := program(t, "noise")
	s := start(t, cfg)
	for range 3 {
		mustCall(t, s, "echo", "")
	}
	has(t, strings.Join(s.Logs(100), "\n"), "stdout: Server v1 ready")
}

func TestB039(t *testing.T) {
	t.Parallel()
	cfg, _ := program(t, "floods-stdout")
	cfg.Secrets = []string{"something happened"}
	s := start(t, cfg)
	mustCall(t, s, "echo", "")
	eventually(t, "the noise to be logged", func() bool { return len(s.Logs(1)) == 1 })
	if got, want := s.Logs(1)[0], "stdout: DEBUG: [REDACTED] that is of no interest to you"; got != want {
		t.Errorf("logged %q, want %q", got, want)
	}
}

// B041: a long line is read whole; one over the limit costs the server nothing but that answer. The table of
// TestRude has longer ones.
func TestB041(t *testing.T) {
	t.Parallel()
	cfg, _ := program(t, "line-2mb")
	s := startWith(t, cfg, &upstream.Options{Log: zerolog.Nop(), MaxMessage: 3 << 20})
	settled(t, s)
	if n := tools(s); n != 1 {
		t.Errorf("%d tools, want one", n)
	}
	if _, err := callTool(s, "big", `{"bytes":3200000}`); asError(t, err).Kind != upstream.TooLarge {
		t.Errorf("got %v", err)
	}
	mustCall(t, s, "echo", "")
}

// B043, B053: a first start that is slow fails by the timeout, which the error names, and the very next call tries again.
func TestB043(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "well")
	cfg.Args = append([]string{"-c", `echo >>"$STARTS"; [ $(wc -l <"$STARTS") -gt 2 ] || { echo installing >&2; sleep 300; }; exec "$0" "$@"`, cfg.Command}, cfg.Args...)
	cfg.Command = "sh"
	cfg.Env["STARTS"] = filepath.Join(t.TempDir(), "starts")
	cfg.ConnectTimeout = 2 * time.Second
	s := start(t, cfg)
	_, err := callTool(s, "echo", "")
	has(t, asError(t, err).Error(), "did not finish the MCP handshake within 2s", "raise connectTimeoutMs", "it last wrote: installing")
	mustCall(t, s, "echo", "")
	s.Close()
	noneAlive(t, log)
}

// What a program says as it ends is its error, however many frames of a stack come behind that.
func TestLastWordsAreNoStackTrace(t *testing.T) {
	t.Parallel()
	cfg, _ := program(t, "well")
	frame := `    at start (file:///usr/lib/node_modules/a-server-with-a-long-name/dist/index.js:35:23)\n`
	cfg.Command, cfg.Args = "sh", []string{"-c", `printf 'Error: no key is set\n` + strings.Repeat(frame, 20) + `\nNode.js v22\n' >&2; exit 1`}
	_, err := callTool(start(t, cfg), "echo", "")
	if want := "it last wrote: Error: no key is set | Node.js v22"; !strings.HasSuffix(asError(t, err).Text, want) {
		t.Errorf("got %q, want %q at its end", asError(t, err).Text, want)
	}
}

// B056: a call that comes before the handshake is over waits for it.
func TestB056(t *testing.T) {
	t.Parallel()
	cfg, log := program(t, "slow-initialize:400")
	s := start(t, cfg)
	mustCall(t, s, "echo", "")
	methods := log.Methods()
	if before, _, found := strings.Cut(methods, "tools/call"); !found || !strings.Contains(before, "notifications/initialized") {
		t.Errorf("the server saw %s", methods)
	}
}

// B132: a program gets the base environment and its own, not the hub's.
func TestB132(t *testing.T) {
	t.Setenv("MCPHUB_TEST_SECRET_A", "hub-secret")
	cfg, _ := program(t, "well")
	cfg.Env["OWN"] = "own value"
	env := mustCall(t, start(t, cfg), "env", "")
	has(t, env, "OWN=own value", "PATH="+os.Getenv("PATH"))
	if strings.Contains(env, "hub-secret") {
		t.Errorf("the program got the hub's secret: %s", env)
	}
	all := *cfg
	all.InheritEnv = true
	has(t, mustCall(t, start(t, &all), "env", ""), "OWN=own value", "MCPHUB_TEST_SECRET_A=hub-secret")
}

// A command is found from the directory and with the PATH that the program gets.
func TestCommandIsFoundFromItsDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	well, _ := program(t, "well")
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(well.Command, filepath.Join(dir, "bin", "server")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ command, cwd, path, problem string }{
		{"bin/server", dir, "", ""},
		{"./server", filepath.Join(dir, "bin"), "", ""},
		{"server", dir, "bin", ""},
		{"server", dir, "", `command "server" not found: install it, or give its full path in command`},
		{"bin/none", dir, "", `command "bin/none" not found`},
		{"bin/server", filepath.Join(dir, "gone"), "", "gone is not a directory: create it or change cwd"},
	} {
		cfg := *well
		cfg.Command, cfg.Cwd, cfg.Env = c.command, c.cwd, maps.Clone(well.Env)
		if c.path != "" {
			cfg.Env["PATH"] = c.path
		}
		s := start(t, &cfg)
		if c.problem == "" {
			mustCall(t, s, "echo", "")
			continue
		}
		_, err := callTool(s, "echo", "")
		has(t, asError(t, err).Error(), c.problem)
	}
}

// A process that has left its group keeps the pipes open; neither the error nor the end waits for it.
func TestEscapedGrandchildHoldsNothing(t *testing.T) {
	t.Parallel()
	cfg := entry(config.TypeStdio)
	file := filepath.Join(t.TempDir(), "pid")
	// It writes its number once it has left the group: before that it ends with it.
	cfg.Command, cfg.Args = "sh", []string{"-c", `setsid sh -c 'echo $$ >>"$0"; exec sleep 60' "$0" &
		until [ -s "$0" ]; do sleep 0.01; done; echo "no key is set" >&2; exit 4`, file}
	s := start(t, cfg)
	began := time.Now()
	_, err := callTool(s, "echo", "")
	has(t, asError(t, err).Error(), "exit status 4", "no key is set")
	s.Close()
	if took := time.Since(began); took > patience {
		t.Errorf("it took %v", took)
	}
	pids, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(pids)) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line)); err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
			t.Errorf("process %q, %v: it should still run", line, err)
		}
	}
}
