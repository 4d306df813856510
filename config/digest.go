package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Digest names what decides what the server offers: how it is reached, with which arguments and which credentials. Two
// entries with one digest are the same server to the hub, whatever they are called. It is 64 hexadecimal digits.
func (s *Server) Digest() string {
	text, err := json.Marshal([]any{s.Type, s.Command, s.Args, s.Env, s.InheritEnv, s.Cwd, s.URL, s.Headers, s.Auth, s.BearerToken})
	if err != nil {
		panic(err) // strings and booleans are always JSON
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
