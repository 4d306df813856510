// Package conformance runs the official conformance suites against servers, directly and through the hub.
package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// suite is one run of a suite: the npm package that holds it and how it is asked for the scenarios of one revision.
type suite struct {
	name    string
	program string
	args    []string
}

const (
	stable = "conformance-0.1/dist/index.js"
	next   = "conformance-0.2/dist/index.js"
)

var suites = []suite{
	{"0.1/2025-06-18", stable, []string{"--suite", "all", "--spec-version", "2025-06-18"}},
	{"0.1/2025-11-25", stable, []string{"--suite", "all", "--spec-version", "2025-11-25"}},
	{"0.2/2025-06-18", next, []string{"--timeout", "10000", "--suite", "all", "--spec-version", "2025-06-18"}},
	{"0.2/2025-11-25", next, []string{"--timeout", "10000", "--requirements", "2025-11-25"}},
	{"0.2/2026-07-28", next, []string{"--timeout", "10000", "--requirements", "2026-07-28"}},
}

// outcome counts the checks of one scenario by their status and keeps what failed.
type outcome struct {
	succeeded, warned, failed int
	failures                  []string
}

// passed: something was proven and nothing was refuted.
func (o outcome) passed() bool { return o.failed == 0 && o.succeeded > 0 }

// String is the outcome as the table shows it, like "pass 3" or "FAIL 1 of 4".
func (o outcome) String() string {
	switch {
	case o.failed > 0:
		return fmt.Sprintf("FAIL %d of %d", o.failed, o.failed+o.succeeded)
	case o.succeeded > 0 && o.warned > 0:
		return fmt.Sprintf("pass %d, %d warnings", o.succeeded, o.warned)
	case o.succeeded > 0:
		return fmt.Sprintf("pass %d", o.succeeded)
	case o.warned > 0:
		return fmt.Sprintf("%d warnings", o.warned)
	default:
		return "nothing to check"
	}
}

// A suite leaves a folder for every scenario: server-NAME-TIME/checks.json.
var scenarioFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$`)

// readOutcomes reads what a suite left in dir, by the scenario's name.
func readOutcomes(dir string) (map[string]outcome, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the suite's results: %w", err)
	}
	outcomes := map[string]outcome{}
	for _, entry := range entries {
		name := scenarioFolder.FindStringSubmatch(entry.Name())
		if name == nil {
			continue
		}
		outcome, err := readChecks(filepath.Join(dir, entry.Name(), "checks.json"))
		if err != nil {
			return nil, err
		}
		outcomes[name[1]] = outcome
	}
	return outcomes, nil
}

func readChecks(path string) (o outcome, err error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return outcome{failed: 1, failures: []string{"the scenario broke off before it wrote its checks"}}, nil
	}
	if err != nil {
		return o, fmt.Errorf("reading a scenario's checks: %w", err)
	}
	var checks []struct {
		ID, Status, ErrorMessage string
	}
	if err := json.Unmarshal(text, &checks); err != nil {
		return o, fmt.Errorf("reading %s: %w", path, err)
	}
	for _, check := range checks {
		switch check.Status {
		case "SUCCESS":
			o.succeeded++
		case "WARNING":
			o.warned++
		case "FAILURE":
			o.failed++
			o.failures = append(o.failures, check.ID+": "+strings.TrimSpace(check.ErrorMessage))
		}
	}
	return o, nil
}
