package upstream

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"mcphub/wire"
)

// maxPages bounds a list whose server always names one more page.
const maxPages = 300

// Offer is what a server offers. It is never changed once published.
type Offer struct {
	Version  string   // protocol version spoken with the server
	Greeting []byte   // raw result of initialize or server/discover
	Tools    [][]byte // raw items of tools/list, as they came
	Notes    []string // what was wrong with the list, for status
}

// ServerInfo is the raw name and version that the server gave itself, nil where it gave none.
func (o *Offer) ServerInfo() []byte {
	if info := wire.Get(o.Greeting, "serverInfo"); info != nil {
		return info
	}
	return wire.Path(o.Greeting, "_meta", wire.MetaServerInfo)
}

// Capabilities is the server's raw capabilities object.
func (o *Offer) Capabilities() []byte { return wire.Get(o.Greeting, "capabilities") }

// Instructions is the server's text for models, "" where it has none.
func (o *Offer) Instructions() string { return wire.String(wire.Get(o.Greeting, "instructions")) }

// readOffer reads all of what the server offers over conn; timeout is for each page, limit for the bytes of all.
func readOffer(ctx context.Context, conn *Conn, timeout time.Duration, limit int) (*Offer, error) {
	o := &Offer{Version: conn.Version(), Greeting: conn.Greeting}
	if wire.IsNull(wire.Get(o.Capabilities(), "tools")) {
		return o, nil
	}
	seen := map[string]bool{}
	call := &Call{Method: wire.ToolsList, Params: []byte(`{}`), Timeout: timeout}
	for size := 0; len(seen) < maxPages && size < limit; {
		answer, err := conn.Call(ctx, call)
		if err != nil {
			return nil, err
		}
		if answer.Error != nil {
			code, text := wire.ErrorOf(answer.Error)
			if code != wire.CodeMethodNotFound {
				return nil, fault(Garbled, nil, "refused tools/list (%d): %s", code, text)
			}
			o.Notes = append(o.Notes, "tools/list is not supported by the server")
			return o, nil
		}
		size += len(answer.Result)
		for item := range wire.Elements(wire.Get(answer.Result, "tools")) {
			o.Tools = append(o.Tools, bytes.Clone(item))
		}
		cursor := wire.Get(answer.Result, "nextCursor")
		switch {
		case wire.IsNull(cursor) || wire.String(cursor) == "":
			return o, nil
		case seen[string(cursor)]: // its server would go on for ever
			o.Notes = append(o.Notes, "tools/list repeats the cursor "+string(cursor)+"; the list was ended there")
			return o, nil
		}
		seen[string(cursor)] = true
		call.Params = wire.Splice(nil, wire.Edit{Key: "cursor", Value: cursor})
	}
	o.Notes = append(o.Notes, fmt.Sprintf("tools/list has no end; it was read for %d pages", len(seen)))
	return o, nil
}
