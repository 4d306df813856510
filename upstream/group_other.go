//go:build unix && !linux

package upstream

import (
	"os/exec"
	"syscall"
)

// dieWithParent does nothing: only Linux has a parent-death signal. The reaper covers the rest.
func dieWithParent(*syscall.SysProcAttr) {}

// waitGroup waits for the child, then ends what is left of its group.
func waitGroup(cmd *exec.Cmd) error {
	err := cmd.Wait()
	signalGroup(cmd.Process.Pid, sigKill)
	return err
}
