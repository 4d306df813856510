package e2e

import (
	"strings"
	"testing"
)

// What server-everything speaks with a client directly, it speaks through /servers/<name>/mcp: tools, resources,
// prompts, completion, logging, progress, subscriptions, roots, sampling, elicitation, tasks and errors, field by field.
func TestFeaturesAsDirect(t *testing.T) {
	url := lab.StartEverything(t, "streamableHttp") + "/mcp"
	stdio := lab.Everything("stdio")
	overHTTP := job{Transport: "http", URL: url}
	overStdio := job{Transport: "stdio", Command: stdio[0], Args: stdio[1:]}
	for _, c := range []struct {
		server    string
		direct    job
		transport string // to the hub
		path      string
	}{
		{"http", overHTTP, "http", "/mcp"},
		{"http", overHTTP, "sse", "/sse"},
		{"stdio", overStdio, "http", "/mcp"},
		{"stdio", overStdio, "sse", "/sse"},
	} {
		t.Run(c.server+c.path, func(t *testing.T) {
			hub := lab.StartHub(t, Servers{"http": HTTP(url), "stdio": Stdio(stdio)})
			want := lab.Node(t, "features.mjs", encode(t, c.direct))
			through := job{Transport: c.transport, URL: hub.URL + "/servers/" + c.server + c.path}
			got := lab.Node(t, "features.mjs", encode(t, through))
			diffLines(t, want, got)
		})
	}
}

// diffLines reports the lines at which two reports part, with the member each belongs to.
func diffLines(t *testing.T, want, got string) {
	t.Helper()
	wants, gots := strings.Split(want, "\n"), strings.Split(got, "\n")
	member, reported := "", 0
	for i := range min(len(wants), len(gots)) {
		if strings.HasPrefix(wants[i], ` "`) {
			member, _, _ = strings.Cut(wants[i], ":")
		}
		if wants[i] != gots[i] && reported < 5 {
			reported++
			t.Errorf("in%s:\ndirect:      %s\nthrough hub: %s", member, wants[i], gots[i])
		}
	}
	if len(wants) != len(gots) {
		t.Errorf("direct the report has %d lines, through the hub %d", len(wants), len(gots))
	}
}
