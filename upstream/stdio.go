package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"mcphub/wire"
)

// stdioLink speaks newline-delimited JSON-RPC with a child.
type stdioLink struct {
	conn  *Conn
	child *child
	out   lineWriter
	noise atomic.Int64 // lines on stdout that were no messages
}

// dialStdio starts the program of cfg in a place that was taken for it; nothing is sent yet.
func dialStdio(d *dialer, at *place, unclaimed func(*Conn, wire.Message)) (*Conn, error) {
	opt := d.opt
	c, err := startChild(d.cfg, d.log, opt.Reaper, at)
	if err != nil {
		at.free()
		return nil, err
	}
	conn := newConn(unclaimed)
	l := &stdioLink{conn: conn, child: c}
	l.out = lineWriter{f: c.stdin, slot: make(chan struct{}, 1), stall: writeStall, tasks: &conn.tasks, broken: l.broken}
	conn.link = l
	conn.tasks.Go(func() { l.readAll(opt.maxMessage()) })
	return conn, nil
}

func (l *stdioLink) roundTrip(ctx context.Context, x *exchange) (wire.Message, error) {
	if err := l.out.write(ctx, x.late, append(x.body, '\n'), x.deadline()); err != nil {
		if !err.NotSent {
			x.cancelIfOver(ctx)
		}
		return wire.Message{}, err
	}
	m, err := x.await(ctx)
	if err != nil {
		x.cancelIfOver(ctx)
	}
	return m, err
}

func (l *stdioLink) post(ctx context.Context, msg []byte) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(replyTimeout)
	}
	if err := l.out.write(ctx, nil, slices.Concat(wire.OneLine(msg), []byte{'\n'}), deadline); err != nil {
		return err
	}
	return nil
}

// broken ends the connection to a child that takes no more input, and says why: mostly the child is ending.
func (l *stdioLink) broken(err error) *Error {
	if l.child.goneWithin(inputGrace) {
		l.conn.fail(l.child.reason())
	} else {
		l.conn.fail(fault(Lost, err, "the program closed its input"))
	}
	return l.conn.err
}

// inputGrace is how long a child that has closed its input may take to end.
const inputGrace = 2 * time.Second

func (l *stdioLink) close() { l.child.end() }

// readAll takes the child's messages until its stdout ends.
func (l *stdioLink) readAll(maxMessage int) {
	defer l.child.stdout.Close()
	lines := wire.NewLineReader(l.child.stdout, maxMessage)
	for {
		line, err := lines.Next()
		var long *wire.LongLine
		switch {
		case err == nil:
			l.take(line)
		case errors.As(err, &long):
			l.tooLong(long, maxMessage)
		default:
			l.ended()
			return
		}
	}
}

func (l *stdioLink) take(line []byte) {
	for _, text := range messages(wire.TrimBOM(line)) {
		m, err := wire.Scan(text)
		if err != nil {
			l.noise.Add(1)
			l.child.log.add(append([]byte("stdout: "), text...))
			continue
		}
		l.conn.dispatch(m)
	}
}

// tooLong fails the one call that an overlong line answers, where its id can be made out at either
// end of the line; the others go on.
func (l *stdioLink) tooLong(long *wire.LongLine, limit int) {
	l.child.log.add(fmt.Appendf(nil, "mcphub: skipped a message of %d bytes, over limits.maxMessageBytes (%d)", long.Bytes, limit))
	if x := l.conn.find(looseID(long.Head, long.Tail)); x != nil {
		x.fail(tooLarge(limit))
	}
}

// ended says why the stream ended: because the child did, or because it closed its stdout and so
// cannot be of use any more.
func (l *stdioLink) ended() {
	if l.child.goneWithin(endGrace) {
		l.conn.fail(l.child.reason())
		return
	}
	l.conn.fail(&Error{Kind: Lost, Text: "the program closed its output"})
}
