package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"
)

// ErrTooLong is the error for a message longer than the limit it is read under.
var ErrTooLong = errors.New("message is longer than limits.maxMessageBytes")

// Event is one server-sent event (HTML Living Standard, section 9.2).
type Event struct {
	ID    string        // the stream's last event id, also when this event set none
	Type  string        // "" means "message"
	Data  []byte        // the data lines joined by line breaks; freshly allocated
	Retry time.Duration // reconnection time the server asks for; 0 when it sent none
}

// EventReader reads server-sent events. It takes lines ended by LF, CR LF or CR, skips comments
// and unknown fields, and holds no event longer than its limit.
type EventReader struct {
	r      *bufio.Reader
	small  *bufio.Reader // what r began as
	large  *bufio.Reader // what r became when a line outgrew it; nil before
	max    int
	lastID string
	sawCR  bool // the last line ended in CR, so an LF that follows belongs to it
}

// Most streams carry small events, and many are idle, so a stream begins with a small buffer and takes
// a large one with its first long line.
var (
	smallBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 4<<10) }}
	largeBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}
)

// NewEventReader reads events of at most max bytes of data from r. Close gives its buffers back.
func NewEventReader(r io.Reader, max int) *EventReader {
	br := smallBuffers.Get().(*bufio.Reader)
	br.Reset(r)
	return &EventReader{r: br, small: br, max: max}
}

// Close gives the reader's buffers back; the reader must not be used after it.
func (e *EventReader) Close() {
	if e.small == nil {
		return
	}
	e.small.Reset(nil)
	smallBuffers.Put(e.small)
	if e.large != nil {
		e.large.Reset(nil)
		largeBuffers.Put(e.large)
	}
	e.r, e.small, e.large = nil, nil, nil
}

// grow takes a large buffer, which reads past the small one once that is empty.
func (e *EventReader) grow() {
	if e.large == nil {
		e.large = largeBuffers.Get().(*bufio.Reader)
		e.large.Reset(e.r)
		e.r = e.large
	}
}

// LastID is the id to resume the stream from, "" where the server sent none.
func (e *EventReader) LastID() string { return e.lastID }

// Next reads up to the end of the next event that carries data, an id or a retry time. At the end
// of the stream an unfinished event is dropped and io.EOF returned.
func (e *EventReader) Next() (Event, error) {
	var ev Event
	seen, data := false, false
	for {
		line, fresh, err := e.line(len(ev.Data))
		if err != nil {
			return Event{}, err
		}
		if len(line) == 0 {
			if seen {
				ev.ID = e.lastID
				return ev, nil
			}
			continue
		}
		field, value := cutField(line)
		switch string(field) {
		case "data":
			switch {
			case data:
				ev.Data = append(append(ev.Data, '\n'), value...)
			case fresh:
				ev.Data = value
			default:
				ev.Data = append(make([]byte, 0, len(value)), value...)
			}
			data, seen = true, true
		case "event":
			ev.Type = string(value)
		case "id":
			if bytes.IndexByte(value, 0) < 0 {
				e.lastID, seen = string(value), true
			}
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil && ms >= 0 {
				ev.Retry, seen = time.Duration(ms)*time.Millisecond, true
			}
		}
	}
}

// cutField splits "field: value"; a comment has an empty field.
func cutField(line []byte) (field, value []byte) {
	i := bytes.IndexByte(line, ':')
	if i < 0 {
		return line, nil
	}
	return line[:i], bytes.TrimPrefix(line[i+1:], []byte(" "))
}

// line reads one line without its end. The bytes are valid until the next call, or for good where fresh is set.
func (e *EventReader) line(held int) (line []byte, fresh bool, err error) {
	var long []byte
	for {
		chunk, err := e.r.ReadSlice('\n')
		if e.sawCR && len(chunk) > 0 {
			e.sawCR = false
			if chunk[0] == '\n' {
				chunk = chunk[1:]
				if len(chunk) == 0 && err == nil {
					continue
				}
			}
		}
		if i := bytes.IndexByte(chunk, '\r'); i >= 0 {
			return e.lineToCR(long, chunk, i), false, nil
		}
		if held+len(long)+len(chunk) > e.max+1 {
			return nil, false, ErrTooLong
		}
		switch {
		case err == nil && long == nil:
			return chunk[:len(chunk)-1], false, nil
		case err == nil:
			return append(long, chunk[:len(chunk)-1]...), true, nil
		case err == bufio.ErrBufferFull:
			if len(long)+len(chunk) > cap(long) {
				long = slices.Grow(long, len(long)+16*len(chunk)) // doubling: append grows by a quarter only
			}
			long = append(long, chunk...)
			e.grow()
		default:
			return nil, false, err
		}
	}
}

// lineToCR ends a line at the CR chunk[i] and gives what was read behind it back to the reader.
func (e *EventReader) lineToCR(long, chunk []byte, i int) []byte {
	line := append(long, chunk[:i]...)
	rest := chunk[i+1:]
	if len(rest) == 1 && rest[0] == '\n' {
		return line
	}
	if len(rest) == 0 {
		e.sawCR = true
		return line
	}
	e.r = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(bytes.Clone(rest)), e.r), 4<<10)
	return line
}

// AppendEvent writes one event; id and event may be empty. The data must be a message without
// line breaks, see [OneLine].
func AppendEvent(dst []byte, id, event string, data []byte) []byte {
	if id != "" {
		dst = append(append(append(dst, "id: "...), id...), '\n')
	}
	if event != "" {
		dst = append(append(append(dst, "event: "...), event...), '\n')
	}
	dst = append(append(dst, "data: "...), data...)
	return append(dst, "\n\n"...)
}

// EventWriter writes events to one client under a deadline per write, so that a client that has
// stopped reading costs its own stream and nobody else's.
type EventWriter struct {
	W           io.Writer
	Flush       func() error          // nil: W needs none
	SetDeadline func(time.Time) error // nil: W has no deadlines
	Timeout     time.Duration         // how long one write may take; 0 means 10 s
}

// Event writes one event and flushes it.
func (w *EventWriter) Event(id, event string, data []byte) error {
	return w.write(AppendEvent(make([]byte, 0, len(data)+len(id)+len(event)+32), id, event, OneLine(data)))
}

// Comment writes a comment line: the heartbeat that keeps proxies and clients from closing a quiet stream.
func (w *EventWriter) Comment(text string) error { return w.write([]byte(": " + text + "\n\n")) }

// Priming writes an event without data that gives the client an id to resume from and the
// time to wait before it does (MCP 2025-11-25, Transports, Sending Messages, point 6).
func (w *EventWriter) Priming(id string, retry time.Duration) error {
	text := "id: " + id + "\n"
	if retry > 0 {
		text += "retry: " + strconv.FormatInt(retry.Milliseconds(), 10) + "\n"
	}
	return w.write([]byte(text + "data: \n\n"))
}

func (w *EventWriter) write(b []byte) error {
	if w.SetDeadline != nil {
		timeout := w.Timeout
		if timeout == 0 {
			timeout = 10 * time.Second
		}
		if err := w.SetDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
	}
	if _, err := w.W.Write(b); err != nil {
		return err
	}
	if w.Flush == nil {
		return nil
	}
	return w.Flush()
}
