package hub

import (
	"errors"

	"mcphub/upstream"
	"mcphub/wire"
)

// metaHubs is the member of _meta by which hubs tell each other, and nobody else, which hubs are behind them.
const metaHubs = "mcphub/hubs"

// ring finds out whether a server leads back to the hub itself: such a list would contain itself.
type ring struct{ *Hub }

// accept refuses an offer that has come through this hub.
func (h ring) accept(offer *upstream.Offer) error {
	for _, meta := range [][]byte{wire.Get(offer.Greeting, "_meta"), offer.Meta} {
		for id := range wire.Elements(wire.Get(meta, metaHubs)) {
			if wire.String(id) == h.id {
				return errors.New("leads back to this hub, whose tools would be among its own; remove it, or have it name one server: /servers/<name>/mcp")
			}
		}
	}
	return nil
}

// asks says whether a request comes from a hub.
func (ring) asks(r *Request) bool {
	info := wire.Get(r.Client.Params, "clientInfo")
	if r.modern() {
		info = wire.Path(r.Msg.Params, "_meta", wire.MetaClientInfo)
	}
	return wire.String(wire.Get(info, "name")) == wire.String(wire.Get(upstream.ClientInfo, "name"))
}

// mark adds the hubs behind a view to the _meta of a result that goes to a hub.
func (h ring) mark(r *Request, v *view, result []byte) []byte {
	if !h.asks(r) || result == nil {
		return result
	}
	hubs := append([]byte{'['}, wire.Quote(h.id)...)
	for _, s := range v.servers() {
		offer := s.Offer()
		if offer == nil {
			continue
		}
		for _, meta := range [][]byte{wire.Get(offer.Greeting, "_meta"), offer.Meta} {
			for id := range wire.Elements(wire.Get(meta, metaHubs)) {
				hubs = append(append(hubs, ','), id...)
			}
		}
	}
	meta := wire.Splice(wire.Get(result, "_meta"), wire.Edit{Key: metaHubs, Value: append(hubs, ']')})
	return wire.Splice(result, wire.Edit{Key: "_meta", Value: meta})
}
