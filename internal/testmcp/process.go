package testmcp

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"time"
)

// Variables that turn a test binary into a server.
const (
	envName = "MCPHUB_TESTMCP"
	envLog  = "MCPHUB_TESTMCP_LOG"
)

// lifetime ends a child process that its parent has lost.
const lifetime = 5 * time.Minute

// Main turns the process into the server that its environment names, on stdin
// and stdout, and then does not return. Call it first in TestMain.
func Main() {
	name, asked := os.LookupEnv(envName)
	if !asked {
		return
	}
	time.AfterFunc(lifetime, func() { os.Exit(9) })
	eng, err := newEngine(name, &Log{path: logPath()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	newProcess(eng, os.Stdout).run(os.Stdin)
	os.Exit(0)
}

func logPath() string {
	if path := os.Getenv(envLog); path != "" {
		return path
	}
	return os.DevNull
}

// Command returns what starts the named server as a child process: the running
// test binary itself, whose TestMain has to call [Main].
func Command(name string) (command string, args []string, env map[string]string) {
	self, err := os.Executable()
	if err != nil {
		panic("testmcp: finding the test binary: " + err.Error())
	}
	// Without its variable the child would run all tests, this one included. The
	// race detector would make every exit take a second.
	return self, []string{"-test.run=^$"}, map[string]string{envName: name, "GORACE": "atexit_sleep_ms=0"}
}

// LoggedCommand is [Command] with a log of what the children receive.
func LoggedCommand(t testing.TB, name string) (command string, args []string, env map[string]string, log *Log) {
	t.Helper()
	command, args, env = Command(name)
	log = FileLog(t)
	env[envLog] = log.path
	return command, args, env, log
}

// process is a server on a pair of byte streams.
type process struct {
	eng    *engine
	ses    *session
	out    chan line // to the one writer; a stuck reader must not stop the reader of stdin
	closed chan struct{}
	frame  frame
}

// outQueue is how many lines wait for a slow reader of stdout before requests wait too.
const outQueue = 1024

func newProcess(eng *engine, stdout io.Writer) *process {
	p := &process{eng: eng, out: make(chan line, outQueue), closed: make(chan struct{}), frame: frame{after: "\n"}}
	for _, s := range eng.steps {
		if s.frame != nil {
			p.frame = *s.frame
		}
	}
	p.ses = eng.anyone
	p.ses.push = p.send
	go p.write(stdout)
	return p
}

// line is what is written at once: a message and what stands around it.
type line struct {
	frame
	body []byte
}

func (p *process) write(stdout io.Writer) {
	defer close(p.closed)
	for l := range p.out {
		pieces := net.Buffers{[]byte(l.before), l.body, []byte(l.after)} // a large body is not copied
		if _, err := pieces.WriteTo(stdout); err != nil {
			return // nobody reads any more; stdin will close too
		}
	}
}

// send writes one message as a line.
func (p *process) send(raw []byte) { p.put(line{p.frame, raw}) }

// raw writes bytes that need not be a message.
func (p *process) raw(b []byte) { p.put(line{body: b}) }

func (p *process) put(l line) {
	select {
	case p.out <- l:
	case <-p.closed:
	}
}

// run serves until stdin ends.
func (p *process) run(stdin io.Reader) {
	p.eng.log.add(Event{Kind: EventStart})
	for _, s := range p.eng.steps {
		if s.start != nil {
			s.start(p)
		}
	}
	in := bufio.NewReader(stdin)
	for {
		line, err := in.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) > 0 {
			p.receive(line)
		}
		if err != nil {
			break
		}
	}
	p.eng.log.add(Event{Kind: EventEnd})
	p.eng.stop()
	p.eng.work.Wait()
	close(p.out)
	<-p.closed
}

func (p *process) receive(line []byte) {
	m, err := parse(line)
	if err != nil {
		p.send(errorTo(nil, codeParse, "Parse error", ""))
		return
	}
	method := m.Method
	if m.isResponse() {
		method = "response"
	}
	p.eng.log.add(Event{Kind: EventMessage, Method: method, Body: string(line)})
	x := &exchange{
		ctx: p.eng.ctx, eng: p.eng, ses: p.ses, msg: m, modern: p.eng.isModern(m),
		out: p.send, hits: p.eng.applying(m.Method), proc: p,
	}
	if !m.isRequest() {
		p.eng.notified(x.ses, m)
		x.observe()
		return
	}
	inline := slices.ContainsFunc(x.hits, func(s *step) bool { return s.inline })
	if inline || m.Method == methodInitialize { // what follows an initialize depends on it
		p.reply(x)
		return
	}
	ctx, done := p.ses.run(p.eng.ctx, string(m.ID))
	x.ctx = ctx
	p.eng.work.Go(func() {
		defer done()
		p.reply(x)
	})
}

func (p *process) reply(x *exchange) {
	for _, answer := range p.eng.serve(x) {
		p.send(answer)
	}
}

// observe lets misbehaviours see a notification.
func (x *exchange) observe() {
	for _, s := range x.hits {
		if s.take != nil {
			s.take(x)
		}
	}
}
