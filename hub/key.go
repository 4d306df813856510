package hub

import (
	"crypto/rand"
	"encoding/hex"
)

// randomKey is a name that nobody can guess.
func randomKey() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program where it could not
	return hex.EncodeToString(b[:])
}
