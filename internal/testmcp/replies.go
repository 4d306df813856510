package testmcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Replies are raw results by request: "resources/list", or "resources/read test://a" for the one of that
// uri, "prompts/get a" for the one of that name. What is not among them is served as by any good server.
type Replies map[string]string

// Name is the part of a server's name that makes it give these replies.
func (r Replies) Name(t testing.TB) string {
	t.Helper()
	raw, err := json.Marshal(map[string]string(r))
	if err != nil {
		t.Fatalf("encoding the replies: %v", err)
	}
	file := filepath.Join(t.TempDir(), "replies.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return "replies:" + file
}

func buildReplies(file string) hooks {
	raw, err := os.ReadFile(file)
	if err != nil {
		panic("testmcp: reading the replies: " + err.Error())
	}
	var replies Replies
	if err := json.Unmarshal(raw, &replies); err != nil {
		panic("testmcp: reading the replies: " + err.Error())
	}
	return hooks{take: func(x *exchange) ([][]byte, bool) {
		for _, key := range []string{" " + text(x.msg.member("uri")), " " + text(x.msg.member("name")), ""} {
			reply, ok := replies[x.msg.Method+key]
			if !ok || !x.msg.isRequest() {
				continue
			}
			result := []byte(reply)
			if x.modern {
				result = complete(x.msg.Method, result)
			}
			return [][]byte{resultTo(x.msg.ID, result)}, true
		}
		return nil, false
	}}
}
