//go:build unix

package upstream

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

const (
	sigTerm = syscall.SIGTERM
	sigKill = syscall.SIGKILL
)

// signalGroup sends sig to every process of the group.
func signalGroup(pgid int, sig syscall.Signal) { _ = syscall.Kill(-pgid, sig) }

// groupAlive says whether the group has a process left.
func groupAlive(pgid int) bool { return !errors.Is(syscall.Kill(-pgid, 0), syscall.ESRCH) }

// ownGroup puts the child of cmd into a process group of its own and, where die is set and the
// system can, has it killed with the thread that started it.
func ownGroup(cmd *exec.Cmd, die bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if die {
		dieWithParent(cmd.SysProcAttr)
	}
}

// lookIn finds command in a PATH that is not the hub's own.
func lookIn(command, dir, path string) (string, error) {
	if strings.Contains(command, "/") {
		return command, nil
	}
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(dir, d)
		}
		if found, err := exec.LookPath(filepath.Join(d, command)); err == nil {
			return found, nil
		}
	}
	return "", &exec.Error{Name: command, Err: exec.ErrNotFound}
}
