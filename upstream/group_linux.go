package upstream

import (
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// waitGroup waits for the child and ends what is left of its group. The child is reaped last, so that
// its group id cannot be another process's by then.
func waitGroup(cmd *exec.Cmd) error {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			break
		}
	}
	signalGroup(cmd.Process.Pid, sigKill)
	return cmd.Wait()
}
