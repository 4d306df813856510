package upstream

import (
	"bytes"
	"context"

	"mcphub/wire"
)

// maxPages bounds a list whose server always names one more page.
const maxPages = 1000

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

// offer reads all of what the server offers over conn.
func (s *Server) offerOf(ctx context.Context, conn *Conn) (*Offer, error) {
	o := &Offer{Version: conn.Version(), Greeting: conn.Greeting}
	if wire.IsNull(wire.Get(o.Capabilities(), "tools")) {
		return o, nil
	}
	var err error
	o.Tools, o.Notes, err = s.listAll(ctx, conn, wire.ToolsList, "tools")
	return o, err
}

// listAll reads every page of a list. A cursor that comes back ends it, since its server would go on for ever.
func (s *Server) listAll(ctx context.Context, conn *Conn, method, member string) (items [][]byte, notes []string, err error) {
	seen := map[string]bool{}
	params := []byte(`{}`)
	for range maxPages {
		answer, err := conn.Call(ctx, &Call{Method: method, Params: params, Timeout: s.cfg.RequestTimeout})
		if err != nil {
			return nil, notes, err
		}
		if answer.Error != nil {
			code, text := wire.ErrorOf(answer.Error)
			if code == wire.CodeMethodNotFound {
				return nil, append(notes, method+" is not supported by the server"), nil
			}
			return nil, notes, fault(Garbled, nil, "refused %s (%d): %s", method, code, text)
		}
		for item := range wire.Elements(wire.Get(answer.Result, member)) {
			items = append(items, bytes.Clone(item))
		}
		cursor := wire.Get(answer.Result, "nextCursor")
		if wire.IsNull(cursor) || wire.String(cursor) == "" {
			return items, notes, nil
		}
		if seen[string(cursor)] {
			return items, append(notes, method+" repeats the cursor "+string(cursor)+"; the list was ended there"), nil
		}
		seen[string(cursor)] = true
		params = wire.Splice(nil, wire.Edit{Key: "cursor", Value: cursor})
	}
	return items, append(notes, method+" has no end; it was read for 1000 pages"), nil
}
