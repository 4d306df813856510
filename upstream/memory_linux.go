package upstream

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// resident is how many bytes of memory the processes of these groups hold. Pages that they share count for each.
func resident(groups map[int]bool) int64 {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	var pages int64
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		if group, rss := parseStat(text); groups[group] {
			pages += rss
		}
	}
	return pages * int64(os.Getpagesize())
}

// parseStat reads the group and the resident pages of a process (proc_pid_stat(5), fields 5 and 24).
func parseStat(text []byte) (group int, rss int64) {
	rest := text[bytes.LastIndexByte(text, ')')+1:] // behind the name, which may hold anything
	fields := bytes.Fields(rest)
	if len(fields) < 22 {
		return 0, 0
	}
	group, err := strconv.Atoi(string(fields[2]))
	if err != nil {
		return 0, 0
	}
	rss, err = strconv.ParseInt(string(fields[21]), 10, 64)
	if err != nil {
		return 0, 0
	}
	return group, rss
}
