package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestScanFindsTheEnvelope(t *testing.T) {
	m, err := Scan([]byte(` {"jsonrpc":"2.0", "id" : 9007199254740993,"method":"tools\/call","params":{"a":1.10}} `))
	if err != nil {
		t.Fatal(err)
	}
	if string(m.ID) != "9007199254740993" || m.Method != ToolsCall || string(m.Params) != `{"a":1.10}` || !m.IsRequest() {
		t.Errorf("got %q %q %q", m.ID, m.Method, m.Params)
	}
	m, err = Scan([]byte(`{"id":"1","result":null}`))
	if err != nil || !m.IsResponse() || string(m.ID) != `"1"` {
		t.Errorf("response: %+v, %v", m, err)
	}
	m, err = Scan([]byte(`{"method":"notifications/x"}`))
	if err != nil || !m.IsNotification() {
		t.Errorf("notification: %+v, %v", m, err)
	}
}

func TestScanRefuses(t *testing.T) {
	for _, text := range []string{
		"", "{", "[]", "1", `{"id":1}`, `{"id":null,"method":"x"}`, `{"id":{},"method":"x"}`, `{"id":1.,"method":"x"}`,
		`{"method":1}`, `{"id":1,"method":"a","method":"b"}`, `{"id":1,"method":"x"} {}`, `{"id":1,"method":"x",}`,
		"{\"method\":\"a\nb\"}", `{"method":"\x"}`, `{"id":01,"method":"x"}`, `{"result":1}`,
		`{"method":"x","params":` + strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1) + `}`,
	} {
		if m, err := Scan([]byte(text)); err == nil {
			t.Errorf("%.60q passed as %+v", text, m)
		}
	}
}

func TestMembersDecodesKeys(t *testing.T) {
	obj := []byte(`{ "\u006eame" : "a" , "x":[1,{"name":2}], "":{} }`)
	if got := Get(obj, "name"); string(got) != `"a"` {
		t.Errorf("name = %q", got)
	}
	if got := Path(obj, "", "none"); got != nil {
		t.Errorf("a missing member gave %q", got)
	}
	if _, err := Fields([]byte(`{"name":1,"n\u0061me":2}`), "name"); err == nil {
		t.Error("a member that stands twice passed")
	}
}

func TestSpliceKeepsTheRest(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"b":1e5, "name" : "x","a":[ 1 ] }`, `{"b":1e5, "name" : "y","a":[ 1 ],"new":1 }`},
		{`{ "gone":1, "z":2}`, `{ "z":2,"name":"y","new":1}`},
		{`{"z":2 , "gone":1 }`, `{"z":2,"name":"y","new":1 }`},
		{`{"a":1,"gone":1,"z":2}`, `{"a":1,"z":2,"name":"y","new":1}`},
		{`{"gone":1,"gone":2,"name":3,"gone":4}`, `{"name":"y","new":1}`},
		{`{"gone":1}`, `{"name":"y","new":1}`},
		{`{ }`, `{"name":"y","new":1 }`},
		{``, `{"name":"y","new":1}`},
		{`null`, `{"name":"y","new":1}`},
		{`{"name":1,"name":2}`, `{"name":"y","new":1}`},
		{`{"a":1,"name":1,"b":2,"name":2}`, `{"a":1,"name":"y","b":2,"new":1}`},
	} {
		got := Splice([]byte(c.in), Edit{"name", []byte(`"y"`)}, Edit{"gone", nil}, Edit{"new", []byte("1")})
		if string(got) != c.want {
			t.Errorf("%s: got %s, want %s", c.in, got, c.want)
		}
	}
}

func TestInt(t *testing.T) {
	for raw, want := range map[string]int64{`7`: 7, `"7"`: 7, `7.0`: 7, `-1`: -1, `9007199254740993`: 9007199254740993} {
		if n, ok := Int([]byte(raw)); !ok || n != want {
			t.Errorf("%s gave %d, %v", raw, n, ok)
		}
	}
	for _, raw := range []string{``, `"x"`, `7.5`, `null`, `99999999999999999999`} {
		if n, ok := Int([]byte(raw)); ok {
			t.Errorf("%s gave %d", raw, n)
		}
	}
}

func TestEventReader(t *testing.T) {
	stream := "\n: comment\nevent: endpoint\nid: 7\nretry: 20\ndata: one\ndata:two\n\nno-colon\ndata\n\ndata: cr\r\rdata: crlf\r\n\r\ndata: cut"
	for name, r := range map[string]io.Reader{"whole": strings.NewReader(stream), "bytewise": iotest.OneByteReader(strings.NewReader(stream))} {
		er := NewEventReader(r, 100)
		ev, err := er.Next()
		if err != nil || ev.Type != "endpoint" || string(ev.Data) != "one\ntwo" || ev.ID != "7" || ev.Retry != 20*time.Millisecond {
			t.Fatalf("%s: %+v, %v", name, ev, err)
		}
		for _, want := range []string{"", "cr", "crlf"} {
			if ev, err = er.Next(); err != nil || string(ev.Data) != want || ev.ID != "7" {
				t.Fatalf("%s: %+v, %v, want %q", name, ev, err, want)
			}
		}
		if _, err = er.Next(); err != io.EOF {
			t.Fatalf("%s: a cut event gave %v", name, err)
		}
		er.Close()
	}
}

func TestEventReaderLimit(t *testing.T) {
	long := strings.Repeat("x", 20<<10)
	er := NewEventReader(strings.NewReader("data: "+long+"\n\n"), 21<<10)
	if ev, err := er.Next(); err != nil || string(ev.Data) != long {
		t.Fatalf("%d bytes, %v", len(ev.Data), err)
	}
	er = NewEventReader(strings.NewReader("data: "+long+"\n\n"), 1000)
	if _, err := er.Next(); !errors.Is(err, ErrTooLong) {
		t.Fatalf("got %v", err)
	}
}

func TestEventWriterRoundTrip(t *testing.T) {
	var buf bytes.Buffer
	w := &EventWriter{W: &buf}
	if err := errors.Join(w.Priming("0", time.Second), w.Comment("beat"), w.Event("1", "message", []byte("{\n\"a\":1}"))); err != nil {
		t.Fatal(err)
	}
	er := NewEventReader(&buf, 100)
	if ev, err := er.Next(); err != nil || ev.ID != "0" || ev.Retry != time.Second || len(ev.Data) != 0 {
		t.Fatalf("%+v, %v", ev, err)
	}
	if ev, err := er.Next(); err != nil || ev.ID != "1" || string(ev.Data) != `{ "a":1}` {
		t.Fatalf("%+v, %v", ev, err)
	}
}

func TestLineReader(t *testing.T) {
	long := strings.Repeat("y", 100<<10)
	lr := NewLineReader(strings.NewReader("\n  \r\n one \r\n"+long+"\n"+long+"TAIL\ntwo"), 100<<10)
	for _, want := range []string{"one", long} {
		if line, err := lr.Next(); err != nil || string(line) != want {
			t.Fatalf("%.20q, %v", line, err)
		}
	}
	var tooLong *LongLine
	if _, err := lr.Next(); !errors.As(err, &tooLong) || !errors.Is(err, ErrTooLong) || tooLong.Bytes != 100<<10+5 || !bytes.HasSuffix(tooLong.Tail, []byte("TAIL\n")) {
		t.Fatalf("%+v", tooLong)
	}
	if line, err := lr.Next(); err != nil || string(line) != "two" {
		t.Fatalf("%q, %v", line, err)
	}
	if _, err := lr.Next(); err != io.EOF {
		t.Fatalf("%v", err)
	}
}

func TestBatch(t *testing.T) {
	if msgs, ok := Batch([]byte(` [{"a":1}, 2] `)); !ok || len(msgs) != 2 || string(msgs[1]) != "2" {
		t.Errorf("%q, %v", msgs, ok)
	}
	if _, ok := Batch([]byte(`{}`)); ok {
		t.Error("an object passed as a batch")
	}
}

func TestQuote(t *testing.T) {
	for _, s := range []string{"plain", `<&">`, "line\nbreak", "\x01", "héllo\u2028"} {
		var back string
		if err := json.Unmarshal(Quote(s), &back); err != nil || back != s || String(Quote(s)) != s {
			t.Errorf("%q became %s", s, Quote(s))
		}
	}
}

// FuzzScan holds the scanner against encoding/json: what one calls JSON, so does the other.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"id":1,"method":"x","params":{"a":[1,2,{"b":null}]}}`, `[1e5,-0.1,"\u00e9\\"]`, `{"a":}`, "\"\x01\"", `{"a" :1 , "b":[ ] }`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := Valid(b), json.Valid(b); got != want {
			t.Fatalf("Valid says %v, encoding/json %v: %q", got, want, b)
		}
		m, err := Scan(b)
		if err != nil {
			return
		}
		edited := Splice(m.Raw, Edit{"id", []byte("1")}, Edit{"extra", []byte("true")}, Edit{"params", nil})
		if !json.Valid(edited) || Get(edited, "params") != nil || string(Get(edited, "extra")) != "true" {
			t.Fatalf("splice broke %q into %q", b, edited)
		}
		if _, err := Scan(OneLine(edited)); err != nil && m.Method != "" {
			t.Fatalf("%q no longer scans: %v", edited, err)
		}
	})
}

// FuzzEvents feeds the event reader foreign bytes: it must end, and never hand out more than its limit.
func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\r\rdata: b\n\nid: 1\n\n"))
	f.Add([]byte(":\n\revent:x\n\ndata"))
	f.Fuzz(func(t *testing.T, b []byte) {
		er := NewEventReader(bytes.NewReader(b), 64)
		defer er.Close()
		for range len(b) + 2 {
			ev, err := er.Next()
			if err != nil {
				return
			}
			if len(ev.Data) > 66 {
				t.Fatalf("%d bytes of data", len(ev.Data))
			}
		}
		t.Fatalf("the reader does not end on %q", b)
	})
}

func BenchmarkScan(b *testing.B) {
	small := []byte(`{"jsonrpc":"2.0","id":12,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hello hello hello"}}}`)
	large := []byte(`{"jsonrpc":"2.0","id":12,"result":{"content":[{"type":"text","text":"` + strings.Repeat(strings.Repeat("x", 126)+`\n`, 8<<10) + `"}]}}`)
	for name, msg := range map[string][]byte{"100B": small, "1MiB": large} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(msg)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Scan(msg); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSplice(b *testing.B) {
	params := []byte(`{"name":"mcp_up_echo","arguments":{"text":"hello hello hello"},"_meta":{"progressToken":1}}`)
	b.ReportAllocs()
	for b.Loop() {
		Splice(params, Edit{"name", []byte(`"echo"`)})
	}
}
