package upstream_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"mcphub/config"
	"mcphub/upstream"
	"mcphub/wire"
)

// The benchmarks' servers are processes of their own, so that what is counted is the hub's side alone.

// quickAnswer answers a message of a session, nil where there is nothing to answer.
func quickAnswer(m wire.Message) []byte {
	switch {
	case !m.IsRequest():
		return nil
	case m.Method == wire.Initialize:
		return wire.AppendResult(nil, m.ID, []byte(`{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"quick","version":"1"}}`))
	case m.Method == wire.ToolsCall:
		return wire.AppendResult(nil, m.ID, []byte(`{"content":[{"type":"text","text":"`+strings.Repeat("x", 60)+`"}]}`))
	}
	e := wire.Error{Code: wire.CodeMethodNotFound, Message: "no"}
	return wire.AppendError(nil, m.ID, e.Raw())
}

// quickProgram is a stdio server that does as little as it can.
func quickProgram() {
	lines := wire.NewLineReader(os.Stdin, 1<<20)
	for {
		line, err := lines.Next()
		if err != nil {
			return
		}
		if m, err := wire.Scan(line); err == nil {
			if out := quickAnswer(m); out != nil {
				_, _ = os.Stdout.Write(append(out, '\n'))
			}
		}
	}
}

// quickWeb is the same over HTTP. It prints its address and ends with its stdin.
func quickWeb() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(listener.Addr())
	go func() {
		_ = http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body) // a broken body is no message
			m, err := wire.Scan(body)
			out := []byte(nil)
			if err == nil {
				out = quickAnswer(m)
			}
			if out == nil {
				w.WriteHeader(http.StatusAccepted)
				return
			}
			if m.Method == wire.Initialize {
				w.Header().Set("Mcp-Session-Id", "one")
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(out)
		}))
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// benchmarkCalls measures one small call after the other.
func benchmarkCalls(b *testing.B, s *upstream.Server) {
	call := toolCall("echo", `{"text":"`+strings.Repeat("y", 60)+`"}`)
	ctx := b.Context()
	if _, err := s.Call(ctx, call); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		again := *call
		if _, err := s.Call(ctx, &again); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCallStdio(b *testing.B) {
	cfg := entry(config.TypeStdio)
	cfg.Command, cfg.Env = os.Args[0], map[string]string{envRole: "quick program"}
	benchmarkCalls(b, start(b, cfg))
}

func BenchmarkCallHTTP(b *testing.B) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), envRole+"=quick web")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // how it ends is of no interest
	})
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	benchmarkCalls(b, start(b, webAt("http://"+strings.TrimSpace(addr)+"/mcp")))
}
