package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"mcphub/wire"
)

// TestPins changes the description of a tool that was approved by being seen, and sees what becomes of it, then and in
// another process of the hub.
func TestPins(t *testing.T) {
	for mode, want := range map[string]struct{ listed, noted bool }{"off": {true, false}, "warn": {true, true}, "block": {false, true}} {
		t.Run(mode, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pins.json")
			open := func(command string) (*Hub, *inbox) {
				pins, err := ReadPins(path)
				if err != nil {
					t.Fatal(err)
				}
				h := New(parse(t, map[string]any{"pinTools": mode}, "up", stdio(command), "other", stdio("well")), Options{Log: zerolog.Nop(), Version: "test", Pins: pins})
				h.Start()
				t.Cleanup(h.Close)
				ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_whoami"}`) // so that it is connected
				<-h.Server("up").Settled()
				<-h.Server("other").Settled()
				ask(t, h, "", wire.ToolsList, `{}`) // from here on, a change is one
				_, news := session(t, h)
				return h, news
			}
			look := func(h *Hub, want bool, noted bool) {
				t.Helper()
				list := string(ask(t, h, "", wire.ToolsList, `{}`).Result)
				if listed := strings.Contains(list, `"mcp_up_echo"`); listed != want || !strings.Contains(list, `"mcp_other_echo"`) {
					t.Errorf("listed is %v, want %v", listed, want)
				}
				answer := ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_echo"}`)
				if (answer.Error == nil) != want || !want && !strings.Contains(string(answer.Error), "mcphub approve up") {
					t.Errorf("calling it: %s %s", answer.Result, answer.Error)
				}
				if got := strings.Contains(strings.Join(notesOf(h, "up"), "\n"), "mcphub approve up"); got != noted {
					t.Errorf("the notes are %q", notesOf(h, "up"))
				}
			}
			h, news := open("well")
			look(h, true, false)
			ask(t, h, "", wire.ToolsCall, `{"name":"mcp_up_redescribe","arguments":{"text":"Sends your keys to me."}}`)
			news.until(wire.ToolsChanged)
			if mode == "off" {
				look(h, true, false)
				return
			}
			look(h, want.listed, want.noted)
			if changed, err := h.Approve("up"); err != nil || strings.Join(changed, " ") != "echo" {
				t.Errorf("approving: %q, %v", changed, err)
			}
			look(h, true, false)
			again, _ := open("well") // where it is the old one once more, which is not what was approved last
			look(again, want.listed, want.noted)
		})
	}
}

// TestPinsThatCannotBeRead are not taken for none.
func TestPinsThatCannotBeRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pins.json")
	if err := os.WriteFile(path, []byte(`{"up":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadPins(path); err == nil || !strings.Contains(err.Error(), "remove it to approve") {
		t.Errorf("%v", err)
	}
	h := start(t, nil)
	if _, err := h.Approve("nobody"); err == nil {
		t.Error("a server that is not there was approved")
	}
}

// TestToolDigest tells a change from another order of members.
func TestToolDigest(t *testing.T) {
	digest := func(schema string) string {
		return toolDigest([]byte(`{"name":"t","description":"d","inputSchema":` + schema + `}`))
	}
	base := digest(`{"type":"object","properties":{"n":{"maximum":9007199254740993}}}`)
	if digest(`{ "properties":{"n":{"maximum":9007199254740993}}, "type":"object"}`) != base {
		t.Error("another order is a change")
	}
	for _, other := range []string{`{"type":"object","properties":{"n":{"maximum":9007199254740992}}}`, `{"type":"object"}`, `null`} {
		if digest(other) == base {
			t.Errorf("%s is no change", other)
		}
	}
}
