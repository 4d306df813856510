package testmcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mcphub/internal/testmcp"
)

func TestMain(m *testing.M) {
	testmcp.Main()
	os.Exit(m.Run())
}

// patience is how long a test waits for what has to come.
const patience = 15 * time.Second

// silence is how long a test listens for what must not come.
const silence = 150 * time.Millisecond

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{},"sampling":{},"roots":{}},"clientInfo":{"name":"raw","version":"1"}}}`
const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// call is a tools/call request with the id 7.
func call(tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
}

// modern puts the _meta of 2026-07-28 into a request.
func modern(request string) string {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
	if !strings.Contains(request, `"params":{`) {
		return strings.TrimSuffix(request, "}") + `,"params":{` + meta + `}}`
	}
	return strings.Replace(request, `"params":{`, `"params":{`+meta+`,`, 1)
}

// child is a raw client of a child process.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	log   *testmcp.Log
	done  chan struct{} // closed when the process has been waited for

	mu     sync.Mutex
	stderr bytes.Buffer
}

func (c *child) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.Write(b)
}

func (c *child) complaint() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.String()
}

// complained waits for that many bytes on stderr.
func (c *child) complained(bytes int) {
	c.t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience)
	for len(c.complaint()) < bytes {
		select {
		case <-look.C:
		case <-limit:
			c.t.Fatalf("stderr holds %d bytes after %v, want %d", len(c.complaint()), patience, bytes)
		}
	}
}

func start(t *testing.T, name string) *child {
	t.Helper()
	command, args, env, log := testmcp.LoggedCommand(t, name)
	c := &child{t: t, cmd: exec.Command(command, args...), lines: make(chan string, 4096), log: log, done: make(chan struct{})}
	for k, v := range env {
		c.cmd.Env = append(c.cmd.Env, k+"="+v)
	}
	c.cmd.Env = append(c.cmd.Env, "PATH="+os.Getenv("PATH"))
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.cmd.Stderr = c
	c.cmd.WaitDelay = time.Second // a grandchild may hold stderr
	stdin, err := c.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in = stdin
	// A pipe of our own: Wait must not close it before all was read.
	stdout, childEnd, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdout = childEnd
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	childEnd.Close()
	go c.read(stdout)
	go func() {
		c.cmd.Wait() //nolint:errcheck // the state is what tests look at
		close(c.done)
	}()
	t.Cleanup(func() {
		syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // it may be gone
		<-c.done
	})
	return c
}

func (c *child) read(stdout *os.File) {
	defer stdout.Close()
	defer close(c.lines)
	r := bufio.NewReaderSize(stdout, 1<<20)
	for {
		line, err := r.ReadString('\n')
		if line != "" {
			c.lines <- line
		}
		if err != nil {
			return
		}
	}
}

func (c *child) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("writing to the child: %v", err)
	}
}

// next is the next line of stdout with its end.
func (c *child) next() string {
	c.t.Helper()
	select {
	case line, open := <-c.lines:
		if !open {
			c.t.Fatalf("stdout ended; stderr: %s", c.complaint())
		}
		return line
	case <-time.After(patience):
		c.t.Fatalf("no line within %v; stderr: %s", patience, c.complaint())
	}
	return ""
}

// answer is the next line that answers id.
func (c *child) answer(id string) string {
	c.t.Helper()
	for {
		line := c.next()
		var m struct{ ID json.RawMessage }
		if json.Unmarshal([]byte(line), &m) == nil && string(m.ID) == id {
			return strings.TrimSpace(line)
		}
	}
}

func (c *child) quiet() {
	c.t.Helper()
	select {
	case line, open := <-c.lines:
		if open {
			c.t.Fatalf("the child said %q, want nothing", line)
		}
	case <-time.After(silence):
	}
}

// exited is the exit code of a child that ends by itself.
func (c *child) exited() int {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(patience):
		c.t.Fatalf("the child still lives after %v", patience)
	}
	return c.cmd.ProcessState.ExitCode()
}

func (c *child) alive() {
	c.t.Helper()
	select {
	case <-c.done:
		c.t.Fatalf("the child ended with %v, want it alive", c.cmd.ProcessState)
	case <-time.After(silence):
	}
}

func (c *child) handshake() {
	c.t.Helper()
	c.send(initialize)
	c.answer("1")
	c.send(initialized)
}

// answered is what came back from one HTTP request.
type answered struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// messages are the messages in the answer.
func (a answered) messages() []string {
	if !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		return []string{a.body}
	}
	var all []string
	for _, e := range strings.Split(a.body, "\n\n") {
		var data []string
		for _, line := range strings.Split(e, "\n") {
			if d, ok := strings.CutPrefix(line, "data: "); ok {
				data = append(data, d)
			}
		}
		if len(data) > 0 {
			all = append(all, strings.Join(data, "\n"))
		}
	}
	return all
}

func (a answered) last() string {
	all := a.messages()
	if len(all) == 0 {
		return ""
	}
	return all[len(all)-1]
}

// browser is a raw HTTP client of one server.
type browser struct {
	t       *testing.T
	url     string
	session string
	client  *http.Client
}

func browse(t *testing.T, s *testmcp.Server) *browser {
	transport := &http.Transport{DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{t: t, url: s.URL, client: &http.Client{
		Transport: transport, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (b *browser) request(method, body string, headers ...string) *http.Request {
	b.t.Helper()
	r, err := http.NewRequest(method, b.url, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if b.session != "" {
		r.Header.Set("Mcp-Session-Id", b.session)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

// try sends a request; the error is that of the exchange.
func (b *browser) try(method, body string, headers ...string) (answered, error) {
	b.t.Helper()
	r, err := b.client.Do(b.request(method, body, headers...))
	if err != nil {
		return answered{}, err
	}
	defer r.Body.Close()
	all, err := io.ReadAll(r.Body)
	return answered{status: r.StatusCode, header: r.Header, body: string(all), err: err}, nil
}

func (b *browser) do(method, body string, headers ...string) answered {
	b.t.Helper()
	a, err := b.try(method, body, headers...)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

func (b *browser) post(body string, headers ...string) answered {
	b.t.Helper()
	return b.do(http.MethodPost, body, headers...)
}

// postModern sends a request in the way of 2026-07-28.
func (b *browser) postModern(body, method, name string) answered {
	b.t.Helper()
	headers := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", method}
	if name != "" {
		headers = append(headers, "Mcp-Name", name)
	}
	return b.post(modern(body), headers...)
}

func (b *browser) handshake() {
	b.t.Helper()
	a := b.post(initialize)
	if a.status != http.StatusOK {
		b.t.Fatalf("initialize: status %d, %s", a.status, a.body)
	}
	b.session = a.header.Get("Mcp-Session-Id")
	b.post(initialized)
}

// events reads a stream that stays open, event by event.
type events struct {
	t    *testing.T
	body io.ReadCloser
	all  chan string
}

// listen opens a stream and returns it once its headers are there.
func (b *browser) listen(method, body string, headers ...string) *events {
	b.t.Helper()
	client := &http.Client{Transport: b.client.Transport} // without a limit on the body
	r, err := client.Do(b.request(method, body, headers...))
	if err != nil {
		b.t.Fatal(err)
	}
	e := &events{t: b.t, body: r.Body, all: make(chan string, 4096)}
	if r.StatusCode != http.StatusOK {
		b.t.Fatalf("opening a stream: status %d", r.StatusCode)
	}
	go func() {
		defer close(e.all)
		scan := bufio.NewScanner(r.Body)
		scan.Buffer(nil, 128<<20)
		for scan.Scan() {
			if d, ok := strings.CutPrefix(scan.Text(), "data: "); ok {
				e.all <- d
			}
		}
	}()
	b.t.Cleanup(func() { r.Body.Close() })
	return e
}

func (e *events) next() string {
	e.t.Helper()
	select {
	case data, open := <-e.all:
		if !open {
			e.t.Fatal("the stream ended")
		}
		return data
	case <-time.After(patience):
		e.t.Fatalf("no event within %v", patience)
	}
	return ""
}

func (e *events) ended() {
	e.t.Helper()
	for {
		select {
		case _, open := <-e.all:
			if !open {
				return
			}
		case <-time.After(patience):
			e.t.Fatalf("the stream is still open after %v", patience)
		}
	}
}

func has(t *testing.T, got string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(got, want) {
			t.Errorf("got %.400q, want it to hold %q", got, want)
		}
	}
}
