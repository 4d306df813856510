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
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("LOCKED_URL", testmcp.HTTP(t, "401").URL) // a server that wants credentials
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"wait-for": waitFor, "exit-code": exitCode, "until": until, "signal": sendSignal},
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
