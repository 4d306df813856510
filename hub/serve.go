package hub

import (
	"context"
	"encoding/base64"
	"strconv"
	"strings"

	"mcphub/wire"
)

// Serve answers one request. Where ctx has ended, nobody waits for the answer any more.
func (h *Hub) Serve(ctx context.Context, r *Request) Answer {
	if r.Client.Server != "" {
		return h.relay(ctx, r)
	}
	switch r.Msg.Method {
	case wire.Initialize:
		return h.initialize(r)
	case wire.Discover:
		return h.discover()
	case wire.Ping, wire.SetLevel:
		if wire.Modern(r.Client.Version) {
			return unknownMethod(r.Msg.Method)
		}
		return Answer{Result: []byte("{}")}
	case wire.ToolsList:
		return h.listTools(ctx, r)
	case wire.ToolsCall:
		return h.callTool(ctx, r)
	case wire.Listen:
		return h.listen(ctx, r)
	}
	return unknownMethod(r.Msg.Method)
}

func unknownMethod(method string) Answer {
	return failed(&wire.Error{Code: wire.CodeMethodNotFound, Message: "method not found: " + method})
}

// Notify takes a notification of a session. What a client tells the merged view of itself concerns no server.
func (h *Hub) Notify(ctx context.Context, c *Client, m wire.Message) {
	if c.own != nil {
		c.own.notify(ctx, m)
	}
}

// Respond takes a session's answer to a request that a server sent it.
func (h *Hub) Respond(ctx context.Context, c *Client, m wire.Message) {
	if c.own != nil {
		c.own.post(ctx, m.Raw)
	}
}

// pageSizeKey lets a client ask for pages; without it, a list is one page, since many clients read only that.
const pageSizeKey = "mcphub/pageSize"

// listTools serves the prebuilt list, or a part of it to those who ask for pages.
func (h *Hub) listTools(ctx context.Context, r *Request) Answer {
	h.settle(ctx)
	c := h.current()
	f, err := wire.Fields(r.Msg.Params, "cursor", "_meta")
	if err != nil {
		return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: err.Error()})
	}
	cursor, meta := f[0], f[1]
	from, bad := c.from(cursor)
	if bad != nil {
		return failed(bad)
	}
	size, _ := wire.Int(wire.Get(meta, pageSizeKey))
	modern := wire.Modern(r.Client.Version)
	switch whole := from == 0 && size <= 0; {
	case whole && modern:
		return Answer{Result: c.modern}
	case whole:
		return Answer{Result: c.session}
	}
	tools, next := c.page(from, int(max(0, size)))
	var more []byte
	if next > 0 {
		more = append([]byte(`,"nextCursor":`), wire.Quote(c.cursor(next))...)
	}
	if modern {
		more = append(more, modernListMembers(h.serverInfo())...)
	}
	return Answer{Result: appendList(nil, tools, more)}
}

// cursor names the tool that a page ended before, so that it still means the same after a change.
func (c *catalog) cursor(next int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(next) + ":" + c.tools[next-1].name))
}

// from finds where a cursor goes on: behind the tool it names, or at its number where that tool is gone.
func (c *catalog) from(cursor []byte) (int, *wire.Error) {
	if wire.IsNull(cursor) {
		return 0, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(wire.String(cursor))
	number, name, ok := strings.Cut(string(text), ":")
	n, numErr := strconv.Atoi(number)
	if err != nil || numErr != nil || !ok || n < 0 {
		return 0, &wire.Error{Code: wire.CodeInvalidParams, Message: "invalid cursor: start again without one"}
	}
	for i, t := range c.tools {
		if t.name == name {
			return i + 1, nil
		}
	}
	return min(n, len(c.tools)), nil
}
