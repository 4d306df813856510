package hub

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/config"
	"mcphub/wire"
)

// raw is an entry as somebody hands it over.
func (e entry) raw(t testing.TB) []byte {
	t.Helper()
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestRegistry registers a server, changes it, finds it again in the hub's next process, and takes it away.
func TestRegistry(t *testing.T) {
	opt := Options{Log: zerolog.Nop(), Version: "test", Registered: filepath.Join(t.TempDir(), "registered.json")}
	h := New(parse(t, handing, "all", stdio("well")), opt)
	h.Start()
	_, news := session(t, h)
	rep, err := h.Registry().Add("new", stdio("well").raw(t))
	if err != nil || strings.Join(rep.Added, " ") != "new" {
		t.Fatalf("%+v, %v", rep, err)
	}
	news.until(wire.ToolsChanged)
	if answer := ask(t, h, "", wire.ToolsCall, `{"name":"new_echo"}`); answer.Error != nil {
		t.Errorf("by its name without the prefix: %s", answer.Error)
	}
	if rep, err = h.Registry().Add("new", stdio("modern").raw(t)); err != nil || strings.Join(rep.Changed, " ") != "new" || strings.Join(rep.Kept, " ") != "all" {
		t.Errorf("changing it: %+v, %v", rep, err)
	}
	h.Close()
	again := New(parse(t, handing, "all", stdio("well")), opt)
	again.Start()
	t.Cleanup(again.Close)
	if answer := ask(t, again, "", wire.ToolsCall, `{"name":"new_echo"}`); answer.Error != nil {
		t.Errorf("after a restart: %s", answer.Error)
	}
	if rep, err = again.Registry().Remove("new"); err != nil || strings.Join(rep.Removed, " ") != "new" {
		t.Errorf("%+v, %v", rep, err)
	}
	if _, err = again.Registry().Remove("new"); !errors.Is(err, ErrNotRegistered) {
		t.Errorf("removing it twice: %v", err)
	}
	if again.Server("new") != nil {
		t.Error("it is still there")
	}
}

// TestRegistryGivesWay has the operator's own configuration win, but for entries that may not run.
func TestRegistryGivesWay(t *testing.T) {
	h := settled(t, handing, "mine", stdio("well"))
	if _, err := h.Registry().Add("mine", stdio("well").raw(t)); !errors.Is(err, ErrConfigured) {
		t.Errorf("a configured name was taken: %v", err)
	}
	if _, err := h.Registry().Add("late", stdio("well").raw(t)); err != nil {
		t.Fatal(err)
	}
	off := stdio("well")
	off["enabled"] = false
	h.Reload(parse(t, handing, "late", off))
	problems := h.Problems()
	if h.Server("late").Status().State != "disabled" || len(problems) != 1 || problems[0].Server != "late" || problems[0].Severity != config.Warning {
		t.Errorf("it is %+v; the problems are %v", h.Server("late").Status(), problems)
	}
	cfg := parse(t, handing, "late", stdio("exit"))
	cfg.Servers[0].Untrusted = "/somewhere"
	h.Reload(cfg)
	if answer := ask(t, h, "", wire.ToolsCall, `{"name":"late_echo"}`); answer.Error != nil || len(h.Problems()) != 0 {
		t.Errorf("in place of one that is not trusted: %s, %v", answer.Error, h.Problems())
	}
	h.Reload(parse(t, map[string]any{"sessionServers": "off"}))
	if h.Server("late") != nil {
		t.Error("it runs though nothing may be handed over any more")
	}
}

// TestRegistryRefuses what may not be handed over, and keeps a file that it cannot read.
func TestRegistryRefuses(t *testing.T) {
	h := start(t, map[string]any{"sessionServers": "http"})
	if _, err := h.Registry().Add("a", []byte(`{"command":"true"}`)); err == nil || !strings.Contains(err.Error(), "is a program") {
		t.Errorf("%v", err)
	}
	if _, err := h.Registry().Add("a b", []byte(`{"url":"http://127.0.0.1:1/mcp"}`)); err == nil || !strings.Contains(err.Error(), "rename it") {
		t.Errorf("%v", err)
	}
	path := filepath.Join(t.TempDir(), "registered.json")
	if err := os.WriteFile(path, []byte(`{"mcpServers":`), 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := New(parse(t, handing), Options{Log: zerolog.Nop(), Registered: path})
	damaged.Start()
	t.Cleanup(damaged.Close)
	if _, err := damaged.Registry().Add("a", []byte(`{"url":"http://127.0.0.1:1/mcp"}`)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("the file would be written over: %v", err)
	}
}
