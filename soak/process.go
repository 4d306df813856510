package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// measure is what a process holds at rest. It is read from /proc, so the soak runs on Linux.
type measure struct {
	rss      int // MiB
	threads  int
	files    int // descriptors
	children int
}

// String is the measure as the report shows it.
func (m measure) String() string {
	return fmt.Sprintf("%d MiB resident, %d threads, %d descriptors, %d children", m.rss, m.threads, m.files, m.children)
}

// How much more a rested process may hold than after the warm-up. The collector gives memory back late, and the runtime
// keeps every thread that it once needed. A goroutine that is left over keeps its stack, a stream or a process besides, so
// it shows in one of the others. Descriptors may differ by connections that are just closing or opening.
const (
	moreRSS      = 16 // MiB, and a quarter
	moreThreads  = 16
	moreFiles    = 6
	moreChildren = 0
)

// exceeds says what is not flat, "" for nothing.
func (m measure) exceeds(before measure) string {
	switch {
	case m.rss > before.rss+before.rss/4+moreRSS:
		return "memory"
	case m.threads > before.threads+moreThreads:
		return "threads"
	case m.files > before.files+moreFiles:
		return "descriptors"
	case m.children > before.children+moreChildren:
		return "children"
	}
	return ""
}

func measureOf(pid int) (measure, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return measure{}, fmt.Errorf("measuring the hub: %w", err)
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return measure{}, fmt.Errorf("measuring the hub: %w", err)
	}
	return measure{
		rss:      field(string(status), "VmRSS:") >> 10,
		threads:  field(string(status), "Threads:"),
		files:    len(files),
		children: len(childrenOf(pid)),
	}, nil
}

// field is the number after a label at the beginning of a line.
func field(text, label string) int {
	_, rest, _ := strings.Cut(text, "\n"+label)
	words := strings.Fields(rest)
	if len(words) == 0 {
		return 0
	}
	n, _ := strconv.Atoi(words[0]) // 0 where the kernel writes something else
	return n
}

// childrenOf are the processes that pid has started, with the program that each runs.
func childrenOf(pid int) map[int]string {
	children := map[int]string{}
	statuses, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range statuses {
		status, err := os.ReadFile(path)
		if err != nil || field(string(status), "PPid:") != pid {
			continue // gone meanwhile, or somebody else's
		}
		folder := filepath.Dir(path)
		child, _ := strconv.Atoi(filepath.Base(folder)) // digits, as the pattern says
		children[child], _ = os.Readlink(filepath.Join(folder, "exe"))
	}
	return children
}

// commands are the command lines of the hub's children.
func (w *world) commands() (lines []string) {
	for pid := range childrenOf(w.hub.Process.Pid) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // gone meanwhile: ""
		lines = append(lines, strings.ReplaceAll(string(line), "\x00", " "))
	}
	slices.Sort(lines)
	return lines
}

func alive(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return err == nil
}
