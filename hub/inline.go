package hub

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
	"strings"

	"mcphub/wire"
)

// inlineName is the hub's own prompt: text in, the same text with resources in place of their mentions out.
const inlineName = "mcp_inline"

var inlinePrompt = []byte(`{"name":"mcp_inline","title":"Text with resources",` +
	`"description":"Returns the text with every @mcp:<server>/<uri> replaced by that resource's content.",` +
	`"arguments":[{"name":"text","description":"Text with @mcp:<server>/<uri> mentions","required":true}]}`)

// mention finds @mcp:<server>/<uri>; a URI ends at white space, and not with the punctuation of a sentence.
var mention = regexp.MustCompile(`@mcp:([A-Za-z0-9][A-Za-z0-9_.-]{0,63})/(\S*[^\s.,;:!?)\]}"'])`)

// inlineMost bounds how many mentions of one text are read.
const inlineMost = 32

// inline is prompts/get of the prompt mcp_inline. A mention that cannot be read stays, with a notice.
func (h merged) inline(ctx context.Context, r *Request) Answer {
	raw := wire.Path(r.Msg.Params, "arguments", "text")
	if !wire.IsString(raw) {
		return invalid("prompts/get: " + inlineName + " needs the argument text")
	}
	text := wire.String(raw)
	var notices []string
	n := 0
	out := mention.ReplaceAllStringFunc(text, func(found string) string {
		n++
		part := mention.FindStringSubmatch(found)
		server, uri := part[1], part[2]
		switch {
		case h.server(server) == nil:
			notices = append(notices, found+": there is no server of that name")
			return found
		case n > inlineMost:
			notices = append(notices, found+": one text may mention 32 resources")
			return found
		}
		answer := h.readAt(ctx, r, route{h.server(server), uri})
		content, ok := contentText(answer.Result)
		if !ok {
			_, why := wire.ErrorOf(answer.Error)
			if answer.Error == nil {
				why = "it is no text"
			}
			notices = append(notices, found+": "+why)
			return found
		}
		return content
	})
	if len(notices) > 0 {
		out += "\n\n[mcphub: not replaced: " + strings.Join(notices, "; ") + "]"
	}
	message := append([]byte(`{"messages":[{"role":"user","content":{"type":"text","text":`), wire.Quote(out)...)
	return h.face.finish(r, append(message, `}}]}`...))
}

// contentText joins the texts of a resources/read result; ok is false where a part is no text.
func contentText(result []byte) (text string, ok bool) {
	var parts []string
	for part := range wire.Elements(wire.Get(result, "contents")) {
		raw := wire.Get(part, "text")
		if raw == nil {
			return "", false
		}
		parts = append(parts, wire.String(raw))
	}
	return strings.Join(parts, "\n"), parts != nil
}

// completionsMost is how many values one completion may have (MCP 2025-11-25, Completion).
const completionsMost = 100

// completeInline offers servers, then a server's resources, for the mention that the text ends in.
func (h merged) completeInline(r *Request) Answer {
	text := wire.String(wire.Path(r.Msg.Params, "argument", "value"))
	start := strings.LastIndex(text, "@mcp:")
	var values [][]byte
	total := 0
	offer := func(value string) {
		if start < 0 || !strings.HasPrefix(value, text[start:]) {
			return
		}
		if total++; total <= completionsMost {
			values = append(values, wire.Quote(text[:start]+value))
		}
	}
	for _, s := range h.servers() {
		if start >= 0 && !strings.Contains(text[start:], "/") {
			offer("@mcp:" + s.Name() + "/")
			continue
		}
		if o := s.Offer(); o != nil {
			for _, raw := range o.Resources {
				whole := "@mcp:" + s.Name() + "/" + wire.String(wire.Get(raw, "uri"))
				if mention.FindString(whole) == whole { // else it could not be told from the text around it
					offer(whole)
				}
			}
		}
	}
	out := []byte(`{"completion":{"total":` + strconv.Itoa(total) + `,"hasMore":` + strconv.FormatBool(total > len(values)) + `,"values":[`)
	out = append(out, bytes.Join(values, []byte(","))...)
	return h.face.finish(r, append(out, `]}}`...))
}
