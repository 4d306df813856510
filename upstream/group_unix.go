//go:build unix

package upstream

import (
	"errors"
	"os/exec"
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
