package upstream

import (
	"bytes"
	"reflect"
	"testing"
)

// Whatever a file holds, reading it does no harm, and what was written is read as it was.
func FuzzDecodeOffer(f *testing.F) {
	f.Add(encodeOffer(&Offer{Version: "2025-11-25", Greeting: []byte(`{"a":1}`), Tools: [][]byte{[]byte(`{"name":"t"}`), nil},
		Prompts: [][]byte{[]byte("{}")}, TTL: map[string]int64{"tools/list": 5}, Notes: []string{"note\n"}}))
	f.Add([]byte(`{"greeting":-1,"lists":[[9223372036854775807],[-5]]}` + "\nshort"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := decodeOffer(text)
		if err != nil {
			return
		}
		again, err := decodeOffer(encodeOffer(o))
		if err != nil || !reflect.DeepEqual(spelled(again), spelled(o)) {
			t.Errorf("%q is read as %q, and that as %q, %v", text, spelled(o), spelled(again), err)
		}
	})
}

// spelled is the raw parts of an offer.
func spelled(o *Offer) []string {
	parts := []string{o.Version, string(o.Greeting)}
	for _, items := range o.lists() {
		parts = append(parts, string(bytes.Join(*items, []byte{0})))
	}
	return parts
}
