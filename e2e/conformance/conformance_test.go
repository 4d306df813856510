package conformance

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"mcphub/e2e"
)

// table is where the list of all scenarios with both results goes, besides the test's own output.
var table = flag.String("table", "", "write the table of scenarios to this file")

// A server under test, started anew for every suite so that no run sees another's traces.
type server struct {
	name  string
	start func(t *testing.T, lab *e2e.Lab, suite suite) (url string, entry map[string]any)
}

var servers = []server{
	{"go-sdk-stateful", func(t *testing.T, lab *e2e.Lab, _ suite) (string, map[string]any) {
		url := lab.StartConformance(t, "-stateless=false")
		return url, e2e.HTTP(url)
	}},
	{"go-sdk-stateless", func(t *testing.T, lab *e2e.Lab, _ suite) (string, map[string]any) {
		url := lab.StartConformance(t)
		return url, e2e.HTTP(url)
	}},
	{stdioServer, func(t *testing.T, lab *e2e.Lab, suite suite) (string, map[string]any) {
		stateless := strings.HasSuffix(suite.name, "2026-07-28")
		url := lab.StartConformance(t, fmt.Sprintf("-stateless=%t", stateless))
		return url, e2e.Stdio([]string{lab.Program("conformance-server")})
	}},
	{"everything", func(t *testing.T, lab *e2e.Lab, _ suite) (string, map[string]any) {
		url := lab.StartEverything(t, "streamableHttp") + "/mcp"
		return url, e2e.HTTP(url)
	}},
}

// stdioServer is go-sdk's server as a child of the hub, beside the same over HTTP: a suite only speaks HTTP. What a
// scenario is about may then be in the server's HTTP alone, which the child does not have.
const stdioServer = "go-sdk-stdio"

var aboutHTTP = []string{
	"server-sse-polling",                   // the server closes the call's stream
	"http-custom-header-server-validation", // the server compares headers of the request with its arguments
}

// No scenario that a server passes directly fails through the hub.
func TestConformance(t *testing.T) {
	lab, err := e2e.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	const pkg = "github.com/modelcontextprotocol/go-sdk/conformance/everything-server"
	if err := lab.Build("conformance-server", pkg); err != nil {
		t.Fatal(err)
	}
	var rows report
	t.Cleanup(func() { rows.print(t) })
	for _, server := range servers {
		for _, suite := range suites {
			t.Run(server.name+"/"+suite.name, func(t *testing.T) {
				t.Parallel()
				compare(t, lab, server, suite, &rows)
			})
		}
	}
}

func compare(t *testing.T, lab *e2e.Lab, server server, suite suite, rows *report) {
	url, entry := server.start(t, lab, suite)
	direct := run(t, lab, suite, url)
	entry["bareNames"] = true // the suites know the tools by their own names
	hub := lab.StartHub(t, e2e.Servers{"under-test": entry})
	relayed := run(t, lab, suite, hub.URL+"/servers/under-test/mcp")
	merged := relayed
	if server.name != stdioServer { // to which the merged view speaks the newer era, whatever the suite's
		merged = run(t, lab, suite, hub.URL+"/mcp")
	}
	for _, name := range slices.Sorted(maps.Keys(direct)) {
		rows.add(server.name, suite.name, name, direct[name], relayed[name], merged[name])
		if server.name == stdioServer && slices.Contains(aboutHTTP, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if through := relayed[name]; direct[name].passed() && !through.passed() {
				t.Errorf("passes directly (%s), relayed: %s\n%s", direct[name], through, strings.Join(through.failures, "\n"))
			}
			// Towards a server of both eras the merged view speaks the newer one, in which a scenario may have nothing to check.
			if through := merged[name]; direct[name].passed() && len(through.failures) > 0 {
				t.Errorf("passes directly (%s), merged: %s\n%s", direct[name], through, strings.Join(through.failures, "\n"))
			}
		})
	}
	if len(direct) == 0 || len(relayed) != len(direct) || len(merged) != len(direct) {
		t.Errorf("%d scenarios ran directly, %d relayed, %d merged", len(direct), len(relayed), len(merged))
	}
}

// run is one run of a suite against the server at url.
func run(t *testing.T, lab *e2e.Lab, suite suite, url string) map[string]outcome {
	t.Helper()
	results := t.TempDir()
	args := append([]string{"server", "--url", url, "--output-dir", results}, suite.args...)
	output := lab.TryNode(t, suite.program, args...) // its exit code only says that some scenario failed
	outcomes, err := readOutcomes(results)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return outcomes
}

// fewest is how many scenarios have to pass directly when all run, a few below what they do: fewer means that the
// servers under test do not work and nothing was compared.
const fewest = 460

// report collects the rows of the table from the suites that run side by side.
type report struct {
	mu     sync.Mutex // guards what follows
	rows   []string
	passed int // directly
}

func (r *report) add(server, suite, scenario string, direct, relayed, merged outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if direct.passed() {
		r.passed++
	}
	r.rows = append(r.rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s\t%s", server, suite, scenario, direct, relayed, merged))
}

func (r *report) print(t *testing.T) {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "server\tsuite\tscenario\tdirect\t/servers/<name>/mcp\t/mcp")
	slices.Sort(r.rows)
	for _, row := range r.rows {
		fmt.Fprintln(columns, row)
	}
	columns.Flush()
	t.Logf("%d scenarios, %d pass directly\n%s", len(r.rows), r.passed, text.String())
	if all := flag.Lookup("test.run").Value.String() == ""; all && r.passed < fewest {
		t.Errorf("only %d scenarios pass directly, want at least %d", r.passed, fewest)
	}
	if *table == "" {
		return
	}
	if err := os.WriteFile(filepath.Clean(*table), []byte(text.String()), 0o600); err != nil {
		t.Errorf("writing the table: %v", err)
	}
}
