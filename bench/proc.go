package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc: USER_HZ, 100 on every Linux port Go runs on.
const tick = 10 * time.Millisecond

// cpuTime is the CPU time of a process without its children's.
func cpuTime(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time: %w", err)
	}
	// proc(5): the name in brackets may hold anything; utime and stime are the
	// 12th and 13th field after it.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time: %w", err)
	}
	system, err := strconv.Atoi(fields[12])
	if err != nil {
		return 0, fmt.Errorf("reading the CPU time: %w", err)
	}
	return time.Duration(user+system) * tick, nil
}

// rss is the memory of a process that is resident, in bytes.
func rss(pid int) (int, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("reading the memory: %w", err)
	}
	kib, err := strconv.Atoi(field(string(raw), "VmRSS:"))
	if err != nil {
		return 0, fmt.Errorf("reading the memory: %w", err)
	}
	return kib << 10, nil
}

// field is the first word after a label at the beginning of a line.
func field(text, label string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, label); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				return words[0]
			}
		}
	}
	return ""
}

// median of at least one value.
func median[T cmp.Ordered](values []T) T {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted[len(sorted)/2]
}

// machine describes where the figures were taken, without naming the host.
func machine() string {
	model := "an unnamed CPU"
	if raw, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(raw)) {
			if name, ok := strings.CutPrefix(line, "model name"); ok {
				model = strings.TrimSpace(strings.TrimLeft(name, "\t :"))
				break
			}
		}
	}
	kernel := "unknown"
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		kernel, _, _ = strings.Cut(strings.TrimSpace(string(raw)), "-")
	}
	return fmt.Sprintf("%s, %d cores, Linux %s, %s", model, runtime.NumCPU(), kernel, runtime.Version())
}
