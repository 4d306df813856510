package e2e

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"mcphub/internal/testmcp"
)

// B059: whatever is asked for the state of a server that does not work says the same.
func TestB059(t *testing.T) {
	hub := lab.StartHub(t, Servers{
		"works":  Stdio([]string{lab.Program(lab.hub), "example-server"}),
		"locked": HTTP(testmcp.HTTP(t, "401").URL),
		"wrong":  {"comand": "x"},
		"off":    {"command": "x", "disabled": true},
		"ends":   Stdio([]string{"sh", "-c", "echo out of paper >&2; exit 3"}),
	})
	want := map[string]string{"works": "ready", "locked": "needs_auth", "wrong": "failed", "off": "disabled", "ends": "suspended"}
	// Once the server that fails again and again is suspended, nothing changes for a while by itself.
	var said map[string]map[string]string
	Eventually(t, "all say the same", func() bool {
		said = states(t, hub)
		for _, states := range said {
			if !maps.Equal(states, want) {
				return false
			}
		}
		return true
	})
	// doctor tries them anew, and says what the others say then. The hub tries one anew now and then too, hence more than once.
	for name, state := range want {
		Eventually(t, "doctor says the same of "+name, func() bool {
			var report struct{ Servers []serverView }
			decode(t, hub.Operate(t, "doctor", "--json", name), &report)
			f, s := report.Servers[0], statusOf(t, hub, name)
			if name == "ends" { // which is no longer suspended then, as it was asked for anew
				return !f.OK && f.Step == "start" && strings.Contains(f.Reason, "out of paper") && s.State == f.State && s.Reason == f.Reason
			}
			return f.State == state && s.State == state && (state == "disabled" || s.Reason == f.Reason && s.Fix == f.Fix)
		})
	}
}

var row = regexp.MustCompile(`(?m)^(\S+) +(\S+)`)

// states is how each who can be asked says that the servers are.
func states(t *testing.T, hub *Hub) map[string]map[string]string {
	said := map[string]map[string]string{}
	var all []serverView
	get(t, hub.URL+"/api/servers", &all)
	said["/api/servers"] = stateOf(all)
	var panel struct {
		Hub     struct{ States map[string]int }
		Servers []serverView
	}
	decode(t, hub.Operate(t, "status", "--json"), &panel)
	said["status --json"] = stateOf(panel.Servers)
	for _, verb := range []string{"list", "status"} {
		said[verb] = map[string]string{}
		for _, cells := range row.FindAllStringSubmatch(hub.Operate(t, verb), -1) {
			if _, there := said["/api/servers"][cells[1]]; there && cells[2] != "is" {
				said[verb][cells[1]] = cells[2]
			}
		}
	}
	var status struct{ States map[string]int }
	get(t, hub.URL+"/api/status", &status)
	said["/api/status"] = map[string]string{}
	for name, state := range said["/api/servers"] { // it only counts them
		said["/api/status"][name] = fmt.Sprintf("%d are %s", status.States[state], state)
		if n := len(panel.Hub.States); status.States[state] == 1 && n == len(all) {
			said["/api/status"][name] = state
		}
	}
	return said
}

func stateOf(all []serverView) map[string]string {
	states := map[string]string{}
	for name, v := range byName(all) {
		states[name] = v.State
	}
	return states
}
