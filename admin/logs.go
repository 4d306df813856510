package admin

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mcphub/upstream"
	"mcphub/wire"
)

// LogView is the end of a server's log.
type LogView struct {
	Server string   `json:"server"`
	Lines  []string `json:"lines"` // the oldest first, without the server's secrets
}

// LogLine is one line of a log that is followed.
type LogLine struct {
	Line string `json:"line"`
}

// Lines of a log that are shown where nobody says how many, and those at most.
const (
	logLines    = 100
	logLinesMax = 10_000
)

// getLogs answers with the last lines of what a server printed outside the protocol; with follow=true it goes on until the
// client leaves, as an event stream to those who accept one, else as one JSON object a line.
func getLogs(a *api, w http.ResponseWriter, r *http.Request) error {
	s, err := a.named(r)
	if err != nil {
		return err
	}
	n := logLines
	if text := r.URL.Query().Get("lines"); text != "" {
		if n, err = strconv.Atoi(text); err != nil || n < 0 || n > logLinesMax {
			return problem("bad_request", "lines must be a number from 0 to %d, and is %q", logLinesMax, text)
		}
	}
	switch follow := r.URL.Query().Get("follow"); follow {
	case "", "false":
		return writeJSON(w, LogView{s.Name(), append([]string{}, s.Logs(n)...)})
	case "true":
		a.follow(w, r, s, n)
		return nil
	default:
		return problem("bad_request", "follow must be true or false, and is %q", follow)
	}
}

const (
	followLook = time.Second      // between two looks whether the server is still there
	followBeat = 15 * time.Second // between signs of life on a quiet event stream
)

// follow sends the last n lines of a log, and then those that come. A server that a reload puts in its place is followed
// on; where the server is gone, the stream ends.
func (a *api) follow(w http.ResponseWriter, r *http.Request, s *upstream.Server, n int) {
	out := newLogStream(w, r)
	lines, seq, more := s.LogsAfter(0)
	lines = lines[max(0, len(lines)-n):]
	look := time.NewTicker(followLook)
	defer look.Stop()
	for beat := time.Now(); ; {
		for _, line := range lines {
			if out.line(line) != nil {
				return
			}
			beat = time.Now()
		}
		select {
		case <-more:
		case <-r.Context().Done():
			return
		case <-a.Done:
			return
		case <-look.C:
			now := a.Hub.Server(s.Name())
			if now == nil || time.Since(beat) > followBeat && out.alive() != nil {
				return
			}
			if now != s {
				s, seq = now, 0
			}
		}
		lines, seq, more = s.LogsAfter(seq)
	}
}

// logStream writes the lines of a log, each at once.
type logStream struct {
	wire.EventWriter
	events bool
}

func newLogStream(w http.ResponseWriter, r *http.Request) *logStream {
	rc := http.NewResponseController(w)
	out := &logStream{EventWriter: wire.EventWriter{W: w, Flush: rc.Flush, SetDeadline: rc.SetWriteDeadline}}
	out.events = strings.Contains(r.Header.Get("Accept"), "text/event-stream")
	w.Header().Set("Content-Type", "application/x-ndjson")
	if out.events {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	w.Header().Set("Cache-Control", "no-cache, no-transform")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_ = rc.Flush() // the client is gone where this fails
	return out
}

func (o *logStream) line(text string) error {
	data, err := json.Marshal(LogLine{text})
	if err != nil {
		return err
	}
	if o.events {
		return o.Event("", "log", data)
	}
	_ = o.SetDeadline(time.Now().Add(10 * time.Second)) // of a connection that has none, writing says so
	if _, err := o.W.Write(append(data, '\n')); err != nil {
		return err
	}
	return o.Flush()
}

// alive sends a comment where the format has any.
func (o *logStream) alive() error {
	if o.events {
		return o.Comment("beat")
	}
	return nil
}
