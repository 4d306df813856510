package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"slices"
)

// LongLine is the error for a line over the limit. The line was read over and the reader can go
// on; Head and Tail are its ends, in which an id may stand.
type LongLine struct {
	Bytes      int
	Head, Tail []byte
}

func (e *LongLine) Error() string { return ErrTooLong.Error() }

// Is makes errors.Is(err, ErrTooLong) hold.
func (e *LongLine) Is(target error) bool { return target == ErrTooLong }

// endsKept is how much of each end of an overlong line is kept.
const endsKept = 512

// LineReader reads the newline-delimited messages of the stdio transport.
type LineReader struct {
	r   *bufio.Reader
	max int
}

// NewLineReader reads lines of at most max bytes.
func NewLineReader(r io.Reader, max int) *LineReader {
	return &LineReader{r: bufio.NewReaderSize(r, 32<<10), max: max}
}

// Next returns the next line that is not empty, freshly allocated and without the space around it.
// A line over the limit is a *[LongLine]; a last line without an end counts as one.
func (l *LineReader) Next() ([]byte, error) {
	for {
		line, err := l.read()
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *LineReader) read() ([]byte, error) {
	var line []byte
	for {
		chunk, err := l.r.ReadSlice('\n')
		if len(line)+len(chunk) > l.max+1 {
			return nil, l.skip(append(line, chunk...), err)
		}
		if line == nil && err == nil {
			return bytes.Clone(chunk), nil
		}
		if len(line)+len(chunk) > cap(line) {
			line = slices.Grow(line, len(line)+2*len(chunk)) // doubling: append grows by a quarter only
		}
		line = append(line, chunk...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// skip reads to the end of a line that is too long, keeping its ends only.
func (l *LineReader) skip(line []byte, err error) error {
	long := &LongLine{Bytes: len(line), Head: bytes.Clone(line[:min(endsKept, len(line))])}
	tail := bytes.Clone(line[max(0, len(line)-endsKept):])
	for errors.Is(err, bufio.ErrBufferFull) {
		var chunk []byte
		chunk, err = l.r.ReadSlice('\n')
		long.Bytes += len(chunk)
		tail = append(tail, chunk...)
		tail = append(tail[:0], tail[max(0, len(tail)-endsKept):]...)
	}
	long.Tail = tail
	if err != nil {
		return err
	}
	return long
}
