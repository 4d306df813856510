package front

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"mcphub/hub"
	"mcphub/wire"
)

// isModern says whether a message carries the version of the stateless era in its own _meta.
func isModern(m wire.Message) bool {
	v := wire.String(wire.Path(m.Params, "_meta", wire.MetaVersion))
	return v != "" && wire.Modern(v)
}

// postModern answers one message of the stateless era (MCP 2026-07-28, Streamable HTTP). Closing the
// connection is how its client cancels.
func (f web) postModern(w http.ResponseWriter, r *http.Request, at hub.Door, m wire.Message) {
	if m.IsResponse() {
		fail(w, http.StatusBadRequest, m.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: "this protocol version has no responses from clients"})
		return
	}
	if m.IsNotification() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	meta := wire.Get(m.Params, "_meta")
	version := r.Header.Get(wire.HeaderVersion)
	if e := checkModern(r.Header, m, meta); e != nil {
		fail(w, http.StatusBadRequest, m.ID, e)
		return
	}
	p := &reply{f: f.Front, w: w, id: m.ID, modern: true}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	p.cancel = cancel
	answer := f.serve(ctx, &hub.Request{
		Client: &hub.Client{Door: at, Version: version}, Msg: m, Headers: paramHeaders(r.Header), Out: p,
	})
	p.finish(ctx, answer)
}

// checkModern holds a request's headers and _meta against what the era demands, in the order in which
// a client can make sense of the errors: the version first.
func checkModern(h http.Header, m wire.Message, meta []byte) *wire.Error {
	if e := checkVersion(h.Get(wire.HeaderVersion), wire.Get(meta, wire.MetaVersion)); e != nil {
		return e
	}
	if got := h.Get(wire.HeaderMethod); got != m.Method {
		return mismatch(wire.HeaderMethod, got, m.Method)
	}
	if want, named := nameOf(m); named {
		got, err := hub.DecodeHeader(strings.TrimSpace(h.Get(wire.HeaderName)))
		if err != nil || got != want || got == "" {
			return mismatch(wire.HeaderName, h.Get(wire.HeaderName), want)
		}
	}
	return checkMeta(meta)
}

// checkMeta looks for the _meta that every request of the era carries.
func checkMeta(meta []byte) *wire.Error {
	for _, key := range []string{wire.MetaVersion, wire.MetaCapabilities} {
		if wire.IsNull(wire.Get(meta, key)) {
			return &wire.Error{Code: wire.CodeInvalidParams, Message: "params._meta lacks " + key}
		}
	}
	return nil
}

func checkVersion(header string, body []byte) *wire.Error {
	switch inBody := wire.String(body); {
	case header == "":
		return mismatch(wire.HeaderVersion, "", inBody)
	case body != nil && inBody != header:
		return mismatch(wire.HeaderVersion, header, inBody)
	case !wire.Known(header):
		return unsupported(header)
	}
	return nil
}

func mismatch(header, got, want string) *wire.Error {
	return &wire.Error{Code: wire.CodeHeaderMismatch, Message: fmt.Sprintf(
		"Header mismatch: %s header value %q does not match body value %q", header, got, want)}
}

func unsupported(version string) *wire.Error {
	supported := []byte(`["` + strings.Join(wire.Versions, `","`) + `"]`)
	return &wire.Error{Code: wire.CodeUnsupportedVersion, Message: "Unsupported protocol version",
		Data: wire.Splice(nil, wire.Edit{Key: "supported", Value: supported}, wire.Edit{Key: "requested", Value: wire.Quote(version)})}
}

// nameOf is what the Mcp-Name header of a request must repeat; named is false where it needs none.
func nameOf(m wire.Message) (name string, named bool) {
	switch m.Method {
	case wire.ToolsCall, wire.PromptsGet:
		return wire.String(wire.Get(m.Params, "name")), true
	case wire.ResourcesRead:
		return wire.String(wire.Get(m.Params, "uri")), true
	}
	return "", false
}

// paramHeaders collects the Mcp-Param headers by lower-case name.
func paramHeaders(h http.Header) map[string]string {
	params := map[string]string{}
	for name, values := range h {
		if rest, ok := strings.CutPrefix(name, wire.HeaderParam); ok && len(values) > 0 {
			params[strings.ToLower(rest)] = strings.TrimSpace(values[0])
		}
	}
	return params
}
