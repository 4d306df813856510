// Package e2e drives the built program from outside: real servers, real clients, real signals.
package e2e

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

//go:embed clients/*.mjs npm/loopback.mjs
var scripts embed.FS

// Lab is what all tests of a package share: the program under test and the npm kits, built and installed once.
type Lab struct {
	dir     string // removed by Close: the built programs and the scripts
	servers string // node_modules of the kit with the example servers
	clients string // node_modules of the kit with the clients and suites
	node    string // the Node 22 of the clients kit, or the machine's own
}

// Open builds the hub with the race detector in it and installs the npm kits that are not there yet, which takes
// half a minute the first time.
func Open() (*Lab, error) {
	dir, err := os.MkdirTemp("", "mcphub-e2e-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the test's programs: %w", err)
	}
	lab := &Lab{dir: dir}
	err = errors.Join(lab.unpack(), lab.install(), lab.Build("mcphub", "mcphub/cmd/mcphub", "-race"))
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

// unpack writes the embedded scripts out, so that they are found wherever a test runs.
func (l *Lab) unpack() error {
	return fs.WalkDir(scripts, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := scripts.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(l.dir, entry.Name()), text, 0o600)
	})
}

func (l *Lab) install() error {
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "mcphub").Output()
	if err != nil {
		return fmt.Errorf("finding the module's folder: %w", err)
	}
	install := exec.Command(filepath.Join(strings.TrimSpace(string(root)), "e2e", "npm", "install"), "servers", "clients")
	install.Stderr = os.Stderr
	out, err := install.Output()
	if err != nil {
		return fmt.Errorf("installing the npm kits: %w; see the lines above, npm has to be there", err)
	}
	kits := strings.Fields(string(out))
	l.servers = filepath.Join(kits[0], "node_modules")
	l.clients = filepath.Join(kits[1], "node_modules")
	l.node = "node"
	arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
	if own := filepath.Join(l.clients, "node-linux-"+arch, "bin", "node"); exists(own) {
		l.node = own
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
