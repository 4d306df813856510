package upstream_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/internal/testmcp"
	"mcphub/upstream"
)

// shelved is options whose catalogs are kept in dir.
func shelved(dir string) *upstream.Options {
	return &upstream.Options{Log: zerolog.Nop(), CatalogDir: dir, Starts: make(chan struct{}, 4)}
}

// public is an offer without what only its reading is about.
func public(o *upstream.Offer) upstream.Offer {
	return upstream.Offer{Version: o.Version, Greeting: o.Greeting, Tools: o.Tools, Resources: o.Resources,
		Templates: o.Templates, Prompts: o.Prompts, TTL: o.TTL, Notes: o.Notes}
}

// files lists a directory of catalogs.
func files(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Fifty servers' catalogs are there again after a restart, byte for byte, with no program running.
func TestCatalogsAreKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "catalogs")
	natures := []string{"well", "modern-only", "only-tools", "pages", "repeats-cursor"}
	var entries []*config.Server
	var logs []*testmcp.Log
	for i := range 50 {
		cfg, log := program(t, natures[i%len(natures)])
		cfg.Env["NUMBER"] = fmt.Sprint(i)
		entries, logs = append(entries, cfg), append(logs, log)
	}
	// once runs all servers until each is settled.
	once := func(each func(i int, s *upstream.Server)) {
		var closing sync.WaitGroup
		defer closing.Wait()
		opt := shelved(dir)
		var servers []*upstream.Server
		began := time.Now()
		for _, cfg := range entries {
			servers = append(servers, upstream.NewServer(cfg, opt))
		}
		t.Logf("%d servers made in %v", len(servers), time.Since(began))
		for i, s := range servers {
			s.Start()
			defer closing.Go(s.Close)
			defer each(i, s)
		}
	}
	offers := make([]upstream.Offer, len(entries))
	once(func(i int, s *upstream.Server) {
		settled(t, s)
		if s.Offer() == nil {
			t.Fatalf("server %d: %+v", i, s.Status())
		}
		offers[i] = public(s.Offer())
	})
	if n := len(files(t, dir)); n != len(entries) {
		t.Errorf("%d files", n)
	}
	for _, file := range files(t, dir) {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", file, info.Mode(), err)
		}
	}
	once(func(i int, s *upstream.Server) {
		select {
		case <-s.Settled():
		default:
			t.Errorf("server %d is not settled", i)
		}
		if got := public(s.Offer()); !reflect.DeepEqual(got, offers[i]) {
			t.Errorf("server %d offers\n%+v\nafter the restart, want\n%+v", i, got, offers[i])
		}
		if n := len(logs[i].Of(testmcp.EventStart)); n != 1 || s.Status().State != upstream.StateIdle {
			t.Errorf("server %d: %d processes, %+v", i, n, s.Status())
		}
	})
	once(func(i int, s *upstream.Server) {
		if i == 0 {
			mustCall(t, s, "echo", "")
		}
	})
	if n := len(logs[0].Of(testmcp.EventStart)); n != 2 {
		t.Errorf("%d processes of the server that was called", n)
	}
}

// becoming is a program that is the server whose name stands in the file.
func becoming(t *testing.T) (cfg *config.Server, become func(name string)) {
	t.Helper()
	cfg, _ = program(t, "well")
	name := filepath.Join(t.TempDir(), "name")
	cfg.Args = append([]string{"-c", `MCPHUB_TESTMCP=$(cat "$NAME") exec "$0" "$@"`, cfg.Command}, cfg.Args...)
	cfg.Command, cfg.Env["NAME"] = "sh", name
	return cfg, func(is string) {
		if err := os.WriteFile(name, []byte(is), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// A server that was updated while the hub was down: whoever waits for the connection finds its version and greeting, and the
// tools follow, in the file too.
func TestKeptCatalogIsRefreshed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg, become := becoming(t)
	become("well")
	s := startWith(t, cfg, shelved(dir))
	settled(t, s)
	before := tools(s)
	s.Close()
	become("modern-only+pages")
	s = startWith(t, cfg, shelved(dir))
	if old := s.Offer(); old.Version != "2025-11-25" || tools(s) != before {
		t.Fatalf("version %s with %d tools is kept, want %d", old.Version, tools(s), before)
	}
	conn, err := s.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if now := s.Offer(); now.Version != "2026-07-28" || now.Version != conn.Version() || string(now.Greeting) != string(conn.Greeting) {
		t.Errorf("the connection speaks %s, the offer says %s", conn.Version(), now.Version)
	}
	eventually(t, "the new tools", func() bool { return tools(s) == 250 })
	s.Close()
	if again := upstream.NewServer(cfg, shelved(dir)); tools(again) != 250 || again.Offer().Version != "2026-07-28" {
		t.Errorf("%d tools are kept", tools(again))
	}
}

// A file that is damaged is nobody's catalog, and is written anew.
func TestDamagedCatalog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg, _ := program(t, "well")
	s := startWith(t, cfg, shelved(dir))
	settled(t, s)
	s.Close()
	file := files(t, dir)[0]
	good, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "cut": good[:len(good)/2], "one byte": append(good[:len(good)-1:len(good)-1], 'x'), "something else": []byte("{}\n{}\n"),
	} {
		if err := os.WriteFile(file, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		s := upstream.NewServer(cfg, shelved(dir))
		if s.Offer() != nil {
			t.Errorf("%s: a damaged catalog is published", name)
		}
		s.Start()
		settled(t, s)
		s.Close()
		if now, err := os.ReadFile(file); err != nil || string(now) != string(good) {
			t.Errorf("%s: the file is not written anew, %v", name, err)
		}
	}
}

// A list that could not be read whole is not kept, and a directory that cannot be written costs only what it would have kept.
func TestNotKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	partly, _ := web(t, "500:prompts/list")
	s := startWith(t, partly, shelved(dir))
	settled(t, s)
	if left := files(t, dir); tools(s) == 0 || len(left) != 0 {
		t.Errorf("%d tools, and %q are kept", tools(s), left)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, _ := program(t, "well")
	s = startWith(t, cfg, shelved(file))
	settled(t, s)
	mustCall(t, s, "echo", "")
}

// An eager server is connected at start though its tools are known; a disabled one shows nothing of what it once offered.
func TestKeptCatalogByLifecycle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cfg, log := program(t, "well")
	s := startWith(t, cfg, shelved(dir))
	settled(t, s)
	s.Close()
	for n, lifecycle := range []config.Lifecycle{config.LifecycleEager, config.LifecycleKeepAlive} {
		again := *cfg
		again.Lifecycle = lifecycle
		s := startWith(t, &again, shelved(dir))
		log.WaitKind(t, testmcp.EventStart, n+2)
		eventually(t, "ready", func() bool { return s.Status().State == upstream.StateReady })
		s.Close()
	}
	disabled := *cfg
	disabled.Enabled = false
	if upstream.NewServer(&disabled, shelved(dir)).Offer() != nil {
		t.Error("a disabled server offers something")
	}
}

// Files that no server has used for 30 days are removed, and only those.
func TestSweepCatalogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := time.Now().Add(-31 * 24 * time.Hour)
	for name, when := range map[string]time.Time{
		"old.catalog": old, "old.part": old, "old.txt": old, "new.catalog": time.Now().Add(-29 * 24 * time.Hour),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	cfg, _ := program(t, "well")
	s := startWith(t, cfg, shelved(dir))
	settled(t, s)
	s.Close()
	used := filepath.Join(dir, cfg.Digest()+".catalog")
	if err := os.Chtimes(used, old, old); err != nil {
		t.Fatal(err)
	}
	_ = upstream.NewServer(cfg, shelved(dir)) // which uses its file
	upstream.SweepCatalogs(dir)
	want := []string{used, filepath.Join(dir, "new.catalog"), filepath.Join(dir, "old.txt")}
	if left := files(t, dir); !reflect.DeepEqual(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
	upstream.SweepCatalogs(filepath.Join(dir, "none"))
}
