package upstream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind says what went wrong with a server, so that the hub can tell a client what to do.
type Kind int

// The kinds of trouble.
const (
	Unavailable Kind = iota // not connected, and connecting did not work
	Suspended               // not connected after too many failures: nothing was tried
	Lost                    // the connection went away after the request was sent: whether it ran is unknown
	Timeout                 // no answer in time
	Cancelled               // the client gave up
	NeedsAuth               // the server wants credentials that the hub does not have
	Refused                 // the server answered with an HTTP error
	Busy                    // the server asked to be left alone for RetryAfter (429, 503), or there is no room for its program
	TooLarge                // the answer is over limits.maxMessageBytes
	Garbled                 // the answer is not what the protocol says
	Removed                 // the server is no longer configured, or its configuration keeps it from running
)

// Error is a failed call or connection. Its text says what happened, without secrets.
type Error struct {
	Kind       Kind
	Server     string
	Text       string
	Status     int           // HTTP status, 0 when there was none
	RetryAfter time.Duration // 0 when the server named none
	Challenge  string        // WWW-Authenticate of a 401 or 403
	NotSent    bool          // the server has surely not seen the request
	Err        error         // cause, may be nil

	untaken bool // the connection was done before it took the call
	exited  bool // the program has ended
	crowded bool // there was no place for the program, which is no fault of it
}

func (e *Error) Error() string {
	if e.Server == "" {
		return e.Text
	}
	return fmt.Sprintf("server %q: %s", e.Server, e.Text)
}

func (e *Error) Unwrap() error { return e.Err }

func fault(kind Kind, err error, format string, args ...any) *Error {
	text := fmt.Sprintf(format, args...)
	if err != nil {
		text += ": " + err.Error()
	}
	return &Error{Kind: kind, Text: text, Err: err}
}

var (
	// errSessionLost means that the server no longer knows the session; a request refused so has not run.
	errSessionLost = errors.New("the server no longer knows the session")
	// errNoTime is the cause of a call's context when its own deadline has passed.
	errNoTime = errors.New("no answer in time")
	errClosed = errors.New("the connection was closed")
)

// stopped turns the end of a call's context into an Error.
func stopped(ctx context.Context) *Error {
	if cause := context.Cause(ctx); errors.Is(cause, errNoTime) || errors.Is(cause, context.DeadlineExceeded) {
		return &Error{Kind: Timeout, Text: "no answer in time", Err: cause}
	}
	return &Error{Kind: Cancelled, Text: "the call was cancelled", Err: context.Cause(ctx)}
}

// asError finds or makes the Error in err.
func asError(err error) *Error {
	var e *Error
	if !errors.As(err, &e) {
		e = &Error{Kind: Unavailable, Text: err.Error(), Err: err}
	}
	return e
}

// minSecret is the length below which a secret is a word that any text may hold.
const minSecret = 4

// newRedactor replaces secrets in what a server has said.
func newRedactor(secrets []string) *strings.Replacer {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) }) // one may hold another
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= minSecret {
			pairs = append(pairs, secret, "[REDACTED]")
		}
	}
	return strings.NewReplacer(pairs...)
}
