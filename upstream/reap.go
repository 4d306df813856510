package upstream

import (
	"bufio"
	"io"
	"strconv"
	"time"
)

// reapGrace is how long orphaned groups get between SIGTERM and SIGKILL.
const reapGrace = 2 * time.Second

// Reap is the reaper's whole life: it reads "+pgid" and "-pgid" lines until in ends, then ends every
// group that is still on its list, first by asking.
func Reap(in io.Reader) {
	groups := map[int]bool{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		text := lines.Text()
		pgid, err := strconv.Atoi(text[min(1, len(text)):])
		if err != nil || pgid <= 1 {
			continue
		}
		if text[0] == '+' {
			groups[pgid] = true
		} else {
			delete(groups, pgid)
		}
	}
	for pgid := range groups {
		signalGroup(pgid, sigTerm)
	}
	deadline := time.Now().Add(reapGrace)
	for len(groups) > 0 && time.Now().Before(deadline) {
		for pgid := range groups {
			if !groupAlive(pgid) {
				delete(groups, pgid)
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	for pgid := range groups {
		signalGroup(pgid, sigKill)
	}
}
