package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// call is one tools/call and what its answer says.
type call struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
	text      string
}

// A client lists the tools at the hub's merged view, makes the calls and returns the names and the calls' first texts.
type client struct {
	name string
	use  func(t *testing.T, hub *Hub, calls []call) (tools, texts []string)
}

var clients = []client{
	{"curl", useCurl},
	{"inspector-legacy", inspector("/mcp", "--transport", "http", "--protocol-era", "legacy")},
	{"inspector-modern", inspector("/mcp", "--transport", "http", "--protocol-era", "modern")},
	{"inspector-sse", inspector("/sse", "--transport", "sse")},
	{"mcporter", useMcporter},
	{"sdk-v1", sdk("sdk-v1.mjs", at("/mcp", job{Transport: "http"}))},
	{"sdk-v1-sse", sdk("sdk-v1.mjs", at("/sse", job{Transport: "sse"}))},
	{"sdk-v2-legacy", sdk("sdk-v2.mjs", at("/mcp", job{Mode: "legacy"}))},
	{"sdk-v2-auto", sdk("sdk-v2.mjs", at("/mcp", job{Mode: "auto"}))},
	{"mcp-remote", sdk("sdk-v1.mjs", throughRemote)},
	{"mcphub-stdio", sdk("sdk-v1.mjs", throughStdio)},
}

// Every client the README names uses tools of four real servers behind one URL.
func TestClients(t *testing.T) {
	hub, calls := startExamples(t)
	for _, client := range clients {
		t.Run(client.name, func(t *testing.T) {
			tools, texts := client.use(t, hub, calls)
			for i, call := range calls {
				if !slices.Contains(tools, call.Tool) {
					t.Errorf("tools/list has no %s: %q", call.Tool, tools)
				}
				if !strings.Contains(texts[i], call.text) {
					t.Errorf("%s answered %q, want %q", call.Tool, texts[i], call.text)
				}
			}
		})
	}
}

// startExamples runs the hub with the example servers and returns one call for each of them.
func startExamples(t *testing.T) (*Hub, []call) {
	files := t.TempDir()
	note := filepath.Join(files, "note.txt")
	if err := os.WriteFile(note, []byte("from a real file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	servers := Servers{
		"everything": Stdio(lab.Everything("stdio")),
		"ev-http":    HTTP(lab.StartEverything(t, "streamableHttp") + "/mcp"),
		"filesystem": Stdio(lab.Filesystem(files)),
		"memory":     Stdio(lab.Memory()),
	}
	servers["memory"]["env"] = map[string]string{"MEMORY_FILE_PATH": filepath.Join(files, "graph.jsonl")}
	for _, entry := range servers {
		entry["startupTimeoutMs"] = Patience.Milliseconds() // a first list without the slow ones is another test's subject
	}
	return lab.StartHub(t, servers), []call{
		{"mcp_everything_echo", map[string]any{"message": "hi"}, "Echo: hi"},
		{"mcp_ev-http_get-sum", map[string]any{"a": 2, "b": 3}, "The sum of 2 and 3 is 5."},
		{"mcp_filesystem_read_text_file", map[string]any{"path": note}, "from a real file"},
		{"mcp_memory_read_graph", map[string]any{}, "{"},
	}
}

// toolsResult and callResult are the parts of the answers that these tests look at.
type toolsResult struct {
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

type callResult struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
}

func (r toolsResult) names() []string {
	names := make([]string, len(r.Tools))
	for i, tool := range r.Tools {
		names[i] = tool.Name
	}
	return names
}

func (r callResult) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// curlPost sends one message the way a person with nothing but curl would: no handshake, no session, no Accept header of its own.
func curlPost(t *testing.T, hub *Hub, method string, params, result any) {
	t.Helper()
	body := encode(t, map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	out := lab.Run(t, "curl", "--silent", "--show-error", "--fail-with-body", "--max-time", "20",
		"--header", "Content-Type: application/json", "--data", body, hub.URL+"/mcp")
	decode(t, out, &struct {
		Result any `json:"result"`
	}{result})
}

func useCurl(t *testing.T, hub *Hub, calls []call) (tools, texts []string) {
	var list toolsResult
	curlPost(t, hub, "tools/list", map[string]any{}, &list)
	for _, call := range calls {
		var result callResult
		curlPost(t, hub, "tools/call", map[string]any{"name": call.Tool, "arguments": call.Arguments}, &result)
		texts = append(texts, result.text())
	}
	return list.names(), texts
}

func inspector(path string, flags ...string) func(*testing.T, *Hub, []call) ([]string, []string) {
	return func(t *testing.T, hub *Hub, calls []call) (tools, texts []string) {
		run := func(result any, more ...string) {
			args := append([]string{"--cli", hub.URL + path}, flags...)
			out := lab.Node(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js", append(args, more...)...)
			decode(t, out, result)
		}
		var list toolsResult
		run(&list, "--method", "tools/list")
		for _, call := range calls {
			var result callResult
			run(&result, "--method", "tools/call", "--tool-name", call.Tool, "--tool-args-json", encode(t, call.Arguments))
			texts = append(texts, result.text())
		}
		return list.names(), texts
	}
}

func useMcporter(t *testing.T, hub *Hub, calls []call) (tools, texts []string) {
	run := func(verb string, more ...string) string {
		args := []string{verb, "--http-url", hub.URL + "/mcp", "--allow-http", "--name", "hub"}
		return lab.Node(t, "mcporter/dist/cli.js", append(args, more...)...)
	}
	var list toolsResult
	decode(t, run("list", "--json"), &list)
	for _, call := range calls {
		texts = append(texts, run("call", call.Tool, "--args", encode(t, call.Arguments)))
	}
	return list.names(), texts
}

// job is what the scripts in clients/ are told: how to connect and what to call.
type job struct {
	Transport string   `json:"transport,omitempty"`
	URL       string   `json:"url,omitempty"`
	Command   string   `json:"command,omitempty"`
	Args      []string `json:"args,omitempty"`
	Mode      string   `json:"mode,omitempty"`
	Calls     []call   `json:"calls,omitempty"`
}

// connect says how a script gets to the hub.
type connect func(*testing.T, *Hub) job

func sdk(script string, connect connect) func(*testing.T, *Hub, []call) ([]string, []string) {
	return func(t *testing.T, hub *Hub, calls []call) (tools, texts []string) {
		job := connect(t, hub)
		job.Calls = calls
		var report struct {
			Tools   []string     `json:"tools"`
			Results []callResult `json:"results"`
		}
		decode(t, lab.Node(t, script, encode(t, job)), &report)
		for _, result := range report.Results {
			texts = append(texts, result.text())
		}
		return report.Tools, texts
	}
}

// at connects to a path of the running hub.
func at(path string, how job) connect {
	return func(_ *testing.T, hub *Hub) job {
		how.URL = hub.URL + path
		return how
	}
}

// throughRemote connects through mcp-remote, the bridge for clients that only start programs.
func throughRemote(_ *testing.T, hub *Hub) job {
	remote := []string{lab.Script("mcp-remote/dist/proxy.js"), hub.URL + "/mcp", "--allow-http"}
	return job{Transport: "stdio", Command: lab.node, Args: remote}
}

// throughStdio needs no running hub: mcphub stdio is one.
func throughStdio(t *testing.T, hub *Hub) job {
	line := lab.StdioHub(t, hub.Config)
	return job{Transport: "stdio", Command: line[0], Args: line[1:]}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("encoding %v: %v", value, err)
	}
	return string(text)
}

func decode(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("reading what a client printed: %v\n%s", err, text)
	}
}
