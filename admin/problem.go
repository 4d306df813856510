package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// Problem is an error answer of the API (RFC 9457).
type Problem struct {
	Type     string `json:"type"` // urn:mcphub:problem: and a word, see Kind
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"` // with the next step
	Instance string `json:"instance,omitempty"`

	Errors []string        `json:"errors,omitempty"` // each by itself, where there are several
	Server string          `json:"server,omitempty"` // the server it came from
	MCP    json.RawMessage `json:"error,omitempty"`  // the MCP error behind it, as it came
}

// Error is the detail.
func (p *Problem) Error() string { return p.Detail }

// problemType is what every type begins with.
const problemType = "urn:mcphub:problem:"

// Kind is the word of the type, like "not_found".
func (p *Problem) Kind() string { return strings.TrimPrefix(p.Type, problemType) }

// problems is the one table from a kind to what HTTP makes of it. The words of the lower half are the hub's own for
// trouble with a server.
var problems = map[string]struct {
	status int
	title  string
}{
	"not_found":      {http.StatusNotFound, "No such resource"},
	"unknown_server": {http.StatusNotFound, "No such server"},
	"unknown_tool":   {http.StatusNotFound, "No such tool"},
	"unknown_scope":  {http.StatusNotFound, "No such scope"},
	"switched_off":   {http.StatusForbidden, "Switched off by a setting"},
	"taken":          {http.StatusConflict, "The configuration has it"},
	"no_json":        {http.StatusUnsupportedMediaType, "Not JSON"},
	"bad_servers":    {http.StatusUnprocessableEntity, "The servers cannot be used"},
	"not_allowed":    {http.StatusForbidden, "Not from there"},
	"wrong_method":   {http.StatusMethodNotAllowed, "Method not allowed"},
	"bad_request":    {http.StatusBadRequest, "Bad request"},
	"bad_arguments":  {http.StatusBadRequest, "The server refused the arguments"},
	"body_too_large": {http.StatusRequestEntityTooLarge, "The body is too large"},
	"configuration":  {http.StatusUnprocessableEntity, "The configuration cannot be used"},
	"unsupported":    {http.StatusNotImplemented, "Not available"},
	"internal":       {http.StatusInternalServerError, "The hub failed"},
	"server_error":   {http.StatusBadGateway, "The server answered with an error"},

	"unavailable":     {http.StatusServiceUnavailable, "The server is not reachable"},
	"suspended":       {http.StatusServiceUnavailable, "The server is suspended"},
	"not_running":     {http.StatusServiceUnavailable, "The server does not run"},
	"busy":            {http.StatusServiceUnavailable, "The server is busy"},
	"timeout":         {http.StatusGatewayTimeout, "The server did not answer in time"},
	"outcome_unknown": {http.StatusBadGateway, "The connection was lost during the call"},
	"needs_auth":      {http.StatusBadGateway, "The server wants credentials"},
	"refused":         {http.StatusBadGateway, "The server refused the request"},
	"too_large":       {http.StatusBadGateway, "The answer is too large"},
	"garbled":         {http.StatusBadGateway, "The server does not speak MCP as expected"},
	"cancelled":       {http.StatusBadGateway, "The call was cancelled"},
}

// problem makes a problem of a kind in the table; one that is not there is a server's error.
func problem(kind, format string, args ...any) *Problem {
	row, ok := problems[kind]
	if !ok {
		row = problems["server_error"]
	}
	return &Problem{Type: problemType + kind, Title: row.title, Status: row.status, Detail: fmt.Sprintf(format, args...)}
}
