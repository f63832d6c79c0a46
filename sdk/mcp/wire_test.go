package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

func TestScan(t *testing.T) {
	for _, test := range []struct {
		in   string
		want error
	}{
		{`{}`, nil}, {`[]`, nil}, {` { "a" : [ 1 , -0.5e+3 , true , false , null , "x" ] } `, nil},
		{`"\u00e9\"\\\/\b"`, nil}, {`"` + strings.Repeat("x", 100) + `"`, nil},
		{``, errTruncated}, {`{`, errTruncated}, {`{"a"`, errTruncated}, {`{"a":`, errTruncated}, {`{"a":1`, errTruncated},
		{`{"a":1,`, errTruncated}, {`[1,`, errTruncated}, {`"abc`, errTruncated}, {`"abc\`, errTruncated}, {`"\u12`, errTruncated},
		{`tru`, errTruncated}, {`-`, errTruncated}, {`1.`, errTruncated}, {`1e`, errTruncated},
		{`{a}`, errSyntax}, {`{"a" 1}`, errSyntax}, {`{"a":1,}`, errSyntax}, {`[1,]`, errSyntax}, {`[1 2]`, errSyntax},
		{`01`, errSyntax}, {`+1`, errSyntax}, {`.5`, errSyntax}, {`NaN`, errSyntax}, {`trie`, errSyntax}, {`'a'`, errSyntax},
		{`"\x"`, errSyntax}, {`"\u00g0"`, errSyntax}, {"\"\\u\x10000\"", errSyntax}, {"\"a\nb\"", errSyntax}, {"\"1234567\x01\"", errSyntax}, {`{} {}`, errSyntax},
		{strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), nil},
		{strings.Repeat("[", maxDepth+1), errDepth},
	} {
		if got := checkDocument([]byte(test.in)); !errors.Is(got, test.want) {
			t.Errorf("%.40q: %v, want %v", test.in, got, test.want)
		}
	}
}

func TestEnvelope(t *testing.T) {
	e, end, err := scanEnvelope([]byte(`x{"id":7,"\u0072esult":{"a":1.0 },"Result":2,"ID":9,"re`+"\u017f"+`ult":3,"error":null} y`), 1)
	if err != nil || string(e.id) != "7" || string(e.result) != `{"a":1.0 }` || string(e.err) != "null" || e.version != nil || e.repeated != "" {
		t.Errorf("envelope %+v, %v", e, err)
	}
	if end != len(`x{"id":7,"\u0072esult":{"a":1.0 },"Result":2,"ID":9,"re`+"\u017f"+`ult":3,"error":null}`) {
		t.Errorf("end = %d", end)
	}
	for in, want := range map[string]string{
		`{"id":1,"id":2}`:                 "id",
		`{"result":1,"re\u0073ult":2}`:    "result",
		`{"method":"a","x":1,"method":3}`: "method",
		`{"x":1,"x":2,"jsonrpc":"2.0"}`:   "",
	} {
		if e, _, err := scanEnvelope([]byte(in), 0); err != nil || e.repeated != want {
			t.Errorf("%s: repeated %q, %v; want %q", in, e.repeated, err, want)
		}
	}
}

func TestParseID(t *testing.T) {
	for in, want := range map[string]uint64{
		`7`: 7, `"7"`: 7, `7.0`: 7, `7e0`: 7, `7E+0`: 7, `70e-1`: 7, `9007199254740992`: 1 << 53, `1e3`: 1000, `"120"`: 120,
		`0`: 0, `-7`: 0, `7.5`: 0, `"7.0"`: 0, `"07"`: 0, `" 7"`: 0, `""`: 0, `null`: 0, `true`: 0, `{}`: 0, ``: 0, `"x"`: 0,
		`9007199254740993`: 1<<53 + 1, `9007199254740993.0`: 0, `18446744073709551617`: 0, `1e400`: 0, `"18446744073709551617"`: 0, `"-7"`: 0,
	} {
		got, ok := parseID([]byte(in))
		if ok != (want != 0) || ok && got != want {
			t.Errorf("parseID(%s) = %d, %v; want %d", in, got, ok, want)
		}
	}
}

func TestIDOfBroken(t *testing.T) {
	for _, test := range []struct {
		head, tail string
		want       uint64
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"te`, `xxx`, 7},
		{`{"result":{"id":9,"te`, `xx"},"jsonrpc":"2.0","id":7}`, 7},
		{`{"result":{"te`, `xx"},"id":"7","jsonrpc":"2.0"} `, 7},
		{`{"result":[{"te`, `xx","id":9}]}`, 0}, // the id of something inside
		{`{"result":{"te`, `"text":"\"id\":9}"}}`, 0},
		{`junk {"id":7,"method":"x","params":{`, `}`, 0},
		{`no bracket`, `nothing`, 0},
	} {
		got, _ := idOfBroken([]byte(test.head), []byte(test.tail))
		if got != test.want {
			t.Errorf("%s...%s: id %d, want %d", test.head, test.tail, got, test.want)
		}
	}
}

// heard collects what a decoder delivers.
type heard struct {
	messages []string
	failed   []uint64
}

func (h *heard) message(e envelope) {
	h.messages = append(h.messages, string(e.id)+string(e.method)+string(e.result))
}

func (h *heard) broken(head, tail []byte, _ string, oversized bool) {
	if id, ok := idOfBroken(head, tail); ok || oversized {
		h.failed = append(h.failed, id)
	}
}

func decode(in io.Reader, max int) (*heard, *decoder, error) {
	h := &heard{}
	d := &decoder{to: h, log: slog.New(slog.DiscardHandler), max: max, counts: &counts{}}
	r := newLineReader(in, max)
	for {
		l, err := r.next()
		if err != nil {
			d.end()
			return h, d, nil
		}
		if err := d.line(l); err != nil {
			return h, d, err
		}
	}
}

func TestDecoder(t *testing.T) {
	for _, test := range []struct {
		name, in string
		messages string // joined by spaces
		failed   []uint64
		junk     int64
	}{
		{"plain", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","method":"n"}`, `1{} "n"`, nil, 0},
		{"bracket then message", "{\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `1{}`, nil, 1},
		{"open bracket in a banner", "{\nstarting\n[\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `1{}`, nil, 3},
		{"pretty batch", "[\n {\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}},\n{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}]\n", `1{} 2{}`, nil, 0},
		{"large pretty", "{\"jsonrpc\":\"2.0\",\"id\":1,\n" + strings.Repeat(" \"x\":\"}{\\\"\",\n", 1000) + "\"result\":{}}\n", `1{}`, nil, 0},
		{"two and a half", `{"jsonrpc":"2.0","id":1,"result":{}} {"jsonrpc":"2.0","id":2,"result":{}}{"jsonrpc":"2.0","id":3,"result":{`, `1{} 2{}`, []uint64{3}, 1},
		{"trailing junk", `{"jsonrpc":"2.0","id":1,"result":{}} done` + "\n", `1{}`, nil, 1},
		{"salvage", `> {a} {"x":1} {"jsonrpc":"2.0","id":1,"result":{}}` + "\n", `1{}`, nil, 1},
		{"broken answer", `{"jsonrpc":"2.0","id":5,"result":{"a":undefined}}` + "\n", ``, []uint64{5}, 1},
		{"raw newline in a string", "{\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{\"a\":\"x\ny\"}}\n", ``, []uint64{5}, 2},
		{"no version", `{"id":1,"result":{}}` + "\n" + `{"id":2,"result":"x"}` + "\n" + `{"method":"x"}` + "\n", `1{}`, nil, 2},
		{"oversized", `{"jsonrpc":"2.0","id":6,"result":{"a":"` + strings.Repeat("x", 1<<17) + `"}}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`, `1{}`, []uint64{6}, 0},
		{"oversized pretty", "{\"jsonrpc\":\"2.0\",\"id\":6,\"result\":[\n" + strings.Repeat("1,\n", 1<<16) + "1]}\n" + `{"jsonrpc":"2.0","id":1,"result":{}}`, `1{}`, []uint64{6}, 1},
		{"log lines with Content-Length", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\nContent-Length: 5\n", `1{}`, nil, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, d, err := decode(strings.NewReader(test.in), 1<<16)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(h.messages, " "); got != test.messages {
				t.Errorf("messages %q, want %q", got, test.messages)
			}
			if len(h.failed) != len(test.failed) || len(h.failed) == 1 && h.failed[0] != test.failed[0] {
				t.Errorf("failed %v, want %v", h.failed, test.failed)
			}
			if got := d.junk.Load(); test.name != "oversized pretty" && got != test.junk {
				t.Errorf("junk %d, want %d", got, test.junk)
			}
			// The same, whatever the reads.
			again, _, _ := decode(iotest.OneByteReader(strings.NewReader(test.in)), 1<<16)
			if strings.Join(again.messages, " ") != test.messages {
				t.Errorf("byte by byte: messages %q", again.messages)
			}
		})
	}
}

// FuzzScan: we accept exactly what encoding/json accepts.
func FuzzScan(f *testing.F) {
	for _, s := range []string{`{"a":[1,2.5e3,"x\u00e9",null]}`, `{"a":1,}`, `"\ud800"`, `[[[]]]`, `-0`, `01`, "\"\x7f\"", ` {} `, "\"12345678\\n\"", `{"a":1}x`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := checkDocument(b) == nil, json.Valid(b); got != want {
			t.Errorf("%q: accepted %v, encoding/json says %v", b, got, want)
		}
	})
}

// FuzzEnvelope: members are found as encoding/json finds them when names are
// unique and exact.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{`{"jsonrpc":"2.0","id":7,"result":{"a":1}}`, `{"id":"7","Result":1,"error":null}`, `{"id":7,"id":8}`, `{"\u0069d":1}`, `{"method":"x","params":[1]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		start := skipSpace(b, 0)
		if start >= len(b) || b[start] != '{' || !json.Valid(b) || !utf8.Valid(b) {
			return
		}
		e, _, err := scanEnvelope(b, start)
		if err != nil {
			t.Fatalf("%q: %v", b, err)
		}
		var m map[string]json.RawMessage
		if json.Unmarshal(b, &m) != nil || e.repeated != "" {
			return
		}
		for name, got := range map[string][]byte{"jsonrpc": e.version, "id": e.id, "method": e.method, "params": e.params, "result": e.result, "error": e.err} {
			if !bytes.Equal(got, m[name]) {
				t.Errorf("%q: %s is %q, encoding/json says %q", b, name, got, m[name])
			}
		}
	})
}

// FuzzID never panics, and accepts a number of ours in any spelling only.
func FuzzID(f *testing.F) {
	for _, s := range []string{`7`, `"7"`, `7.0`, `7e0`, `null`, `-1`, `1e309`, `"`, `""`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		id, ok := parseID(b)
		if ok && (id == 0 || id > 1<<63) {
			t.Errorf("%q is id %d", b, id)
		}
		idOfBroken(b, b)
	})
}

// FuzzLines: whatever the reads and the buffer, lines are those of a plain split.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 3)
	f.Add([]byte("{\n"+strings.Repeat("x", 100)+"\n}"), 50)
	f.Fuzz(func(t *testing.T, b []byte, max int) {
		if max < 1 || max > 1<<16 {
			return
		}
		r := newLineReader(iotest.HalfReader(bytes.NewReader(b)), max)
		r.r = bufio.NewReaderSize(iotest.HalfReader(bytes.NewReader(b)), 16) // lines span many reads
		want := bytes.Split(b, []byte{'\n'})
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		for i, w := range want {
			l, err := r.next()
			if err != nil {
				t.Fatalf("line %d: %v", i, err)
			}
			if l.size != int64(len(w)) {
				t.Fatalf("line %d has size %d, want %d", i, l.size, len(w))
			}
			switch over := len(w) > max; {
			case over != (l.tail != nil):
				t.Fatalf("line %d of %d bytes: over %v at %d", i, len(w), l.tail != nil, max)
			case !over && !bytes.Equal(l.data, w):
				t.Fatalf("line %d is %q, want %q", i, l.data, w)
			case over && (!bytes.HasPrefix(w, l.data) || !bytes.HasSuffix(w, l.tail)):
				t.Fatalf("line %d: head %q, tail %q of %q", i, l.data, l.tail, w)
			}
		}
		if _, err := r.next(); err != io.EOF {
			t.Fatalf("after the last line: %v", err)
		}
	})
}

// FuzzDecoder never panics or hangs, and a message on a line of its own always
// arrives.
func FuzzDecoder(f *testing.F) {
	for _, s := range []string{"{\n", "[", "\x1b[1mhi\n", `{"jsonrpc":"2.0","id":1,"result":{"a":"`, "Content-Length: 3\r\n\r\n{}\n", "\xff\xfe{\x00", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, `{"jsonrpc`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		message := "\n" + `{"jsonrpc":"2.0","id":4711,"result":{"last":true}}` + "\n"
		h, _, err := decode(io.MultiReader(bytes.NewReader(b), strings.NewReader(message)), 1<<16)
		if err != nil {
			return // the whole output is unusable
		}
		if n := len(h.messages); n == 0 || h.messages[n-1] != `4711{"last":true}` {
			t.Errorf("%q swallowed the message after it", b)
		}
	})
}
