package admin

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"mcphub/hub"
	"mcphub/wire"
)

// ToolView is one published tool as GET /api/tools shows it.
type ToolView struct {
	Name        string          `json:"name"`
	Server      string          `json:"server,omitempty"` // none: the hub's own
	Tool        string          `json:"tool,omitempty"`   // the server's own name for it
	Description string          `json:"description,omitempty"`
	ReadOnly    bool            `json:"readOnly"`
	Destructive bool            `json:"destructive"`
	InputSchema json.RawMessage `json:"inputSchema"`
}

func getTools(a *api, w http.ResponseWriter, r *http.Request) error {
	server := r.URL.Query().Get("server")
	if server != "" && a.Hub.Server(server) == nil {
		return problem("unknown_server", "there is no server %q; GET /api/servers has the names", server)
	}
	views := []ToolView{}
	for _, t := range (hub.Guide{Hub: a.Hub}).Tools() {
		if server == "" || t.Server == server {
			views = append(views, ToolView{t.Name, t.Server, t.Own, t.Description, t.ReadOnly, t.Destructive, t.Schema})
		}
	}
	return writeJSON(w, views)
}

func getWhy(a *api, w http.ResponseWriter, r *http.Request) error {
	return writeJSON(w, hub.Guide{Hub: a.Hub}.Why(param(r, "tool")))
}

// postCall runs a tool with the body as its arguments and answers with the result as its server gave it, one that says isError
// included.
func postCall(a *api, w http.ResponseWriter, r *http.Request) error {
	args, err := a.arguments(w, r)
	if err != nil {
		return err
	}
	name := param(r, "tool")
	params := wire.Splice(nil, wire.Edit{Key: "name", Value: wire.Quote(name)}, wire.Edit{Key: "arguments", Value: args})
	msg, err := wire.Scan(wire.AppendRequest(nil, []byte("1"), wire.ToolsCall, params))
	if err != nil {
		return problem("bad_request", "the arguments cannot be sent on: %v", err)
	}
	answer := a.Hub.Serve(r.Context(), &hub.Request{Client: &hub.Client{}, Msg: msg})
	if answer.Error != nil {
		return a.refusal(name, answer.Error)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer.Result) // the client is gone where this fails
	return nil
}

// arguments reads a body, whatever type it says it has: curl calls everything a form. Nothing is {}.
func (a *api) arguments(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.MaxBody))
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return nil, problem("body_too_large", "the body is over %d bytes; raise limits.maxMessageBytes, or send less", tooLarge.Limit)
	}
	if err != nil {
		return nil, problem("bad_request", "the body broke off; send it again")
	}
	body = bytes.TrimSpace(wire.TrimBOM(body))
	if len(body) == 0 {
		return []byte("{}"), nil
	}
	if !json.Valid(body) || !wire.IsObject(body) {
		return nil, problem("bad_request", `the body must be the tool's arguments as a JSON object, like {"text": "hello"}`)
	}
	return body, nil
}

// refusal makes a problem of the MCP error that a call was answered with.
func (a *api) refusal(name string, raw []byte) *Problem {
	code, text := wire.ErrorOf(raw)
	data := wire.Get(raw, "data")
	kind, server := wire.String(wire.Get(data, "kind")), wire.String(wire.Get(data, "server"))
	why := hub.Guide{Hub: a.Hub}.Why(name)
	known := why.Verdict == hub.Listed && why.Name == name
	switch {
	case problems[kind].status != 0 && a.Hub.Server(server) != nil: // the hub's own words for trouble with a server
	case !known && code == wire.CodeInvalidParams:
		kind, server = "unknown_tool", why.Server
		text = "unknown tool " + name + ". " + why.Text // which says more than what an MCP client is told
		if why.Fix != "" {
			text += " Next: " + why.Fix
		}
	case code == wire.CodeInvalidParams:
		kind, server = "bad_arguments", why.Server
		text += "; GET /api/tools has the tool's inputSchema"
	default:
		kind, server = "server_error", why.Server
	}
	p := problem(kind, "%s", text)
	p.Server, p.MCP = server, raw
	return p
}
