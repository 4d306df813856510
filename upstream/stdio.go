package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"mcphub/config"
	"mcphub/wire"
)

// stdioLink speaks newline-delimited JSON-RPC with a child.
type stdioLink struct {
	conn  *Conn
	child *child
	out   lineWriter
	noise atomic.Int64 // lines on stdout that were no messages
	read  chan struct{}
}

// dialStdio starts the program of cfg; nothing is sent yet.
func dialStdio(cfg *config.Server, opt *Options, log *ring, unclaimed func(wire.Message)) (*Conn, error) {
	c, err := startChild(cfg, log, opt.Reaper)
	if err != nil {
		return nil, err
	}
	conn := newConn(unclaimed)
	l := &stdioLink{conn: conn, child: c, read: make(chan struct{})}
	l.out = lineWriter{f: c.stdin, slot: make(chan struct{}, 1), fail: conn.fail}
	conn.link = l
	go l.readAll(opt.MaxMessage)
	return conn, nil
}

func (l *stdioLink) roundTrip(ctx context.Context, x *exchange) (wire.Message, error) {
	if err := l.out.write(ctx, append(x.body, '\n'), x.deadline()); err != nil {
		return wire.Message{}, err
	}
	return l.conn.awaitAnswer(ctx, x)
}

func (l *stdioLink) post(ctx context.Context, msg []byte) error {
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(replyTimeout)
	}
	return l.out.write(ctx, slices.Concat(wire.OneLine(msg), []byte{'\n'}), deadline)
}

func (l *stdioLink) close() {
	l.child.end()
	<-l.read
}

// readAll takes the child's messages until its stdout ends.
func (l *stdioLink) readAll(maxMessage int) {
	defer close(l.read)
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
	line = wire.TrimBOM(line)
	if msgs, ok := wire.Batch(line); ok {
		for _, msg := range msgs {
			l.take(msg)
		}
		return
	}
	m, err := wire.Scan(line)
	if err != nil {
		l.noise.Add(1)
		l.child.log.add(append([]byte("stdout: "), line...))
		return
	}
	l.conn.dispatch(m)
}

// tooLong fails the one call that an overlong line answers, where its id can be made out at either
// end of the line; the others go on.
func (l *stdioLink) tooLong(long *wire.LongLine, limit int) {
	text := fmt.Sprintf("a message of %d bytes is over limits.maxMessageBytes (%d): raise it, or ask for less", long.Bytes, limit)
	l.child.log.add([]byte("mcphub: " + text))
	for _, end := range [][]byte{long.Tail, long.Head} {
		if x := l.conn.find(looseID(end)); x != nil {
			e := &wire.Error{Code: wire.CodeInternal, Message: text}
			x.deliver(wire.Message{ID: x.rawID, Error: e.Raw()})
			return
		}
	}
}

// looseID finds what follows the last "id": in a piece of a message.
func looseID(piece []byte) []byte {
	i := bytes.LastIndex(piece, []byte(`"id":`))
	if i < 0 {
		return nil
	}
	rest := bytes.TrimLeft(piece[i+len(`"id":`):], ` "`)
	end := bytes.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		return nil
	}
	return rest[:end]
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
