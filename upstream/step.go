package upstream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
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
	switch {
	case e.Kind == NeedsAuth:
		return StepAuth
	case errors.Is(e.Err, exec.ErrNotFound):
		return StepProgram
	case e.exited, errors.As(e.Err, &path):
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
