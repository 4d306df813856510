package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"mcphub/internal/testmcp"
)

// startEager runs the hub with three servers that are up before the test goes on, and returns the process ids of all
// that runs under the hub: these servers, and what the hub runs for itself.
func startEager(t *testing.T) (*Hub, []int) {
	servers := Servers{
		"everything": Stdio(lab.Everything("stdio")),
		"filesystem": Stdio(lab.Filesystem(t.TempDir())),
		"memory":     Stdio(lab.Memory()),
	}
	for _, entry := range servers {
		entry["lifecycle"] = "eager"
		entry["startupTimeoutMs"] = Patience.Milliseconds()
	}
	hub := lab.StartHub(t, servers)
	curlPost(t, hub, "tools/list", map[string]any{}, &toolsResult{})
	var all []int
	Eventually(t, "three node processes run under the hub", func() bool {
		all = descendants(hub.Process.Pid)
		servers := slices.DeleteFunc(slices.Clone(all), func(pid int) bool { return commandOf(pid) != "node" })
		return len(servers) == 3
	})
	return hub, all
}

// SIGTERM ends the hub with exit code 0 and leaves no server, running or defunct, also ten times over.
func TestTerminateLeavesNoChild(t *testing.T) {
	for round := range 10 {
		hub, children := startEager(t)
		hub.Stop(t)
		for _, pid := range children {
			if commandOf(pid) == "node" {
				t.Fatalf("round %d: server %d outlived the hub", round, pid)
			}
		}
		awaitEnd(t, children)
	}
}

// A hub that is killed cannot tidy up: its children have to end on their own.
func TestKilledHubLeavesNoChild(t *testing.T) {
	hub, children := startEager(t)
	if err := hub.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	hub.Exit(t, Grace)
	awaitEnd(t, children)
}

// Nor does a server outlive a killed hub whatever it is there for: connected from the start, kept alive, called just now; nor do
// programs that it has started itself, and not by being rude.
func TestKilledHubLeavesNothing(t *testing.T) {
	servers := Servers{}
	logs := map[string]*testmcp.Log{}
	for name, how := range map[string][2]string{
		"eager":  {"well", "eager"},
		"kept":   {"well", "keep-alive"},
		"called": {"well", "lazy"},
		"parent": {"grandchildren", "eager"},
		"rude":   {"ignores-sigterm", "keep-alive"},
	} {
		command, args, env, log := testmcp.LoggedCommand(t, how[0])
		logs[name] = log
		servers[name] = map[string]any{
			"command": command, "args": args, "env": env, "lifecycle": how[1],
			"connectTimeoutMs": manyPatience.Milliseconds(), "startupTimeoutMs": manyPatience.Milliseconds(),
		}
	}
	// A wrapper, as npx is one: the server is a child of the hub's child.
	servers["wrapped"] = Stdio([]string{"sh", "-c", lab.Program(lab.hub) + " example-server; :"})
	servers["wrapped"]["lifecycle"], servers["wrapped"]["startupTimeoutMs"] = "eager", manyPatience.Milliseconds()
	hub := lab.StartHub(t, servers)
	listTools(t, hub)
	slow := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_called_slow","arguments":{"ms":600000}}}`
	left := make(chan error, 1)
	go func() {
		response, err := http.Post(hub.URL+"/mcp", "application/json", strings.NewReader(slow))
		if err == nil {
			err = response.Body.Close()
		}
		left <- err
	}()
	logs["called"].WaitMessages(t, "tools/call", 1)
	children := descendants(hub.Process.Pid)
	// The reaper, five servers, the two that one of them has started, and the wrapper with its server.
	if len(children) != 1+5+2+2 {
		t.Fatalf("%d processes run under the hub, want 10", len(children))
	}
	if err := hub.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	hub.Exit(t, Grace)
	<-left
	awaitEnd(t, children)
}

// mcphub stdio ends with its client: when its standard input closes it stops its servers and exits with code 0.
func TestStdioEndsWithItsClient(t *testing.T) {
	config := WriteConfig(t, t.TempDir(), Servers{"memory": Stdio(lab.Memory())})
	line := lab.StdioHub(t, config)
	command := exec.Command(line[0], line[1:]...)
	session := openSession(t, &mcp.CommandTransport{Command: command, TerminateDuration: Patience}, "2025-11-25")
	var children []int
	Eventually(t, "the server runs", func() bool {
		children = descendants(command.Process.Pid)
		return slices.ContainsFunc(children, func(pid int) bool { return commandOf(pid) == "node" })
	})
	if err := session.Close(); err != nil {
		t.Errorf("closing the session: %v", err)
	}
	if code := command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("mcphub stdio ended with exit code %d, want 0", code)
	}
	awaitEnd(t, children)
}

func awaitEnd(t *testing.T, pids []int) {
	t.Helper()
	Eventually(t, fmt.Sprintf("all of %v ended", pids), func() bool { return !slices.ContainsFunc(pids, running) })
}

// descendants are the processes that pid started, and those that these started.
func descendants(pid int) []int {
	parents := map[int]int{}
	entries, _ := filepath.Glob("/proc/[0-9]*")
	for _, entry := range entries {
		child, _ := strconv.Atoi(filepath.Base(entry))
		if fields := statOf(child); len(fields) > 1 {
			parents[child], _ = strconv.Atoi(fields[1])
		}
	}
	var all []int
	for child := range parents {
		for up := child; up != 0; up = parents[up] {
			if parents[up] == pid {
				all = append(all, child)
				break
			}
		}
	}
	return all
}

// commandOf is the name of a process's program, a defunct one's too, or "" where there is no such process.
func commandOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSpace(string(text))
}

// running tells whether the process is there and not merely waiting for its new parent to collect its exit code.
func running(pid int) bool {
	fields := statOf(pid)
	return len(fields) > 0 && fields[0] != "Z"
}

// statOf is the fields of /proc/PID/stat after the command's name: state, parent and so on.
func statOf(pid int) []string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, after, _ := strings.Cut(string(text), ") ")
	return strings.Fields(after)
}

// B055: clients with open streams and a call under way keep the hub for no longer than its grace: it ends with exit code 0
// and leaves no server.
func TestB055(t *testing.T) {
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	hub := lab.StartHub(t, Servers{"up": {"command": command, "args": args, "env": env}})
	for range 5 {
		visitGo(t, hub) // which opens its session's stream
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_up_slow","arguments":{"ms":600000}}}`
	answered := make(chan error, 1)
	go func() {
		response, err := http.Post(hub.URL+"/mcp", "application/json", strings.NewReader(call))
		if err == nil {
			err = response.Body.Close()
		}
		answered <- err
	}()
	log.WaitMessages(t, "tools/call", 1)
	children := descendants(hub.Process.Pid)
	hub.Stop(t)
	awaitEnd(t, children)
	<-answered
}
