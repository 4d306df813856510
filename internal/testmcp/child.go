package testmcp

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// childFaults are ways of child processes to be rude.
var childFaults = []Misbehaviour{
	{Name: "mute-discover", Over: "stdio", Doc: "An old server: logs 10 KB to stderr at a method it does not know, and never answers it.", build: with(hooks{take: muteUnknown, inline: true})},
	{Name: "dead-after-discover", Over: "stdio", Doc: "An old server that answers nothing more after a method it does not know; a fresh process is needed.", build: buildDeadAfterUnknown},
	{Name: "exits-on-discover", Over: "stdio", At: methodDiscover, Doc: "An old server that exits at server/discover.", build: with(hooks{take: exits(1)})},
	{Name: "exits-at-start", Over: "stdio", Doc: "Prints three lines on stderr and exits with code 3.", build: with(hooks{start: exitAtStart})},
	{Name: "exits-mid-call", Over: "stdio", At: methodToolsCall, Doc: "Runs the tool, then exits with code 1 without an answer.", build: rewrites(exitAfter)},
	{Name: "floods-stderr", Over: "stdio", At: anyMethod, Doc: "Writes 256 KiB to stderr before each answer.", build: with(hooks{take: floodStderr})},
	{Name: "floods-stdout", Over: "stdio", Doc: "Writes 2,000 lines a second of noise on stdout until it is closed.", build: with(hooks{start: floodStdout})},
	{Name: "noise", Over: "stdio", Doc: "Prints a banner, then JSON that is no JSON-RPC, a byte order mark and empty lines before each answer.", build: with(hooks{start: banner, take: noise})},
	{Name: "stops-reading", Over: "stdio", At: methodToolsCall, Doc: "Stops reading stdin, and answering, at the first call.", build: with(hooks{take: stopReading, inline: true})},
	{Name: "ignores-sigterm", Over: "stdio", Doc: "Ignores SIGTERM and the end of stdin.", build: with(hooks{start: ignoreTerm})},
	{Name: "ignores-eof", Over: "stdio", Doc: "Ignores the end of stdin, ends at SIGTERM.", build: with(hooks{start: ignoreEOF})},
	{Name: "grandchildren", Over: "stdio", Doc: "Starts two sleeping processes that hold its stdout.", build: with(hooks{start: grandchildren})},
	{Name: "exits-grandchild-holds-stdout", Over: "stdio", At: methodToolsCall, Doc: "Exits at a call while a grandchild holds its stdout.", build: with(hooks{start: grandchildren, take: exits(1)})},
	{Name: "closes-stdout", Over: "stdio", At: methodToolsCall, Doc: "Closes stdout at a call and lives on.", build: takes(closeStdout)},
	{Name: "crlf", Over: "stdio", Doc: "Ends its lines with CR LF.", build: with(hooks{frame: &frame{after: "\r\n"}})},
	{Name: "trailing-space", Over: "stdio", Doc: "Puts blanks before and after each message.", build: with(hooks{frame: &frame{before: " \t", after: "  \n"}})},
}

func complain(bytes int) {
	line := strings.Repeat("validation failed; ", 3) + "\n"
	fmt.Fprint(os.Stderr, strings.Repeat(line, bytes/len(line)+1)) //nolint:errcheck // a closed stderr is the reader's choice
}

func muteUnknown(x *exchange) ([][]byte, bool) {
	m, known := methods[x.msg.Method]
	if !x.msg.isRequest() || known && m.era != modernEra {
		return nil, false
	}
	complain(10 << 10)
	return nil, true
}

func buildDeadAfterUnknown(string) hooks {
	dead := false // only the reader of stdin looks, one request after another
	return hooks{inline: true, take: func(x *exchange) ([][]byte, bool) {
		if !dead {
			_, dead = muteUnknown(x)
		}
		return nil, dead
	}}
}

func exits(code int) func(*exchange) ([][]byte, bool) {
	return func(*exchange) ([][]byte, bool) {
		os.Exit(code)
		return nil, true
	}
}

func exitAtStart(*process) {
	fmt.Fprint(os.Stderr, "reading the configuration\nno API key is set\ngiving up\n") //nolint:errcheck // nobody may be listening
	os.Exit(3)
}

func exitAfter(*exchange, [][]byte) [][]byte {
	os.Exit(1)
	return nil
}

func floodStderr(*exchange) ([][]byte, bool) {
	complain(256 << 10)
	return nil, false
}

// floodStdout is bounded to 2,000 lines a second, so that it is the client that
// is tested and not the machine.
func floodStdout(p *process) {
	lines := []byte(strings.Repeat("DEBUG: something happened that is of no interest to you\n", 20))
	p.eng.work.Go(func() {
		for sleep(p.eng.ctx, 10*time.Millisecond) {
			p.raw(lines)
		}
	})
}

func banner(p *process) { p.raw([]byte("Server v1 ready\n\n")) }

func noise(x *exchange) ([][]byte, bool) {
	x.proc.raw([]byte("{\"level\":\"info\",\"msg\":\"a request\"}\n\ufeff\n\n[1,2]\n\"text\"\nnull\n   \n"))
	return nil, false
}

// stopReading keeps the reader of stdin; Main's lifetime ends it.
func stopReading(*exchange) ([][]byte, bool) { select {} }

func ignoreTerm(p *process) {
	signal.Ignore(syscall.SIGTERM)
	ignoreEOF(p)
}

// ignoreEOF keeps the process after its stdin ended; Main's lifetime ends it.
func ignoreEOF(p *process) {
	p.eng.work.Go(func() { select {} })
}

func grandchildren(p *process) {
	for range 2 {
		sleeper := exec.Command("sleep", "300")
		sleeper.Stdout = os.Stdout
		if err := sleeper.Start(); err != nil {
			panic("testmcp: starting a grandchild: " + err.Error())
		}
		p.eng.log.add(Event{Kind: EventGrandchild, PID: sleeper.Process.Pid})
	}
}

func closeStdout(*exchange) [][]byte {
	os.Stdout.Close() //nolint:errcheck // closing is all that is wanted
	return nil
}
