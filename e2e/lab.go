// Package e2e drives the built program from outside: real servers, real clients, real signals.
package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Lab is what all tests of a package share: the program under test and the npm kits, built and installed once.
type Lab struct {
	dir     string // where programs are built, removed by Close
	source  string // this folder
	hub     string // name of the program that is run as the hub
	servers string // node_modules of the kit with the example servers
	vendors string // node_modules of the kit with servers of many vendors
	clients string // node_modules of the kit with the clients and suites
	node    string // the Node 22 of the clients kit, or the machine's own
}

// Open builds the hub with the race detector in it and installs the npm kits that are not there yet, which takes
// a minute the first time.
func Open() (*Lab, error) {
	dir, err := os.MkdirTemp("", "mcphub-e2e-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the test's programs: %w", err)
	}
	lab := &Lab{dir: dir, hub: "mcphub"}
	err = errors.Join(lab.install(), lab.Build("mcphub", "mcphub/cmd/mcphub", "-race"))
	if err != nil {
		lab.Close()
		return nil, err
	}
	return lab, nil
}

// Close removes what Open built. The npm kits stay in the user's cache.
func (l *Lab) Close() { os.RemoveAll(l.dir) }

// Program is the path of a program that Build made, the hub's is Program("mcphub").
func (l *Lab) Program(name string) string { return filepath.Join(l.dir, name) }

// Build compiles one main package of this module or of its dependencies.
func (l *Lab) Build(name, pkg string, flags ...string) error {
	args := append([]string{"build", "-o", l.Program(name)}, flags...)
	if out, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// Lean is the lab with the hub as it is released, for what is said of its memory: the race detector takes a multiple of it.
func (l *Lab) Lean() (*Lab, error) {
	lean := *l
	lean.hub = "mcphub-lean"
	if _, err := os.Stat(lean.Program(lean.hub)); err == nil {
		return &lean, nil
	}
	return &lean, lean.Build(lean.hub, "mcphub/cmd/mcphub")
}

func (l *Lab) install() error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "mcphub").Output()
	if err != nil {
		return fmt.Errorf("finding the module's folder: %w", err)
	}
	l.source = filepath.Join(strings.TrimSpace(string(root)), "e2e")
	install := exec.Command(filepath.Join(l.source, "npm", "install"), "servers", "clients", "vendors")
	install.Stderr = os.Stderr
	out, err := install.Output()
	if err != nil {
		return fmt.Errorf("installing the npm kits: %w; see the lines above, npm has to be there", err)
	}
	kits := strings.Fields(string(out))
	l.servers = filepath.Join(kits[0], "node_modules")
	l.clients = filepath.Join(kits[1], "node_modules")
	l.vendors = filepath.Join(kits[2], "node_modules")
	l.node = "node"
	if own, _ := filepath.Glob(filepath.Join(l.clients, "node-*", "bin", "node")); len(own) > 0 {
		l.node = own[0]
	}
	return nil
}
