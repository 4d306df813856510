package upstream

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// waitGroup waits for the child to end and calls ended. The child is reaped after that, so that its group
// id cannot be another process's before.
func waitGroup(cmd *exec.Cmd, ended func()) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	ended()
	return cmd.Wait()
}
