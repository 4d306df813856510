package upstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// stuckWriter is a writer into a pipe that nobody reads, and the pipe's other end.
func stuckWriter(t *testing.T, stall time.Duration) (w *lineWriter, r *os.File, broken chan error) {
	t.Helper()
	r, f, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	broken = make(chan error, 10)
	w = &lineWriter{f: f, slot: make(chan struct{}, 1), stall: stall, tasks: &tasks{}, broken: func(err error) *Error {
		broken <- err
		return fault(Lost, err, "the program closed its input")
	}}
	t.Cleanup(func() {
		f.Close()
		w.tasks.end()
		r.Close()
	})
	return w, r, broken
}

func in(d time.Duration) time.Time { return time.Now().Add(d) }

// A line that got through in part is finished once its reader goes on, before anything else is written.
func TestHalfALineIsFinished(t *testing.T) {
	t.Parallel()
	w, r, _ := stuckWriter(t, time.Minute)
	ctx := context.Background()
	long := append(bytes.Repeat([]byte("a"), 200_000), '\n')
	if e := w.write(ctx, nil, long, in(30*time.Millisecond)); e == nil || e.Kind != Timeout || e.NotSent {
		t.Fatalf("the long line: %+v", e)
	}
	late := make(chan struct{})
	time.AfterFunc(30*time.Millisecond, func() { close(late) })
	if e := w.write(ctx, late, []byte("second\n"), in(time.Minute)); e == nil || e.Kind != Timeout || !e.NotSent {
		t.Fatalf("a line behind it, by its deadline: %+v", e)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if e := w.write(gone, nil, []byte("third\n"), in(time.Minute)); e == nil || e.Kind != Cancelled || !e.NotSent {
		t.Fatalf("a line of a client that has left: %+v", e)
	}
	lines := bufio.NewReader(r)
	if got, err := lines.ReadBytes('\n'); err != nil || !bytes.Equal(got, long) {
		t.Fatalf("read %d bytes, %v", len(got), err)
	}
	if e := w.write(ctx, nil, []byte("fourth\n"), in(10*time.Second)); e != nil {
		t.Fatal(e)
	}
	if got, err := lines.ReadString('\n'); got != "fourth\n" || err != nil {
		t.Errorf("read %q, %v", got, err)
	}
}

// Where nothing of a line gets through, the pipe is whole and the next one may.
func TestFullPipeTakesNothing(t *testing.T) {
	t.Parallel()
	w, r, broken := stuckWriter(t, time.Minute)
	ctx := context.Background()
	line := strings.Repeat("b", 4095) + "\n" // all or nothing (pipe(7), PIPE_BUF)
	filled := 0
	for {
		e := w.write(ctx, nil, []byte(line), in(30*time.Millisecond))
		if e == nil {
			filled++
			continue
		}
		if e.Kind != Timeout || !e.NotSent {
			t.Fatalf("after %d lines: %+v", filled, e)
		}
		break
	}
	lines := bufio.NewReader(r)
	for range filled {
		if got, err := lines.ReadString('\n'); got != line || err != nil {
			t.Fatalf("read %d bytes, %v", len(got), err)
		}
	}
	if e := w.write(ctx, nil, []byte("c\n"), in(10*time.Second)); e != nil {
		t.Fatal(e)
	}
	if len(broken) > 0 {
		t.Errorf("the connection was broken: %v", <-broken)
	}
}

// Half a line that stays half for too long, and a closed pipe, break the connection.
func TestStallBreaks(t *testing.T) {
	t.Parallel()
	w, _, broken := stuckWriter(t, 50*time.Millisecond)
	long := append(bytes.Repeat([]byte("a"), 200_000), '\n')
	if e := w.write(context.Background(), nil, long, in(10*time.Millisecond)); e == nil {
		t.Fatal("it was written")
	}
	if err := <-broken; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("broken by %v", err)
	}
	w, r, broken := stuckWriter(t, time.Minute)
	r.Close()
	if e := w.write(context.Background(), nil, []byte("x\n"), in(time.Minute)); e == nil || e.Kind != Lost || !e.NotSent {
		t.Errorf("into a closed pipe: %+v", e)
	}
	<-broken
}
