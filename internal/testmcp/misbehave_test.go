package testmcp_test

import (
	"maps"
	"testing"

	"mcphub/internal/testmcp"
)

// TestMisbehavioursDoWhatTheySay runs the proof of every entry of the table, and
// fails for an entry that has none.
func TestMisbehavioursDoWhatTheySay(t *testing.T) {
	proofs := map[string]func(*testing.T){}
	for _, table := range []map[string]func(*testing.T){stdioProofs, childProofs, httpProofs, sseProofs} {
		maps.Copy(proofs, table)
	}
	seen := map[string]bool{}
	for _, m := range testmcp.Misbehaviours {
		if seen[m.Name] || m.Doc == "" || m.Over == "" {
			t.Errorf("%q is listed twice, or says too little", m.Name)
		}
		seen[m.Name] = true
		proof := proofs[m.Name]
		if proof == nil {
			t.Errorf("%s has no proof", m.Name)
			continue
		}
		t.Run(m.Name, func(t *testing.T) {
			t.Parallel()
			proof(t)
		})
	}
	for name := range proofs {
		if !seen[name] {
			t.Errorf("the proof of %s is of no entry", name)
		}
	}
}

// TestAnyMisbehaviourIsTheSameOverHTTP looks at some of the entries that are
// "any" through the other transports.
func TestAnyMisbehaviourIsTheSameOverHTTP(t *testing.T) {
	for name, want := range map[string]string{
		"string-ids":         `"id":"7"`,
		"error-data":         testmcp.ErrorData,
		"null-result":        `"result":null`,
		"batch-answers":      `data: [{"jsonrpc"`,
		"unknown-answer-ids": `"id":987654321`,
		"foreign-requests":   `"method":"vendor/ask"`,
		"bad-utf8":           "\xff\xfe",
		"wrong-ids":          `"id":987654321`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := browse(t, testmcp.HTTP(t, name+":tools/call"))
			b.handshake()
			has(t, b.post(call("echo", `{}`)).body, want)
		})
	}
}

func TestHowOftenAMisbehaviourHappens(t *testing.T) {
	b := browse(t, testmcp.HTTP(t, "429#1+500:tools/list#2"))
	b.handshake()
	for i, want := range []int{429, 200, 200} {
		if a := b.post(call("echo", `{}`)); a.status != want {
			t.Errorf("call %d: status %d, want %d", i+1, a.status, want)
		}
	}
	for i, want := range []int{500, 500, 200} {
		if a := b.post(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); a.status != want {
			t.Errorf("list %d: status %d, want %d", i+1, a.status, want)
		}
	}
}
