package upstream_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"

	"mcphub/internal/testmcp"
)

// leavesNothing runs f, which must close what it starts, and fails the test if a goroutine that began in f
// goes on. Goroutines carry the labels of the one that started them, so tests may run side by side.
func leavesNothing(t *testing.T, f func()) {
	t.Helper()
	pprof.Do(context.Background(), pprof.Labels("test", t.Name()), func(context.Context) { f() })
	var left string
	defer func() {
		if left != "" {
			t.Logf("still there:\n%s", left)
		}
	}()
	eventually(t, "the end of all goroutines", func() bool {
		left = labelled(t.Name())
		return left == ""
	})
}

// labelled is the stacks of the goroutines that carry a test's label.
func labelled(test string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		panic(err)
	}
	var found []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", "test", test)) {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

// descriptors lists the open files of the process.
func descriptors(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, e := range entries {
		if to, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && !strings.HasPrefix(to, "/proc/") {
			open = append(open, to)
		}
	}
	return open
}

// alive says whether a process runs. One that has ended and waits for init to see it does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// noneAlive waits until no child and no grandchild that log knows of runs.
func noneAlive(t testing.TB, log *testmcp.Log) {
	t.Helper()
	for _, e := range log.Events() {
		if e.Kind == testmcp.EventStart || e.Kind == testmcp.EventGrandchild {
			eventually(t, fmt.Sprintf("the end of process %d (%s)", e.PID, e.Kind), func() bool { return !alive(e.PID) })
		}
	}
}

// kill ends a process as an operator in a hurry does.
func kill(t testing.TB, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("killing %d: %v", pid, err)
	}
}
