package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os/exec"

	"mcphub/wire"
)

// Step is one of the steps of getting a server to work, in their order.
type Step string

// The steps. A server that may not run fails at the first two, without being tried.
const (
	StepConfig    Step = "config"    // the entry is right
	StepTrust     Step = "trust"     // the file that it comes from is trusted
	StepProgram   Step = "program"   // the program and its directory are there
	StepStart     Step = "start"     // the program starts and stays
	StepNetwork   Step = "network"   // the URL's host is reached
	StepAuth      Step = "auth"      // the credentials are taken
	StepHandshake Step = "handshake" // the two agree on a protocol version
	StepList      Step = "list"      // the server says what it has
)

// Step is the step that a connection has failed at.
func (e *Error) Step() Step {
	var path *fs.PathError // of starting a program, or of writing to it
	var exit *exec.ExitError
	switch {
	case e.Kind == NeedsAuth:
		return StepAuth
	case errors.Is(e.Err, exec.ErrNotFound):
		return StepProgram
	case e.exited, errors.As(e.Err, &path), errors.As(e.Err, &exit):
		return StepStart
	case e.Status != 0, e.Err == nil, errors.Is(e.Err, errNoTime), errors.Is(e.Err, context.DeadlineExceeded), e.Kind == Garbled:
		return StepHandshake
	}
	return StepNetwork
}

// notThere is the error for a program, or its directory, that is missing.
func notThere(format string, args ...any) *Error {
	return &Error{Kind: Unavailable, Text: fmt.Sprintf(format, args...), Err: exec.ErrNotFound}
}

// Probe connects to a server where it is not connected, and asks it for a sign of life, which counts as no use of it. Any
// answer is one, also a refusal. A server that is busy with calls is not asked, since some answer one thing at a time.
func Probe(ctx context.Context, s *Server) error {
	conn, err := s.Connect(ctx)
	if err != nil || s.InFlight() > 0 {
		return err
	}
	call := &Call{Method: wire.Ping, own: true}
	if conn.Modern() { // that era has no ping
		call.Method, call.Params = wire.Discover, []byte(`{}`)
	}
	_, err = s.Call(ctx, call)
	if e := new(Error); errors.As(err, &e) && e.Kind == Refused && e.Status < http.StatusInternalServerError {
		return nil
	}
	return err
}

// Listed waits while the lists of a connected server are read. Whether they could be is told by its state and its offer.
func Listed(ctx context.Context, s *Server) error {
	read := make(chan struct{})
	select {
	case s.reads <- read:
	case <-s.ended:
		return shutDown()
	case <-ctx.Done():
		return stopped(ctx)
	}
	select {
	case <-read:
		return nil
	case <-s.ended:
		return shutDown()
	case <-ctx.Done():
		return stopped(ctx)
	}
}
