package hub

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"sync"
	"time"

	"mcphub/wire"
)

// stateTTL is how long a client may take to come back with answers.
const stateTTL = 5 * time.Minute

// state is what the hub hides in a requestState. It is bound to the request that it was made for, expires,
// and counts once (MCP 2026-07-28, Multi Round-Trip Requests, Server Requirements).
type state struct {
	Parked   string          `json:"p,omitempty"` // the parked call that goes on
	Upstream json.RawMessage `json:"u,omitempty"` // the server's own requestState
	Call     []byte          `json:"c"`           // digest of the request
	Expires  int64           `json:"x"`           // Unix seconds

	nonce string // makes it count once
}

// sealer encrypts states under one key, and remembers those that have been used.
type sealer struct {
	aead cipher.AEAD
	ttl  time.Duration // of a state

	mu   sync.Mutex       // guards used
	used map[string]int64 // nonces with their expiry
}

// newSealer makes a sealer; without a key of 32 bytes it makes one, and no state outlives the process.
func newSealer(key []byte) *sealer {
	if len(key) != 32 {
		key = make([]byte, 32)
		_, _ = rand.Read(key) // never fails: crypto/rand ends the program where it could not
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err) // 32 bytes are a key
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return &sealer{aead: aead, ttl: stateTTL, used: map[string]int64{}}
}

// digestOf is what makes a request the same when it is sent again with answers.
func digestOf(r *Request) []byte {
	sum := sha256.New()
	sum.Write([]byte(r.Client.Server + "\x00" + r.Msg.Method))
	for _, key := range []string{"name", "uri", "arguments"} {
		sum.Write([]byte{0})
		sum.Write(wire.Get(r.Msg.Params, key))
	}
	return sum.Sum(nil)
}

// seal writes a state for the client to send back, as a raw string.
func (s *sealer) seal(r *Request, st state) []byte {
	st.Call, st.Expires = digestOf(r), time.Now().Add(s.ttl).Unix()
	plain, _ := json.Marshal(st) // a state always encodes
	nonce := make([]byte, s.aead.NonceSize())
	_, _ = rand.Read(nonce)
	return wire.Quote(base64.RawURLEncoding.EncodeToString(s.aead.Seal(nonce, nonce, plain, nil)))
}

var errState = &wire.Error{Code: wire.CodeInvalidParams,
	Message: "requestState is not valid: it was changed, used before, is for another request, took longer than 5 minutes, or the hub was restarted meanwhile; call again without it"}

// open reads a state that a client sent back, once.
func (s *sealer) open(r *Request, token string) (state, *wire.Error) {
	var st state
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	size := s.aead.NonceSize()
	if err != nil || len(sealed) < size {
		return st, errState
	}
	plain, err := s.aead.Open(nil, sealed[:size], sealed[size:], nil)
	if err != nil || json.Unmarshal(plain, &st) != nil {
		return st, errState
	}
	st.nonce = string(sealed[:size])
	if string(st.Call) != string(digestOf(r)) || time.Now().Unix() > st.Expires || !s.use(st) {
		return st, errState
	}
	return st, nil
}

// use says whether a state is used for the first time.
func (s *sealer) use(st state) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now().Unix()
	for nonce, expires := range s.used {
		if expires < now {
			delete(s.used, nonce)
		}
	}
	if _, again := s.used[st.nonce]; again {
		return false
	}
	s.used[st.nonce] = st.Expires
	return true
}

// sealInput hides a server's own requestState in one of the hub's.
func (h bridge) sealInput(r *Request, answer Answer) Answer {
	own := wire.Get(answer.Result, "requestState")
	if own == nil {
		return answer
	}
	token := h.sealer.seal(r, state{Upstream: own})
	return Answer{Result: wire.Splice(answer.Result, wire.Edit{Key: "requestState", Value: token})}
}
