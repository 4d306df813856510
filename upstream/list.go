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
	Version   string   // protocol version spoken with the server
	Greeting  []byte   // raw result of initialize or server/discover
	Tools     [][]byte // raw items of tools/list, as they came
	Resources [][]byte
	Templates [][]byte // of resources
	Prompts   [][]byte
	Meta      []byte           // raw _meta of tools/list; nil for an offer from before the start
	TTL       map[string]int64 // by list method: milliseconds that the list may be kept; 0 where the server said nothing
	Notes     []string         // what was wrong with the lists, for status

	partial bool // a list could not be read, and is worth another try
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

// Has says whether the server declares a capability.
func (o *Offer) Has(capability string) bool {
	return !wire.IsNull(wire.Get(o.Capabilities(), capability))
}

// quietAge is how old the lists of a server may be that says neither when they change nor how long they hold.
const quietAge = 30 * time.Second

// age is how long the lists hold that the server tells no changes of, 0 where it tells of all.
func (o *Offer) age() (age time.Duration) {
	for method, capability := range map[string]string{
		wire.ToolsList: "tools", wire.ResourcesList: "resources", wire.ResourceTemplates: "resources", wire.PromptsList: "prompts",
	} {
		if !o.Has(capability) || string(wire.Path(o.Capabilities(), capability, "listChanged")) == "true" {
			continue
		}
		holds := quietAge
		if ttl := o.TTL[method]; ttl > 0 {
			holds = time.Duration(ttl) * time.Millisecond
		}
		if age == 0 || holds < age {
			age = holds
		}
	}
	return age
}

// reader reads a server's lists over one connection.
type reader struct {
	conn    *Conn
	timeout time.Duration // for each page
	left    int           // bytes that all lists together may still have
	before  *Offer        // nil for the first
	offer   *Offer
}

// readOffer reads all of what the server offers. Without its tools there is no offer; another list that cannot be read
// is left as it was.
func readOffer(ctx context.Context, r *reader) (*Offer, error) {
	o := &Offer{Version: r.conn.Version(), Greeting: r.conn.Greeting, TTL: map[string]int64{}}
	r.offer = o
	before := r.before
	if before == nil {
		before = &Offer{}
	}
	for _, l := range []struct {
		capability, method, member string
		items                      *[][]byte
		old                        [][]byte
	}{
		{"tools", wire.ToolsList, "tools", &o.Tools, nil},
		{"resources", wire.ResourcesList, "resources", &o.Resources, before.Resources},
		{"resources", wire.ResourceTemplates, "resourceTemplates", &o.Templates, before.Templates},
		{"prompts", wire.PromptsList, "prompts", &o.Prompts, before.Prompts},
	} {
		if !o.Has(l.capability) {
			continue
		}
		items, err := r.list(ctx, l.method, l.member)
		switch {
		case err == nil:
			*l.items = items
		case l.method == wire.ToolsList || r.conn.Err() != nil || ctx.Err() != nil:
			return nil, err
		default:
			*l.items, o.partial = l.old, true
			r.note("%s: %s", l.method, asError(err).Text)
		}
	}
	return o, nil
}

// list reads all pages of one list.
func (r *reader) list(ctx context.Context, method, member string) (items [][]byte, err error) {
	seen := map[string]bool{}
	call := &Call{Method: method, Params: []byte(`{}`), Timeout: r.timeout, Capabilities: capabilities, own: true}
	for len(seen) < maxPages && r.left > 0 {
		answer, err := r.conn.Call(ctx, call)
		if err != nil {
			return nil, err
		}
		if answer.Error != nil {
			code, text := wire.ErrorOf(answer.Error)
			if code != wire.CodeMethodNotFound {
				return nil, fault(Garbled, nil, "refused %s (%d): %s", method, code, text)
			}
			if method != wire.ResourceTemplates { // many servers have resources and no templates
				r.note("%s is not supported by the server", method)
			}
			return items, nil
		}
		r.left -= len(answer.Result)
		if method == wire.ToolsList && len(seen) == 0 {
			r.offer.Meta = bytes.Clone(wire.Get(answer.Result, "_meta"))
		}
		if ttl, _ := wire.Int(wire.Get(answer.Result, "ttlMs")); ttl > 0 {
			r.offer.TTL[method] = ttl
		}
		for item := range wire.Elements(wire.Get(answer.Result, member)) {
			items = append(items, bytes.Clone(item))
		}
		cursor := wire.Get(answer.Result, "nextCursor")
		switch {
		case wire.IsNull(cursor) || wire.String(cursor) == "":
			return items, nil
		case seen[string(cursor)]: // its server would go on for ever
			r.note("%s repeats the cursor %s; the list was ended there", method, cursor)
			return items, nil
		}
		seen[string(cursor)] = true
		call.Params = wire.Splice(nil, wire.Edit{Key: "cursor", Value: cursor})
	}
	r.note("%s has no end; it was read for %d pages", method, len(seen))
	return items, nil
}

func (r *reader) note(format string, args ...any) {
	r.offer.Notes = append(r.offer.Notes, fmt.Sprintf(format, args...))
}
