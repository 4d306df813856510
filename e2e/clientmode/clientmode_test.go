// Package clientmode runs the client side of the official conformance suites with the hub as the client.
//
// A suite starts the server of a scenario and a client, which is the program in driver: it puts the hub in front of that
// server and does what the scenario asks for through it.
package clientmode

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"mcphub/e2e"
)

// table is where the list of all scenarios with their results goes, besides the test's own output.
var table = flag.String("table", "", "write the table of scenarios to this file")

// suites are the npm packages that hold a suite.
var suites = map[string]string{
	"0.1": "conformance-0.1/dist/index.js",
	"0.2": "conformance-0.2/dist/index.js",
}

// The scenarios under this prefix are about logging in to a server, which the hub cannot do yet.
const loginScenarios = "auth/"

// extension is what a suite's list says in place of versions for what no version of MCP has.
const extension = "extension"

// The newest protocol version of each era.
const (
	session   = "2025-11-25"
	stateless = "2026-07-28"
)

// driverVersions are what the driver speaks to the hub in a scenario of this version: that itself, and the other era.
func driverVersions(version string) []string {
	switch version {
	case extension, stateless:
		return []string{stateless, session}
	default:
		return []string{version, stateless}
	}
}

// fewest is how many runs there are, at least: fewer means that a suite's list was not understood.
const fewest = 50

// Every scenario passes in every protocol version that it exists in, whatever the era of the client behind the hub.
func TestClientScenarios(t *testing.T) {
	lab, err := e2e.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lab.Close)
	if err := lab.Build("driver", "mcphub/e2e/clientmode/driver"); err != nil {
		t.Fatal(err)
	}
	var rows report
	t.Cleanup(func() { rows.print(t) })
	for suite, program := range suites {
		scenarios := list(t, lab, program)
		for name, versions := range scenarios {
			if strings.HasPrefix(name, loginScenarios) {
				rows.add(suite, name, "", "", "left out: the hub does not log in to servers yet")
				continue
			}
			for _, version := range versions {
				for _, driver := range driverVersions(version) {
					t.Run(suite+"/"+name+"/"+version+"/"+driver, func(t *testing.T) {
						t.Parallel()
						checks := run(t, lab, program, scenario{name, version, driver})
						rows.add(suite, name, version, driver, checks.String())
						if checks.failed > 0 || checks.succeeded == 0 {
							t.Errorf("%s\n%s", checks, strings.Join(checks.failures, "\n"))
						}
					})
				}
			}
		}
	}
}

var listed = regexp.MustCompile(`^  - (\S+) \[(.*)\]$`)

// list asks a suite for its client scenarios and the versions of each.
func list(t *testing.T, lab *e2e.Lab, program string) map[string][]string {
	t.Helper()
	scenarios := map[string][]string{}
	_, text, found := strings.Cut(lab.Node(t, program, "list"), "Client scenarios")
	for line := range strings.Lines(text) {
		if line == "\n" {
			break
		}
		if match := listed.FindStringSubmatch(strings.TrimSuffix(line, "\n")); match != nil {
			scenarios[match[1]] = strings.Split(match[2], ",")
		}
	}
	if !found || len(scenarios) == 0 {
		t.Fatalf("%s lists no client scenarios", program)
	}
	return scenarios
}

// scenario is one run: in which version the server is, and in which the driver.
type scenario struct{ name, version, driver string }

func run(t *testing.T, lab *e2e.Lab, program string, s scenario) checks {
	t.Helper()
	results := t.TempDir()
	command := strings.Join([]string{lab.Program("driver"), s.driver, lab.Program("mcphub")}, " ")
	args := []string{"client", "--scenario", s.name, "--output-dir", results, "--command", command}
	if s.version != extension {
		args = append(args, "--spec-version", s.version)
	}
	output := lab.TryNode(t, program, args...)
	found, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the suite left %d results\n%s", len(found), output)
	}
	checks, err := read(found[0])
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(output, "Client exited with code") || strings.Contains(output, "Client timed out") {
		checks.failed++
		checks.failures = append(checks.failures, "the driver's own part: "+output)
	}
	return checks
}

// checks counts the checks of one run by their status and keeps what failed.
type checks struct {
	succeeded, warned, failed int
	failures                  []string
}

// String is the result as the table shows it.
func (c checks) String() string {
	switch {
	case c.failed > 0:
		return fmt.Sprintf("FAIL %d of %d", c.failed, c.failed+c.succeeded)
	case c.warned > 0:
		return fmt.Sprintf("pass %d, %d warnings", c.succeeded, c.warned)
	default:
		return fmt.Sprintf("pass %d", c.succeeded)
	}
}

func read(path string) (c checks, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return c, fmt.Errorf("reading a scenario's checks: %w", err)
	}
	var all []struct{ ID, Status, Description, ErrorMessage string }
	if err := json.Unmarshal(text, &all); err != nil {
		return c, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, check := range all {
		switch check.Status {
		case "SUCCESS":
			c.succeeded++
		case "WARNING":
			c.warned++
		case "FAILURE":
			c.failed++
			c.failures = append(c.failures, check.ID+": "+cmp.Or(check.ErrorMessage, check.Description))
		}
	}
	return c, nil
}

// report collects the rows of the table from the runs that go on side by side.
type report struct {
	mu   sync.Mutex // guards what follows
	rows []string
	ran  int
}

func (r *report) add(suite, scenario, version, driver, result string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if version != "" {
		r.ran++
	}
	r.rows = append(r.rows, fmt.Sprintf("%s\t%s\t%s\t%s\t%s", suite, scenario, version, driver, result))
}

func (r *report) print(t *testing.T) {
	var text strings.Builder
	columns := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, "suite\tclient scenario\tversion\tclient\tthe hub as the server's client")
	slices.Sort(r.rows)
	for _, row := range r.rows {
		fmt.Fprintln(columns, row)
	}
	columns.Flush()
	t.Logf("%d runs\n%s", r.ran, text.String())
	if all := flag.Lookup("test.run").Value.String() == ""; all && r.ran < fewest {
		t.Errorf("only %d runs, want at least %d", r.ran, fewest)
	}
	if *table == "" {
		return
	}
	if err := os.WriteFile(filepath.Clean(*table), []byte(text.String()), 0o600); err != nil {
		t.Errorf("writing the table: %v", err)
	}
}
