package hub

import (
	"errors"

	"mcphub/upstream"
	"mcphub/wire"
)

// hints is the one table from a kind of trouble to what a client is told of it: a word for programs
// and the next step for people.
var hints = map[upstream.Kind]struct{ word, next string }{
	upstream.Unavailable: {"unavailable", "the server is not reachable; check it with: mcphub list"},
	upstream.Suspended:   {"suspended", ""}, // its text names the command
	upstream.Lost:        {"outcome_unknown", "the connection was lost after the request was sent, so it may have run; look before you repeat it"},
	upstream.Timeout:     {"timeout", "raise requestTimeoutMs of the server, or timeoutMs of the tool, if it needs longer"},
	upstream.Cancelled:   {"cancelled", ""},
	upstream.NeedsAuth:   {"needs_auth", "the server wants valid credentials; set bearerTokenEnv or headers in its entry"},
	upstream.Refused:     {"refused", "the server refused the request"},
	upstream.Busy:        {"busy", "try again later"},
	upstream.TooLarge:    {"too_large", "ask for less, or raise limits.maxMessageBytes"},
	upstream.Garbled:     {"garbled", "the server does not speak MCP as expected; check url and type of its entry"},
	upstream.Removed:     {"not_running", ""}, // its text names the command
}

// answerOf is what a client gets of a server's answer, or of the trouble there was in place of one.
func answerOf(a upstream.Answer, err error) Answer {
	if err != nil {
		return failure(err)
	}
	return Answer(a)
}

// failure turns trouble with a server into the error that a client gets.
func failure(err error) Answer {
	var e *upstream.Error
	if !errors.As(err, &e) {
		return failed(&wire.Error{Code: wire.CodeInternal, Message: err.Error()})
	}
	hint := hints[e.Kind]
	text := e.Error()
	if hint.next != "" {
		text += " (" + hint.next + ")"
	}
	data := wire.Splice(nil, wire.Edit{Key: "server", Value: wire.Quote(e.Server)}, wire.Edit{Key: "kind", Value: wire.Quote(hint.word)})
	return failed(&wire.Error{Code: wire.CodeInternal, Message: text, Data: data})
}
