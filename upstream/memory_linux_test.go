package upstream

import (
	"os"
	"syscall"
	"testing"
)

func TestParseStat(t *testing.T) {
	text := []byte("42 (a) b (c) S 1 77 77 0 -1 4194304 100 0 0 0 1 2 0 0 20 0 1 0 1234 5678 321 18446744073709551615 1 1\n")
	if group, rss := parseStat(text); group != 77 || rss != 321 {
		t.Errorf("group %d, %d pages", group, rss)
	}
	for _, bad := range []string{"", "42 (a", "42 (a) S 1", "1 (a) S 1 x 7 0 -1 4 1 0 0 0 1 2 0 0 20 0 1 0 1 5 3 1", "1 (a) S 1 7 7 0 -1 4 1 0 0 0 1 2 0 0 20 0 1 0 1 5 x 1"} {
		if group, rss := parseStat([]byte(bad)); group != 0 || rss != 0 {
			t.Errorf("%q: group %d, %d pages", bad, group, rss)
		}
	}
}

// The memory of a group is that of its processes, and at least this one's.
func TestResident(t *testing.T) {
	group := syscall.Getpgrp()
	if n := resident(map[int]bool{group: true}); n < 1<<20 {
		t.Errorf("the group of process %d holds %d bytes", os.Getpid(), n)
	}
	if n := resident(map[int]bool{1 << 30: true}); n != 0 {
		t.Errorf("a group that is not there holds %d bytes", n)
	}
}
