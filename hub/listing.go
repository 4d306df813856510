package hub

import (
	"bytes"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"mcphub/upstream"
	"mcphub/wire"
)

// item is one thing that is published: a tool, a prompt, a resource or a template.
type item struct {
	key    string           // what clients know it by: a name or a URI
	raw    []byte           // the definition as clients see it
	server *upstream.Server // whose it is; nil: the hub's own
}

// listing is one list, prebuilt as clients get it.
type listing struct {
	member  string // of the result that holds the items
	items   []item
	session []byte // the whole result for session clients
	modern  []byte // and for stateless ones
	more    []byte // the members that those get besides
}

// newListing builds a list; ttl is how long, in milliseconds, a client may keep it.
func newListing(member string, items []item, ttl int64, serverInfo []byte) *listing {
	l := &listing{member: member}
	l.more = []byte(`,"resultType":"complete","ttlMs":` + strconv.FormatInt(ttl, 10) + `,"cacheScope":"private","_meta":`)
	l.more = append(l.more, metaOf(serverInfo)...)
	return l.of(items)
}

// write is a result with these items and what else is in it.
func (l *listing) write(items []item, more []byte) []byte {
	size := len(l.member) + len(more) + 8
	for _, it := range items {
		size += len(it.raw) + 1
	}
	out := append(make([]byte, 0, size), `{"`+l.member+`":[`...)
	for i, it := range items {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, it.raw...)
	}
	return append(append(append(out, ']'), more...), '}')
}

// of is a list of other items.
func (l *listing) of(items []item) *listing {
	other := &listing{member: l.member, items: items, more: l.more}
	other.session, other.modern = other.write(items, nil), other.write(items, l.more)
	return other
}

// same says whether two lists look alike to clients.
func (l *listing) same(o *listing) bool { return bytes.Equal(l.session, o.session) }

// pageSizeKey lets a client ask for pages; without it, a list is one page, since many clients read only that.
const pageSizeKey = "mcphub/pageSize"

// answer is the list, or a part of it to those who ask for pages.
func (l *listing) answer(params []byte, modern bool) Answer {
	f, err := wire.Fields(params, "cursor", "_meta")
	if err != nil {
		return failed(&wire.Error{Code: wire.CodeInvalidParams, Message: err.Error()})
	}
	from, bad := l.from(f[0])
	if bad != nil {
		return failed(bad)
	}
	size, _ := wire.Int(wire.Get(f[1], pageSizeKey))
	switch whole := from == 0 && size <= 0; {
	case whole && modern:
		return Answer{Result: l.modern}
	case whole:
		return Answer{Result: l.session}
	}
	to := len(l.items)
	var more []byte
	if size > 0 && int64(to-from) > size {
		to = from + int(size)
		more = append([]byte(`,"nextCursor":`), wire.Quote(l.cursor(to))...)
	}
	if modern {
		more = append(more, l.more...)
	}
	return Answer{Result: l.write(l.items[from:to], more)}
}

// cursor names the item that a page ended with, so that it still means the same after a change.
func (l *listing) cursor(next int) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(next) + ":" + l.items[next-1].key))
}

// from finds where a cursor goes on: behind the item it names, or at its number where that is gone.
func (l *listing) from(cursor []byte) (int, *wire.Error) {
	if wire.IsNull(cursor) {
		return 0, nil
	}
	text, err := base64.RawURLEncoding.DecodeString(wire.String(cursor))
	number, key, ok := strings.Cut(string(text), ":")
	n, numErr := strconv.Atoi(number)
	if err != nil || numErr != nil || !ok || n < 0 {
		return 0, &wire.Error{Code: wire.CodeInvalidParams, Message: "invalid cursor: start again without one"}
	}
	if 0 < n && n <= len(l.items) && l.items[n-1].key == key { // nothing has moved
		return n, nil
	}
	if i := slices.IndexFunc(l.items, func(it item) bool { return it.key == key }); i >= 0 {
		return i + 1, nil
	}
	return min(n, len(l.items)), nil
}
