package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// manyPatience bounds waits for dozens of programs that start at once on a machine that has other things to do.
const manyPatience = 4 * Patience

// vendor is a real server that is configured as its documentation says.
type vendor struct {
	name   string
	script string // in the vendors kit; "" for one that line gives
	line   []string
	args   []string
	env    map[string]string
	tools  int    // that it lists; 0: it cannot work here
	reason string // what its trouble says, where it cannot work
}

func vendors(t *testing.T) []vendor {
	const nowhere = "http://127.0.0.1:9"
	return []vendor{
		{name: "everything", line: lab.Everything("stdio"), tools: 17},
		{name: "filesystem", line: lab.Filesystem(t.TempDir()), tools: 14},
		{name: "memory", line: lab.Memory(), env: map[string]string{"MEMORY_FILE_PATH": t.TempDir() + "/graph"}, tools: 9},
		{name: "thinking", script: "@modelcontextprotocol/server-sequential-thinking/dist/index.js", tools: 1},
		{name: "github", script: "@modelcontextprotocol/server-github/dist/index.js", tools: 26},
		{name: "gitlab", script: "@modelcontextprotocol/server-gitlab/dist/index.js", env: map[string]string{"GITLAB_PERSONAL_ACCESS_TOKEN": "x"}, tools: 9},
		{name: "postgres", script: "@modelcontextprotocol/server-postgres/dist/index.js", args: []string{"postgres://127.0.0.1:9/x"}, tools: 1},
		{name: "context7", script: "@upstash/context7-mcp/dist/index.js", tools: 2},
		{name: "tavily", script: "tavily-mcp/build/index.js", env: map[string]string{"TAVILY_API_KEY": "x"}, tools: 5},
		{name: "figma", script: "figma-developer-mcp/dist/bin.js", args: []string{"--stdio"}, env: map[string]string{"FIGMA_API_KEY": "x"}, tools: 2},
		{name: "mui", script: "@mui/mcp/stdio.js", tools: 2},
		{name: "airbnb", script: "@openbnb/mcp-server-airbnb/dist/index.js", tools: 2},
		{name: "linear", script: "linear-mcp/build/index.js", env: map[string]string{"LINEAR_API_KEY": "x"}, tools: 19},
		{name: "notion", script: "@notionhq/notion-mcp-server/bin/cli.mjs", env: map[string]string{"NOTION_TOKEN": "x"}, tools: 24},
		{name: "jira", script: "@aashari/mcp-server-atlassian-jira/dist/index.js", tools: 5},
		{
			name: "cloudflare", script: "@cloudflare/mcp-server-cloudflare/dist/index.js", args: []string{"run", strings.Repeat("0", 32)},
			env: map[string]string{"CLOUDFLARE_API_TOKEN": "x"}, tools: 89,
		},
		{name: "argocd", script: "argocd-mcp/dist/index.js", args: []string{"stdio"}, env: map[string]string{"ARGOCD_BASE_URL": nowhere, "ARGOCD_API_TOKEN": "x"}, tools: 16},
		{name: "metabase", script: "@easecloudio/mcp-metabase-server/dist/index.js", env: map[string]string{"METABASE_URL": nowhere, "METABASE_API_KEY": "x"}, tools: 95},
		{name: "playwright", script: "@playwright/mcp/cli.js", tools: 25},
		{name: "brave", script: "@brave/brave-search-mcp-server/dist/index.js", env: map[string]string{"BRAVE_API_KEY": "x"}, tools: 8},

		// They want keys, and end without them.
		{name: "brave-old", script: "@modelcontextprotocol/server-brave-search/dist/index.js", reason: "BRAVE_API_KEY environment variable is required"},
		{name: "slack", script: "@modelcontextprotocol/server-slack/dist/index.js", reason: "SLACK_BOT_TOKEN"},
		{name: "maps", script: "@modelcontextprotocol/server-google-maps/dist/index.js", reason: "GOOGLE_MAPS_API_KEY environment variable is not set"},
		{name: "hubspot", script: "@hubspot/mcp-server/dist/index.js", reason: "PRIVATE_APP_ACCESS_TOKEN"},
	}
}

// entries is the configuration of these servers, each with a home of its own.
func entries(t *testing.T, all []vendor) Servers {
	home := t.TempDir()
	servers := Servers{}
	for _, v := range all {
		line := v.line
		if v.script != "" {
			line = append([]string{lab.node, filepath.Join(lab.vendors, v.script)}, v.args...)
		}
		env := map[string]string{"HOME": home}
		for name, value := range v.env {
			env[name] = value
		}
		entry := Stdio(line)
		entry["env"] = env
		entry["connectTimeoutMs"] = manyPatience.Milliseconds()
		entry["startupTimeoutMs"] = manyPatience.Milliseconds()
		servers[v.name] = entry
	}
	return servers
}

// Two dozen servers of many vendors at once: each that can work lists all its tools in the first list, what is said of those
// that cannot is true, and the hub stays small.
func TestManyVendors(t *testing.T) {
	lean, err := lab.Lean()
	if err != nil {
		t.Fatal(err)
	}
	all := vendors(t)
	hub := lean.StartHub(t, entries(t, all))
	counts := map[string]int{}
	tools := listTools(t, hub)
	for _, name := range tools {
		server, _, _ := strings.Cut(strings.TrimPrefix(name, "mcp_"), "_")
		counts[server]++
	}
	for _, v := range all {
		if counts[v.name] != v.tools {
			t.Errorf("%s lists %d tools, want %d", v.name, counts[v.name], v.tools)
		}
	}
	const most = 60 << 10
	if used := residentKB(t, hub.Process.Pid); used > most {
		t.Errorf("the hub holds %d KiB in memory, want at most %d", used, most)
	} else {
		t.Logf("%d servers, %d tools, %d KiB", len(all), len(tools), used)
	}
	tellTruth(t, hub, all)
}

// tellTruth compares what doctor and status say of servers with how they are.
func tellTruth(t *testing.T, hub *Hub, all []vendor) {
	var report struct{ Servers []serverView }
	decode(t, hub.Operate(t, "doctor", "--json"), &report)
	found := byName(report.Servers)
	var panel struct{ Servers []serverView }
	decode(t, hub.Operate(t, "status", "--json"), &panel)
	shown := byName(panel.Servers)
	for _, v := range all {
		f, s := found[v.name], shown[v.name]
		if v.tools > 0 {
			if !f.OK || f.Tools != v.tools || s.State != "ready" && s.State != "idle" || s.Tools != v.tools {
				t.Errorf("%s works: doctor says %+v, status %+v", v.name, f, s)
			}
			continue
		}
		if f.OK || f.Step != "start" || !strings.Contains(f.Reason, v.reason) {
			t.Errorf("%s ends when it starts and says %q: doctor says %+v", v.name, v.reason, f)
		}
		if s.State != "degraded" && s.State != "suspended" && s.State != "connecting" || s.Tools != 0 {
			t.Errorf("%s ends when it starts: status says %+v", v.name, s)
		}
		if s.State != "connecting" && (s.Fix == "" || !strings.Contains(s.Reason, v.reason)) {
			t.Errorf("%s ends when it starts and says %q: status says %+v", v.name, v.reason, s)
		}
	}
}

// serverView is what doctor and status say of a server.
type serverView struct {
	Server, Name string // one of them, by whom it is said
	OK           bool
	Step         string
	State        string
	Reason       string
	Fix          string
	Tools        int
	PID          int
}

func byName(all []serverView) map[string]serverView {
	views := map[string]serverView{}
	for _, v := range all {
		views[v.Server+v.Name] = v
	}
	return views
}

// listTools is the first tools/list of a client, which may wait for as long as the servers may take to start.
func listTools(t *testing.T, hub *Hub) []string {
	t.Helper()
	var answer struct{ Result toolsResult }
	post(t, hub.URL+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &answer)
	return answer.Result.names()
}

// post sends a JSON document and reads the answer.
func post(t *testing.T, url, body string, answer any) {
	t.Helper()
	exchange(t, http.MethodPost, url, body, answer)
}

// get reads a JSON document.
func get(t *testing.T, url string, answer any) {
	t.Helper()
	exchange(t, http.MethodGet, url, "", answer)
}

func exchange(t *testing.T, method, url, body string, answer any) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: manyPatience + Patience}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := text.ReadFrom(response.Body); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text.Bytes(), answer); err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %s, which cannot be read (%v): %.1000s", url, response.Status, err, text.String())
	}
}

// residentKB is the memory a process holds, in KiB.
func residentKB(t *testing.T, pid int) (used int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	if _, err := fmt.Sscanf(after, "%d kB", &used); err != nil {
		t.Fatalf("VmRSS of %d: %v", pid, err)
	}
	return used
}

// Fifty servers that were listed once are listed again by a hub that starts anew, before any of them runs, and run when they
// are called.
func TestFiftyServersAreListedWithoutRunning(t *testing.T) {
	lean, err := lab.Lean()
	if err != nil {
		t.Fatal(err)
	}
	servers := Servers{}
	for i := range 50 {
		servers[fmt.Sprintf("s%d", i)] = map[string]any{
			"command": lean.Program(lean.hub), "args": []string{"example-server"}, "connectTimeoutMs": manyPatience.Milliseconds(), "startupTimeoutMs": manyPatience.Milliseconds(),
		}
	}
	hub := lean.StartHub(t, servers)
	want := listTools(t, hub)
	if n := own(want, "echo"); n != 50 {
		t.Fatalf("50 servers list %d tools named echo: %q", n, want)
	}
	hub.Stop(t)

	hub = hub.Again(t)
	began := time.Now()
	got := listTools(t, hub)
	t.Logf("the first list of %d tools took %v", len(got), time.Since(began))
	if running := programs(hub); len(running) > 0 {
		t.Errorf("%d programs run under the hub, though nothing was called", len(running))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("after the restart %d tools are listed, want the same %d", len(got), len(want))
	}
	var answer struct{ Result callResult }
	post(t, hub.URL+"/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_s7_echo","arguments":{"text":"hello"}}}`, &answer)
	if got := answer.Result.text(); got != "hello" {
		t.Errorf("the call was answered %q", got)
	}
	if running := programs(hub); len(running) != 1 {
		t.Errorf("%d programs run under the hub after one call, want 1", len(running))
	}
}

// own counts the tools that servers call so.
func own(published []string, name string) (n int) {
	for _, tool := range published {
		if strings.HasSuffix(tool, "_"+name) {
			n++
		}
	}
	return n
}

// programs are the processes that run under the hub, but for its own reaper.
func programs(hub *Hub) (pids []int) {
	for _, pid := range descendants(hub.Process.Pid) {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if !strings.HasSuffix(string(line), "\x00reaper\x00") {
			pids = append(pids, pid)
		}
	}
	return pids
}
