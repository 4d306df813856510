package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mcphub/internal/testmcp"
)

// A hundred reloads while 64 calls are in flight all the time: none is lost, and the server whose entry stays has its one process
// from first to last.
func TestReloadUnderLoad(t *testing.T) {
	const callers, reloads = 64, 100
	command, args, env, log := testmcp.LoggedCommand(t, "well")
	kept := map[string]any{"command": command, "args": args, "env": env, "startupTimeoutMs": manyPatience.Milliseconds()}
	example := Stdio([]string{lab.Program(lab.hub), "example-server"})
	hub := lab.StartHub(t, Servers{"kept": kept, "other": example})
	listTools(t, hub)
	before := statusOf(t, hub, "kept")

	done := make(chan struct{})
	calls := make([]int, callers)
	var calling, first sync.WaitGroup
	first.Add(callers)
	for i := range callers {
		calling.Go(func() {
			for n := 0; ; n++ {
				args := fmt.Sprintf(`{"text":"%d-%d"}`, i, n)
				if got, err := callKept(hub, args); err != nil || got != args {
					t.Errorf("a call was answered %q, error %v; want %q", got, err, args)
				}
				if calls[i]++; n == 0 {
					first.Done()
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	first.Wait()
	changed := 0
	for i := range reloads {
		// The name in the environment is what changes the entry.
		example["env"] = map[string]any{"ROUND": fmt.Sprint(i)}
		WriteConfig(t, filepath.Dir(hub.Config), Servers{"kept": kept, "other": example})
		var report struct{ Kept, Changed []string }
		post(t, hub.URL+"/api/reload", "", &report)
		if !strings.Contains(strings.Join(report.Kept, " "), "kept") {
			t.Errorf("reload %d kept %q and changed %q", i, report.Kept, report.Changed)
		}
		changed += len(report.Changed)
	}
	close(done)
	calling.Wait()

	made := 0
	for _, n := range calls {
		made += n
	}
	t.Logf("%d calls beside %d reloads, of which %d were the first to see the change", made, reloads, changed)
	if after := statusOf(t, hub, "kept"); after.PID != before.PID || after.PID == 0 {
		t.Errorf("the unchanged server runs as process %d, it was %d", after.PID, before.PID)
	}
	if n := len(log.Messages("initialize")); n != 1 {
		t.Errorf("the unchanged server was greeted %d times", n)
	}
	Eventually(t, "the server with the newest entry runs alone", func() bool {
		rounds := 0
		for _, pid := range programs(hub) {
			environ, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			if strings.Contains(string(environ), "ROUND=") && !strings.Contains(string(environ), fmt.Sprintf("ROUND=%d\x00", reloads-1)) {
				rounds++
			}
		}
		return rounds == 0
	})
}

// callKept calls the unchanged server, which answers with what it was given.
func callKept(hub *Hub, args string) (string, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"mcp_kept_echo","arguments":%s}}`, args)
	client := http.Client{Timeout: manyPatience}
	response, err := client.Post(hub.URL+"/mcp", "application/json", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var answer struct {
		Result callResult
		Error  json.RawMessage
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return "", fmt.Errorf("%s: %w", response.Status, err)
	}
	if answer.Error != nil {
		return "", fmt.Errorf("%s", answer.Error)
	}
	return answer.Result.text(), nil
}

// statusOf is what GET /api/servers says of a server.
func statusOf(t *testing.T, hub *Hub, name string) serverView {
	t.Helper()
	var all []serverView
	get(t, hub.URL+"/api/servers", &all)
	view, there := byName(all)[name]
	if !there {
		t.Fatalf("there is no server %s: %+v", name, all)
	}
	return view
}
