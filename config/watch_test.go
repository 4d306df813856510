package config_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"mcphub/config"
)

// gathered is the configuration of these files.
func gathered(t *testing.T, files ...string) *config.Config {
	t.Helper()
	c, err := config.Gather(files, os.LookupEnv, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// watch watches what a configuration was made from and returns what tells of changes.
func watch(t *testing.T, of *config.Config) (*config.Watcher, <-chan struct{}) {
	t.Helper()
	changes := make(chan struct{}, 1000)
	w, err := config.NewWatcher(of, func() { changes <- struct{}{} })
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
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	put(t, at("plain"), `{"settings": {"skills": ["skills"]}}`)
	put(t, at("v1/linked"), "{} // 1")
	put(t, at("v2/linked"), "{} // 2")
	put(t, at("skills/a/SKILL.md"), "")
	must(os.Symlink("v1", at("data")))
	must(os.Symlink(filepath.Join("data", "linked"), at("linked")))
	must(os.Symlink("v2", at("way")))
	_, changes := watch(t, gathered(t, at("plain"), at("linked"), at("way/linked")))
	for _, step := range []struct {
		what string
		do   func()
	}{
		{"written in place", func() { put(t, at("plain"), "2") }},
		{"replaced by a rename", func() { put(t, at(".plain.swp"), "3"); must(os.Rename(at(".plain.swp"), at("plain"))) }},
		{"moved away and written anew", func() { must(os.Rename(at("plain"), at("plain~"))); put(t, at("plain"), "4") }},
		{"removed", func() { must(os.Remove(at("plain"))) }},
		{"back", func() { put(t, at("plain"), "5") }},
		{"made, with its directory", func() { put(t, at(".mcphub/config.json"), "1") }},
		{"changed there", func() { put(t, at(".mcphub/config.json"), "2") }},
		{"a skill more", func() { put(t, at("skills/b/SKILL.md"), "1") }},
		{"a link turned, as Kubernetes does", func() { must(os.Symlink("v2", at("data.new"))); must(os.Rename(at("data.new"), at("data"))) }},
		{"changed behind the links", func() { put(t, at("v2/linked"), "3") }},
		{"a link to its directory turned", func() { must(os.Symlink("v1", at("way.new"))); must(os.Rename(at("way.new"), at("way"))) }},
	} {
		step.do()
		await(t, step.what, changes)
	}
}

// TestWatcherIsNotTooEager tells of a storm once, and not of what changes nothing.
func TestWatcherIsNotTooEager(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, a, "{}")
	put(t, b, "{}")
	w, changes := watch(t, gathered(t, a))
	for i := range 100 {
		put(t, a, "{} // "+strconv.Itoa(i))
	}
	await(t, "a storm", changes)
	put(t, a, "{} // 99")                   // the same
	put(t, filepath.Join(dir, "other"), "") // another file beside it
	w.Watch(gathered(t, a, b))
	put(t, b, "{} // 1")
	await(t, "a file that is watched now", changes)
	if n := len(changes); n > 10 {
		t.Errorf("%d changes more", n)
	}
}

// TestWatcherMissesNothing that has changed since the files were read.
func TestWatcherMissesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	put(t, path, "{}")
	read := gathered(t, path)
	put(t, path, "{} // later")
	_, changes := watch(t, read)
	await(t, "a change before the watching began", changes)
}
