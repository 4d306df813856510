package upstream

import (
	"context"
	"errors"
	"os"
	"time"
)

// lineWriter writes messages to a child that may have stopped reading.
type lineWriter struct {
	f      *os.File
	slot   chan struct{} // holds one token; who has it may write
	stall  time.Duration // how long a child may take to read the rest of a line that it has read in part
	tasks  *tasks
	broken func(error) *Error // breaks the connection and says why
}

// writeStall is the stall of a child. It is long: a program that does one thing at a time reads nothing
// while it works, and ending it would end its work.
const writeStall = time.Minute

const notReading = "no answer in time: the server does not read its input"

// write sends one line, its end included. It returns when ctx ends, when late is closed or at the deadline,
// whichever is first. A line that got through in part is finished in the background, since half a line
// would spoil the next one.
func (w *lineWriter) write(ctx context.Context, late <-chan struct{}, line []byte, deadline time.Time) *Error {
	select {
	case w.slot <- struct{}{}:
	case <-late:
		return &Error{Kind: Timeout, Text: notReading, NotSent: true, Err: errNoTime}
	case <-ctx.Done():
		e := stopped(ctx)
		e.NotSent = true
		e.Text += ": the server does not read its input"
		return e
	}
	_ = w.f.SetWriteDeadline(deadline)
	n, err := w.f.Write(line)
	switch {
	case err == nil:
		<-w.slot
		return nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		<-w.slot
		e := *w.broken(err)
		e.NotSent = n == 0
		return &e
	case n == 0 || !w.tasks.Go(func() { w.finish(line[n:]) }):
		<-w.slot
	}
	return &Error{Kind: Timeout, Text: notReading, NotSent: n == 0, Err: err}
}

// finish writes the rest of a line, and breaks the connection where that stalls.
func (w *lineWriter) finish(rest []byte) {
	defer func() { <-w.slot }()
	_ = w.f.SetWriteDeadline(time.Now().Add(w.stall))
	if _, err := w.f.Write(rest); err != nil {
		w.broken(err)
	}
}
