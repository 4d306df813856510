package config_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"mcphub/config"
)

// watch watches files and returns what tells of changes.
func watch(t *testing.T, files ...string) (*config.Watcher, <-chan struct{}) {
	t.Helper()
	changes := make(chan struct{}, 1000)
	w, err := config.NewWatcher(files, func() { changes <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w, changes
}

func await(t *testing.T, what string, changes <-chan struct{}) {
	t.Helper()
	select {
	case <-changes:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s: nobody is told", what)
	}
}

// TestWatcher changes files in the ways that editors and platforms have.
func TestWatcher(t *testing.T) {
	dir := lay(t, map[string]string{"plain": "1", "v1/linked": "1", "v2/linked": "2"})
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink("v1", at("data")))
	must(os.Symlink(filepath.Join("data", "linked"), at("linked")))
	must(os.Symlink("v2", at("way")))
	_, changes := watch(t, at("plain"), at("later/deep/file"), at("linked"), at("way/linked"))
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"written in place", func() { put(t, at("plain"), "2") }},
		{"replaced by a rename", func() { put(t, at(".plain.swp"), "3"); must(os.Rename(at(".plain.swp"), at("plain"))) }},
		{"moved away and written anew", func() { must(os.Rename(at("plain"), at("plain~"))); put(t, at("plain"), "4") }},
		{"removed", func() { must(os.Remove(at("plain"))) }},
		{"back", func() { put(t, at("plain"), "5") }},
		{"made, with its directories", func() { put(t, at("later/deep/file"), "1") }},
		{"changed there", func() { put(t, at("later/deep/file"), "2") }},
		{"a link turned, as Kubernetes does", func() { must(os.Symlink("v2", at("data.new"))); must(os.Rename(at("data.new"), at("data"))) }},
		{"changed behind the link", func() { put(t, at("v2/linked"), "3") }},
		{"a link to its directory turned", func() { must(os.Symlink("v1", at("way.new"))); must(os.Rename(at("way.new"), at("way"))) }},
	} {
		step.do()
		await(t, step.what, changes)
	}
}

// TestWatcherIsNotTooEager tells of a storm once, and not of what changes nothing.
func TestWatcherIsNotTooEager(t *testing.T) {
	dir := lay(t, map[string]string{"a": "0", "b": "0"})
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	w, changes := watch(t, a)
	for i := range 100 {
		put(t, a, strconv.Itoa(i))
	}
	await(t, "a storm", changes)
	put(t, a, "99")                         // the same
	put(t, filepath.Join(dir, "other"), "") // another file beside it
	w.Watch([]string{a, b})
	await(t, "other files to watch", changes)
	put(t, b, "1")
	await(t, "a file that is watched now", changes)
	if n := len(changes); n > 10 {
		t.Errorf("%d changes more", n)
	}
}
