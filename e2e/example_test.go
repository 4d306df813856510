package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The first minute of somebody new: scripts/run, which is make run, prints lines to paste, and they work as printed.
func TestRun(t *testing.T) {
	for name, want := range map[string]string{
		"npm":    "mcp_filesystem_read_text_file",
		"no-npm": "mcp_example_echo",
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.Command(filepath.Join(lab.source, "..", "scripts", "run"))
			command.Env = append(command.Environ(), "MCPHUB_LISTEN=127.0.0.1:0")
			if name == "no-npm" {
				command.Env = append(command.Env, withoutNPM(t)...)
			}
			run, _ := start(t, command, regexp.MustCompile("Ctrl-C ends it"))
			var answers []string
			for line := range strings.Lines(run.log.String()) {
				if line = strings.TrimSpace(line); strings.HasPrefix(line, "curl ") {
					answers = append(answers, lab.Run(t, "sh", "-c", line))
				}
			}
			if len(answers) != 2 || !strings.Contains(answers[0], want) || !strings.Contains(answers[1], "hello") {
				t.Errorf("the printed curl lines answered %.500q, want a list with %s and hello", answers, want)
			}
			children := descendants(run.Process.Pid)
			if err := run.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			run.Exit(t, Grace)
			if i := slices.IndexFunc(children, running); i >= 0 {
				t.Errorf("process %d outlived scripts/run", children[i])
			}
		})
	}
}

// withoutNPM is an environment where nothing is installed and npm does not work.
func withoutNPM(t *testing.T) []string {
	t.Helper()
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "npm"), []byte("#!/bin/sh\nexit 127\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // by default below XDG_CACHE_HOME as well
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "XDG_CACHE_HOME=" + t.TempDir(), "GOCACHE=" + strings.TrimSpace(string(cache)),
	}
}
