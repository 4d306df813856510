//go:build unix && !linux

package upstream

import (
	"os/exec"
	"syscall"
)

// dieWithParent does nothing: only Linux has a parent-death signal. The reaper covers the rest.
func dieWithParent(*syscall.SysProcAttr) {}

// waitGroup waits for the child to end, then calls ended.
func waitGroup(cmd *exec.Cmd, ended func()) error {
	err := cmd.Wait()
	ended()
	return err
}
