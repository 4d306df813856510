package upstream

import (
	"bytes"
	"regexp"

	"mcphub/wire"
)

// lastID is the id at the end of an answer that has its result in front of it.
var lastID = regexp.MustCompile(`[{,]\s*"id"\s*:\s*("\d+"|\d+)\s*(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}$`)

// looseID finds the id of an answer of which only the two ends are known, nil where they do not show it.
func looseID(head, tail []byte) []byte {
	whole := bytes.TrimRight(head, "0123456789")  // a number at the cut may go on behind it
	for key, value := range wire.Members(whole) { // up to the member that is cut
		switch string(key) {
		case "id":
			return value
		case "method":
			return nil
		}
	}
	if m := lastID.FindSubmatch(bytes.TrimSpace(tail)); m != nil {
		return m[1]
	}
	return nil
}
