package testmcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// tool is one tool of the well-behaved server.
type tool struct {
	name  string
	about string
	args  string // properties of its input schema
	hints string // annotations, "" for none
	run   func(x *exchange, args json.RawMessage) []byte
}

const readOnly = `{"readOnlyHint":true}`

var tools = []tool{
	{name: "echo", about: "Answers with its arguments, as text and as structuredContent, byte for byte.", args: `"text":{"type":"string"}`, hints: readOnly, run: runEcho},
	{name: "slow", about: "Waits ms milliseconds, then answers.", args: `"ms":{"type":"integer"}`, hints: readOnly, run: runSlow},
	{name: "progress", about: "Reports progress n times, ms milliseconds apart, then answers.", args: `"n":{"type":"integer"},"ms":{"type":"integer"}`, hints: readOnly, run: runProgress},
	{name: "counter", about: "Counts the calls of its session.", run: runCounter},
	{name: "env", about: "Lists the server's environment.", hints: readOnly, run: runEnv},
	{name: "whoami", about: "Says which process, session and client this is.", hints: readOnly, run: runWhoami},
	{name: "grow", about: "Adds a tool and says so.", args: `"name":{"type":"string"}`, run: runGrow},
	{name: "redescribe", about: "Changes the description of echo and says so.", args: `"text":{"type":"string"}`, run: runRedescribe},
	{name: "touch", about: "Says that a resource was updated.", args: `"uri":{"type":"string"}`, run: runTouch},
	{name: "append", about: "Appends one line to a file.", args: `"file":{"type":"string"}`, run: runAppend},
	{name: "big", about: "Answers with that many bytes of text.", args: `"bytes":{"type":"integer"}`, hints: readOnly, run: runBig},
	{name: "exit", about: "Ends the server's process.", args: `"code":{"type":"integer"}`, run: runExit},
	{name: "ask", about: "Asks the user, then answers with what came back.", args: `"message":{"type":"string"},"times":{"type":"integer"},"mode":{"enum":["form","url"]},"token":{}`, run: runAsk},
	{name: "both", about: "Asks the user two questions at once.", run: runBoth},
	{name: "withdraw", about: "Asks the user, and takes the question back.", run: runWithdraw},
	{name: "stubborn", about: "Asks the user once its call is cancelled.", run: runStubborn},
	{name: "tell", about: "Sends a notification that belongs to no call.", args: `"method":{"type":"string"},"params":{}`, run: runTell},
	{name: "sample", about: "Asks the client's model.", run: runSample},
	{name: "roots", about: "Asks for the client's roots.", run: runRoots},
	{name: "log", about: "Sends one log message.", args: `"level":{"type":"string"},"data":{}`, hints: readOnly, run: runLog},
	{name: "fail", about: "Answers with isError.", hints: readOnly, run: runFail},
}

// define writes a tool's entry of tools/list.
func (t tool) define() string {
	hints := ""
	if t.hints != "" {
		hints = `,"annotations":` + t.hints
	}
	return fmt.Sprintf(`{"name":%s,"description":%s,"inputSchema":{"type":"object","properties":{%s}}%s}`, quote(t.name), quote(t.about), t.args, hints)
}

func serveToolsList(x *exchange) ([]byte, *rpcError) {
	x.eng.mu.Lock()
	defer x.eng.mu.Unlock()
	items := make([]string, 0, len(tools)+len(x.eng.extra))
	for _, t := range tools {
		if t.name == "echo" && x.eng.describe != "" {
			t.about = x.eng.describe
		}
		items = append(items, t.define())
	}
	for _, name := range x.eng.extra {
		items = append(items, tool{name: name, about: "Was added while the server ran."}.define())
	}
	return []byte(`{"tools":[` + strings.Join(items, ",") + `]}`), nil
}

func serveToolsCall(x *exchange) ([]byte, *rpcError) {
	name := text(x.msg.member("name"))
	args := x.msg.member("arguments")
	for _, t := range tools {
		if t.name == name {
			return t.run(x, args), nil
		}
	}
	x.eng.mu.Lock()
	grown := slices.Contains(x.eng.extra, name)
	x.eng.mu.Unlock()
	if grown {
		return textResult(name), nil
	}
	return nil, &rpcError{code: codeInvalidParams, text: "Unknown tool: " + name}
}

func textResult(s string) []byte {
	return []byte(`{"content":[{"type":"text","text":` + quote(s) + `}]}`)
}

func errorResult(s string) []byte {
	return []byte(`{"content":[{"type":"text","text":` + quote(s) + `}],"isError":true}`)
}

// dataResult answers with raw JSON, as text and as structuredContent.
func dataResult(raw string) []byte {
	return []byte(`{"content":[{"type":"text","text":` + quote(raw) + `}],"structuredContent":` + raw + `}`)
}

// sleep waits; it is false when ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func millis(raw json.RawMessage, fallback int) time.Duration {
	return time.Duration(number(raw, fallback)) * time.Millisecond
}

func runEcho(_ *exchange, args json.RawMessage) []byte {
	return dataResult(orEmpty(string(args)))
}

func runSlow(x *exchange, args json.RawMessage) []byte {
	sleep(x.ctx, millis(member(args, "ms"), 100))
	return textResult("slept")
}

func runProgress(x *exchange, args json.RawMessage) []byte {
	n := number(member(args, "n"), 3)
	token := x.msg.meta("progressToken")
	for i := 1; i <= n && sleep(x.ctx, millis(member(args, "ms"), 1)); i++ {
		if token != nil {
			x.out(notification("notifications/progress", fmt.Sprintf(`{"progressToken":%s,"progress":%d,"total":%d,"message":"step %d"}`, token, i, n, i)))
		}
	}
	return textResult(fmt.Sprintf("reported %d times", n))
}

func runCounter(x *exchange, _ json.RawMessage) []byte {
	x.ses.mu.Lock()
	defer x.ses.mu.Unlock()
	x.ses.counter++
	return dataResult(fmt.Sprintf(`{"count":%d}`, x.ses.counter))
}

func runEnv(*exchange, json.RawMessage) []byte {
	env := os.Environ()
	slices.Sort(env)
	return textResult(strings.Join(env, "\n"))
}

func runWhoami(x *exchange, _ json.RawMessage) []byte {
	x.ses.mu.Lock()
	client, version := x.ses.client, x.ses.version
	x.ses.mu.Unlock()
	info, caps := member(client, "clientInfo"), member(client, "capabilities")
	if x.modern {
		info, caps, version = x.msg.meta(metaClientInfo), x.msg.meta(metaCapabilities), versionModern
	}
	return dataResult(fmt.Sprintf(`{"pid":%d,"session":%s,"version":%q,"clientInfo":%s,"capabilities":%s}`,
		os.Getpid(), quote(x.ses.id), version, orNull(info), orNull(caps)))
}

func orNull(raw json.RawMessage) json.RawMessage {
	if raw == nil {
		return json.RawMessage("null")
	}
	return raw
}

func runGrow(x *exchange, args json.RawMessage) []byte {
	e := x.eng
	e.mu.Lock()
	name := text(member(args, "name"))
	if name == "" {
		name = fmt.Sprintf("grown_%d", len(e.extra)+1)
	}
	e.extra = append(e.extra, name)
	e.mu.Unlock()
	e.toolsChanged()
	return textResult(name)
}

func runRedescribe(x *exchange, args json.RawMessage) []byte {
	x.eng.mu.Lock()
	x.eng.describe = text(member(args, "text"))
	x.eng.mu.Unlock()
	x.eng.toolsChanged()
	return textResult("changed")
}

func (e *engine) toolsChanged() {
	e.broadcast(methodListChanged, "", func(f filter) bool { return f.Tools })
}

func runTouch(x *exchange, args json.RawMessage) []byte {
	uri := text(member(args, "uri"))
	params := `{"uri":` + quote(uri) + `}`
	x.ses.mu.Lock()
	wanted := x.ses.subscribed[uri]
	x.ses.mu.Unlock()
	if wanted && x.ses.push != nil {
		x.ses.push(notification(methodUpdated, params))
	}
	x.eng.mu.Lock()
	subs := slices.Clone(x.eng.subs)
	x.eng.mu.Unlock()
	for _, sub := range subs {
		if slices.Contains(sub.filter.URIs, uri) {
			sub.send(notification(methodUpdated, string(splice(sub.meta(), []byte(params)))))
		}
	}
	return textResult("touched")
}

func runAppend(_ *exchange, args json.RawMessage) []byte {
	f, err := os.OpenFile(text(member(args, "file")), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return errorResult(err.Error())
	}
	_, err = f.WriteString("called\n")
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return errorResult(err.Error())
	}
	return textResult("appended")
}

func runBig(_ *exchange, args json.RawMessage) []byte {
	return textResult(filler(number(member(args, "bytes"), 1<<20)))
}

// filler is n bytes of text in lines of 64.
func filler(n int) string {
	const line = "the quick brown fox jumps over the lazy dog, again and again. \n"
	return strings.Repeat(line, n/len(line)+1)[:n]
}

func runExit(x *exchange, args json.RawMessage) []byte {
	if x.proc != nil {
		os.Exit(number(member(args, "code"), 1))
	}
	return errorResult("only a child process can exit")
}

func runFail(*exchange, json.RawMessage) []byte { return errorResult("this tool always fails") }
