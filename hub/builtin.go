package hub

import (
	"context"
	"maps"
	"slices"
	"strings"

	"mcphub/upstream"
	"mcphub/wire"
)

// builtins are the hub's own tools. Those for resources are for clients that show models nothing but tools.
// setting is resourceTools: with "auto" they are there when some server has resources.
func builtins(setting string, resources bool) []*tool {
	if setting == "false" || setting != "true" && !resources {
		return nil
	}
	return []*tool{
		{name: "mcp_list_resources", builtin: listResources, raw: []byte(`{"name":"mcp_list_resources",` +
			`"description":"Lists the resources of the connected MCP servers, with their URIs.",` +
			`"inputSchema":{"type":"object","properties":{"server":{"type":"string","description":"Only this server's."}}},` +
			`"annotations":{"readOnlyHint":true}}`)},
		{name: "mcp_read_resource", builtin: readByTool, raw: []byte(`{"name":"mcp_read_resource",` +
			`"description":"Reads a resource of a connected MCP server by its URI.",` +
			`"inputSchema":{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]},` +
			`"annotations":{"readOnlyHint":true}}`)},
	}
}

// listResources is the tool mcp_list_resources.
func listResources(h merged, ctx context.Context, r *Request, args []byte) Answer {
	server := wire.String(wire.Get(args, "server"))
	if server != "" && h.server(server) == nil {
		return h.toolError(r, "there is no server "+server+"; the servers are "+strings.Join(slices.Sorted(maps.Keys(h.roster.Load().byName)), ", "))
	}
	h.settle(ctx)
	var text strings.Builder
	c := h.current()
	for _, method := range []string{wire.ResourcesList, wire.ResourceTemplates} {
		for _, it := range c.lists[method].items {
			owner := "mcphub"
			if it.server != nil {
				owner = it.server.Name()
			}
			if server == "" || server == owner {
				text.WriteString(it.key + "\t" + wire.String(wire.Get(it.raw, "name")) + "\t(" + owner + ")\n")
			}
		}
	}
	if text.Len() == 0 {
		text.WriteString("no resources\n")
	}
	return h.face.finish(r, textResult(text.String()))
}

// toolError is the result of a tool of the hub's own that failed.
func (h merged) toolError(r *Request, text string) Answer {
	return h.face.finish(r, wire.Splice(textResult(text), wire.Edit{Key: "isError", Value: []byte("true")}))
}

func textResult(text string) []byte {
	return append(append([]byte(`{"content":[{"type":"text","text":`), wire.Quote(text)...), `}]}`...)
}

// readByTool is the tool mcp_read_resource: each content becomes an embedded resource.
func readByTool(h merged, ctx context.Context, r *Request, args []byte) Answer {
	uri := wire.String(wire.Get(args, "uri"))
	answer := h.readQuietly(ctx, r, uri)
	if answer.Error != nil {
		_, text := wire.ErrorOf(answer.Error)
		return h.toolError(r, text)
	}
	content := mapElements(wire.Get(answer.Result, "contents"), func(part []byte) []byte {
		return append(append([]byte(`{"type":"resource","resource":`), part...), '}')
	})
	return h.face.finish(r, wire.Splice(nil, wire.Edit{Key: "content", Value: content}))
}

// readQuietly reads a resource for the hub itself, which answers no questions.
func (h merged) readQuietly(ctx context.Context, r *Request, uri string) Answer {
	if s := h.current().skills.at(uri); s != nil {
		h.reveal(r.Client, s)
		return Answer{Result: s.contents()}
	}
	at, ok := h.locateLate(ctx, uri)
	if !ok {
		return notFound(uri, r.modern())
	}
	return h.readAt(ctx, r, at)
}

// readAt is readQuietly of a resource whose server is known.
func (h merged) readAt(ctx context.Context, r *Request, at route) Answer {
	answer := bridge{h.Hub}.send(ctx, r, at.server, &upstream.Call{
		Method: wire.ResourcesRead, Params: wire.Splice(nil, wire.Edit{Key: "uri", Value: wire.Quote(at.own)}), Sink: quiet{},
	})
	if asksInput(answer.Result) {
		return failed(&wire.Error{Code: wire.CodeInternal, Message: at.own + " is read with questions: use resources/read"})
	}
	return Answer{Result: h.current().republish(at.server, answer.Result), Error: answer.Error}
}
