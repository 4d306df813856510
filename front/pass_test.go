package front

import (
	"net/http"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
	"mcphub/wire"
)

// taskServer is a server that runs tasks under this id.
func taskServer(t *testing.T, id string) string {
	return testmcp.Replies{
		"initialize":        `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"tasks":{"list":{}}},"serverInfo":{"name":"t","version":"1"}}`,
		"tools/call echo":   `{"task":{"taskId":"` + id + `","status":"working","ttl":60000}}`,
		"tasks/get":         `{"taskId":"` + id + `","status":"working","pollInterval":1e3}`,
		"tasks/result":      `{"content":[{"type":"text","text":"done ` + id + `"}]}`,
		"tasks/list":        `{"tasks":[]}`,
		"vendor/only":       `{"x":9007199254740993}`,
		"tools/call whoami": `{"content":[]}`,
	}.Name(t)
}

// TestTasks follows a task through the hub: it is asked for where it runs, and only who began it hears of it.
func TestTasks(t *testing.T) {
	r := newRig(t, map[string]entry{"one": stdio(taskServer(t, "task-1")), "two": {"url": testmcp.HTTP(t, taskServer(t, "task-2")).URL}}, Options{})
	alice, bob := r.peer(wire.V20251125, `{}`, friendly), r.peer(wire.V20251125, `{}`, friendly)
	for _, c := range []struct{ server, id string }{{"one", "task-1"}, {"two", "task-2"}} {
		m := alice.request(wire.ToolsCall, `{"name":"mcp_`+c.server+`_echo","arguments":{},"task":{"ttl":60000}}`)
		if string(wire.Path(m.Result, "task", "taskId")) != `"`+c.id+`"` {
			t.Fatalf("%s: the task is %s", c.server, m.Raw)
		}
		for _, p := range []*peer{bob, alice, bob} { // asking makes it nobody else's
			if m := p.request("tasks/get", `{"taskId":"`+c.id+`"}`); !strings.Contains(string(m.Result), c.id) || !strings.Contains(string(m.Result), "1e3") {
				t.Errorf("%s: tasks/get gave %s", c.server, m.Raw)
			}
		}
		if m := alice.request("tasks/result", `{"taskId":"`+c.id+`"}`); !strings.Contains(string(m.Result), "done "+c.id) {
			t.Errorf("%s: tasks/result gave %s", c.server, m.Raw)
		}
		his, hers := bob.get(), alice.get()
		status := `{"taskId":"` + c.id + `","status":"completed"}`
		bob.call("mcp_"+c.server+"_tell", `{"method":"notifications/tasks/status","params":`+status+`}`)
		if m := hers.until(wire.TaskStatus); string(m.Params) != status {
			t.Errorf("%s: alice heard %s", c.server, m.Raw)
		}
		r.do(http.MethodDelete, "/mcp", "", bob.session...)
		for {
			m, ok := his.next()
			if !ok {
				break
			}
			t.Errorf("%s: bob heard %s", c.server, m.Raw)
		}
		bob = r.peer(wire.V20251125, `{}`, friendly)
	}
	later := newRig(t, map[string]entry{"one": stdio(taskServer(t, "task-1")), "two": {"url": testmcp.HTTP(t, taskServer(t, "task-2")).URL}}, Options{})
	for _, version := range []string{wire.V20251125, wire.V20260728} { // tasks from before the hub's start
		p := later.peer(version, `{}`, friendly)
		for _, id := range []string{"task-1", "task-2"} {
			if m := p.request("tasks/result", `{"taskId":"`+id+`"}`); !strings.Contains(string(m.Result), "done "+id) {
				t.Errorf("tasks/result of an older task gave %s", m.Raw)
			}
		}
		if m := p.request("tasks/get", `{"taskId":"unknown"}`); !strings.Contains(string(m.Error), "-32602") || !strings.Contains(string(m.Error), "no server knows the task unknown") {
			t.Errorf("tasks/get of no task gave %s", m.Raw)
		}
	}
	for method, params := range map[string]string{"tasks/list": `{}`, "vendor/only": `{}`} {
		for _, version := range []string{wire.V20251125, wire.V20260728} {
			m := r.peer(version, `{}`, friendly).request(method, params)
			if code, text := wire.ErrorOf(m.Error); code != wire.CodeMethodNotFound || !strings.Contains(text, "/servers/<name>/mcp") {
				t.Errorf("%s: %s", method, m.Raw)
			}
		}
	}
}

// TestTheOnlyOwner has one server that can mean what the hub does not know.
func TestTheOnlyOwner(t *testing.T) {
	r := newRig(t, map[string]entry{"one": stdio(taskServer(t, "task-1"))}, Options{})
	for _, version := range []string{wire.V20251125, wire.V20260728} {
		p := r.peer(version, `{}`, friendly)
		if m := p.request("vendor/only", `{}`); string(wire.Get(m.Result, "x")) != "9007199254740993" {
			t.Errorf("%s: vendor/only gave %s", version, m.Raw)
		}
		if m := p.request("vendor/none", `{}`); !strings.Contains(string(m.Error), "-32601") {
			t.Errorf("%s: vendor/none gave %s", version, m.Raw)
		}
		if m := p.request("tasks/list", `{}`); string(wire.Get(m.Result, "tasks")) != "[]" {
			t.Errorf("%s: tasks/list gave %s", version, m.Raw)
		}
	}
	two := newRig(t, map[string]entry{"one": stdio(taskServer(t, "task-1")), "plain": stdio("well")}, Options{})
	if m := two.peer(wire.V20251125, `{}`, friendly).request("tasks/list", `{}`); string(wire.Get(m.Result, "tasks")) != "[]" {
		t.Errorf("of two servers one has tasks: %s", m.Raw)
	}
}

// TestElicitationComplete has a server say that a form behind a URL is done, after its call has ended.
func TestElicitationComplete(t *testing.T) {
	r := newRig(t, map[string]entry{"up": stdio("well"), "web": {"url": testmcp.HTTP(t, "well").URL}}, Options{})
	for _, server := range []string{"up", "web"} {
		alice, bob := r.peer(wire.V20251125, allCapabilities, friendly), r.peer(wire.V20251125, allCapabilities, friendly)
		alice.call("mcp_"+server+"_ask", `{"mode":"url"}`)
		his, hers := bob.get(), alice.get()
		bob.call("mcp_"+server+"_tell", `{"method":"notifications/elicitation/complete","params":{"elicitationId":"form-1"}}`)
		if server == "web" && len(r.front.sessions.all()) == 0 {
			t.Fatal("the sessions are gone")
		}
		hers.until(wire.ElicitationComplete)
		r.do(http.MethodDelete, "/mcp", "", bob.session...)
		if m, ok := his.next(); ok {
			t.Errorf("%s: bob heard %s", server, m.Raw)
		}
	}
}
