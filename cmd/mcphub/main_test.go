package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"mcphub/internal/testmcp"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"mcphub": main})
}

// TestScripts runs the command line as people do; each script is a file with what it prints.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("GORACE", "atexit_sleep_ms=0") // else every command takes a second to end
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("LOCKED_URL", testmcp.HTTP(t, "401").URL) // a server that wants credentials
			env.Setenv("BEARER_URL", testmcp.HTTP(t, "bearer:letmein").URL)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"wait-for": waitFor, "exit-code": exitCode, "until": until, "signal": sendSignal, "mend": mend},
	})
}

// waitFor is the script command "wait-for FILE": it waits until the file is there.
func waitFor(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(30 * time.Second); time.Now().Before(limit); <-tick.C {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	ts.Fatalf("%s did not appear", args[0])
}

// until is the script command "until REGEXP ARGS…": it runs mcphub with these arguments until what that prints matches.
func until(ts *testscript.TestScript, _ bool, args []string) {
	want := regexp.MustCompile("(?m)" + args[0])
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(60 * time.Second); time.Now().Before(limit); <-tick.C {
		_ = ts.Exec("mcphub", args[1:]...) // it may fail at first
		if want.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("mcphub %s never printed %s", strings.Join(args[1:], " "), args[0])
}

// mend is the script command "mend STATE SERVER": it waits until status shows the server in that state, and does what it says next,
// in a shell. A ! in front says that this is to fail.
func mend(ts *testscript.TestScript, neg bool, args []string) {
	var p panel
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(60 * time.Second); time.Now().Before(limit); <-tick.C {
		_ = ts.Exec("mcphub", "status", "--json") // it fails, since a server is in trouble
		ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &p))
		for _, s := range p.Servers {
			if s.State != args[0] || s.Name != args[1] {
				continue
			}
			ts.Logf("%s is %s: %s; next: %s", s.Name, s.State, s.Reason, s.Fix)
			if err := ts.Exec("sh", "-c", s.Fix); s.Fix == "" || (err != nil) != neg {
				ts.Fatalf("%q for the state %s: %v", s.Fix, s.State, err)
			}
			return
		}
	}
	ts.Fatalf("%s was never %s: %s", args[1], args[0], ts.ReadFile("stdout"))
}

// sendSignal is the script command "signal NAME": it sends HUP to the hub of the script.
func sendSignal(ts *testscript.TestScript, _ bool, args []string) {
	var info runInfo
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(ts.MkAbs("state/mcphub/run.json"))), &info))
	ts.Check(syscall.Kill(info.PID, map[string]syscall.Signal{"HUP": syscall.SIGHUP}[args[0]]))
}

// exitCode is the script command "exit-code N ARGS…": mcphub with these arguments ends with that code.
func exitCode(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("mcphub", args[1:]...)
	got := "0"
	if err != nil {
		got = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if got != args[0] {
		ts.Fatalf("mcphub %s: exit code %s, want %s", strings.Join(args[1:], " "), got, args[0])
	}
}
