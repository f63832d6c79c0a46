package recording

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// strange is what can stand where JSON should.
var strange = []string{
	`{"a":1}`, `{ "a" : 1.0e0, "b":9007199254740993 }`, "{\n\t\"a\": 1\n}", ` {}`, "{}\n", "", "null", `"<&>"`, `"\u003c"`,
	`{"$text":"x"}`, `{ "$base64" : "eA==" }`, `{"$text":1}`, `{"$other":1}`, "no JSON", "\xff\xfe", "{\"a\":\"\xff\"}", `{"a":1,"a":2}`, "\u2028",
}

// written is one entry as it is read again.
func written(t *testing.T, e Entry) Entry {
	t.Helper()
	var buf bytes.Buffer
	if err := NewWriter(&buf, "1.2.3").Add(e, nil); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(buf.Bytes(), []byte("\n")); n != 2 {
		t.Fatalf("%d lines for a session of one entry: %q", n, buf.Bytes())
	}
	r, err := Read(&buf)
	if err != nil {
		t.Fatal(err)
	}
	return r.Entries[0]
}

func TestRawIsByteForByte(t *testing.T) {
	t.Parallel()
	for _, s := range strange {
		if got := written(t, Entry{Kind: CallTool, Server: "s", Result: Raw(s)}).Result; string(got) != s {
			t.Errorf("%q came back as %q", s, got)
		}
	}
}

func FuzzRaw(f *testing.F) {
	for _, s := range strange {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got := written(t, Entry{Kind: CallTool, Server: "s", Arguments: b}).Arguments; !bytes.Equal(got, b) {
			t.Errorf("%q came back as %q", b, got)
		}
	})
}

// FuzzRead reads files of strangers: no panic, and what is read can be written and
// read again.
func FuzzRead(f *testing.F) {
	const head = `{"collet":"recording","version":1}` + "\n"
	f.Add([]byte(head + `{"kind":"call","server":"s","tool":"t","result":{"a": 1},"events":[{"done":1},{"level":"info","data":{}}]}` + "\n"))
	f.Add([]byte(head + `{"kind":"tools","server":"s","tools":[{"name":"t","definition":{}}]}` + "\n" + `{"kind":"call","failure":{"class":"timeout"}}`))
	f.Add([]byte(`{"collet":"recording","version":2}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Read(bytes.NewReader(b))
		if err != nil {
			return
		}
		for _, server := range r.Servers() {
			r.Tools(server)
			_, _ = r.Tape(server, true).Call("t", nil, nil, "")
		}
		for _, e := range r.Entries {
			again := written(t, e)
			if e.Kind == CallTool && (!bytes.Equal(again.Result, e.Result) || !bytes.Equal(again.Arguments, e.Arguments)) {
				t.Errorf("%q became %q", e.Result, again.Result)
			}
		}
	})
}

func TestEntry(t *testing.T) {
	t.Parallel()
	yes := true
	for _, e := range []Entry{
		{Kind: Describe, Server: "s", Description: json.RawMessage(`{"name":"x"}`)},
		{Kind: Configure, Server: "s", Config: Raw(`{}`), RestartRequired: true, MS: 3},
		{Kind: Snapshot, Server: "s", ServerInfo: Raw(`{"x":1}`), ForwardMethods: []string{"resources/read"}},
		{Kind: Tools, Server: "s", Page: "1", Next: "2", Tools: []Tool{{Name: "t", Definition: Raw(`{"name": "t"}`), ReadOnly: &yes, AsksConsent: true, OutputSchema: Raw("{}")}}},
		{Kind: CallTool, Server: "s", Tool: "t", Arguments: Raw(`{"a":1}`), Meta: Raw("{}"), InputResponses: Raw("{}"), RequestState: "r",
			Events: []Event{{Done: 0.5, Total: 2, Message: "<half>"}, {Level: "warn", Logger: "l", Data: Raw(`"x"`)}}, Result: Raw(`{}`), IsError: true},
		{Kind: CallTool, Server: "s", Tool: "t", Input: &Input{Requests: Raw("{}"), State: "x"}},
		{Kind: Forward, Server: "s", Method: "m", Params: Raw("{}"), Failure: FailureOf(&failure.Failure{
			Class: failure.RateLimited, Delivery: failure.Answered, Message: "m", RetryAfter: time.Second, Target: "t", UpstreamCode: 429,
			UpstreamData: []byte("text"), Problems: []failure.Problem{{Path: "/a", Rule: "r", Message: "m"}}, Challenge: "c"})},
	} {
		if got := written(t, e); !reflect.DeepEqual(got, e) {
			t.Errorf("%+v\ncame back as\n%+v", e, got)
		}
		if e.Failure != nil && !reflect.DeepEqual(FailureOf(e.Failure.Failure()), e.Failure) {
			t.Errorf("%+v is no failure like %+v", e.Failure.Failure(), e.Failure)
		}
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	const head = `{"collet":"recording","version":1}` + "\n"
	for _, tt := range []struct{ text, err string }{
		{"", "1: it is no recording: it is empty"},
		{"{}\n", "1: it is no recording: the first line"},
		{"text\n", "1: invalid character"},
		{`{"collet":"recording","version":2}` + "\n", "1: the recording has version 2 of the format, and this is 1"},
		{head + "text\n" + `{"kind":"call"}` + "\n", "2: invalid character"},
		{head + `{"kind":7}` + "\n", "2: json: "},
	} {
		if _, err := Read(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%q: %v, want %q", tt.text, err, tt.err)
		}
	}
	// A host that was killed in the middle of a line, and one that came after it knew more.
	r, err := Read(strings.NewReader(head + `{"kind":"later","server":"s","more":[]}` + "\n" + head + `{"kind":"call","server":"s","tool":"t"}` + "\n" + `{"kind":"call","ser`))
	if err != nil || len(r.Entries) != 2 || r.Entries[1].Tool != "t" {
		t.Errorf("%+v, %v", r, err)
	}
	// Every page of the last list, and no failed one.
	r, err = Read(strings.NewReader(head + `{"kind":"tools","server":"s","tools":[{"name":"old"}]}
{"kind":"tools","server":"s","next":"2","tools":[{"name":"a"}]}
{"kind":"tools","server":"s","page":"2","tools":[{"name":"b"}]}
{"kind":"tools","server":"s","failure":{"class":"timeout"}}
{"kind":"tools","server":"other","tools":[{"name":"c"}]}
`))
	if err != nil || len(r.Tools("s")) != 2 || r.Tools("s")[1].Name != "b" || strings.Join(r.Servers(), " ") != "other s" {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTape(t *testing.T) {
	t.Parallel()
	call := func(tool, args, result string) Entry {
		return Entry{Kind: CallTool, Server: "s", Tool: tool, Arguments: Raw(args), Result: Raw(result)}
	}
	r := &Recording{Entries: []Entry{
		call("t", `{"a":1,"b":[2]}`, "first"), call("u", `{}`, "u"), call("t", `{"b":[2],"a":1}`, "second"),
		{Kind: Forward, Server: "s", Method: "resources/read", Params: Raw(`{"uri":"x"}`), Result: Raw("read")},
		{Kind: CallTool, Server: "other", Tool: "t", Result: Raw("other")},
	}}
	check := func(t *testing.T, e *Entry, err error, want string) {
		t.Helper()
		var f *failure.Failure
		switch {
		case err == nil && string(e.Result) != want:
			t.Errorf("%s, want %s", e.Result, want)
		case err != nil && (!errors.As(err, &f) || f.Class != failure.NotFound || f.Delivery != failure.NotSent || !strings.Contains(f.Message, want)):
			t.Errorf("%#v, want %q", err, want)
		}
	}
	by := r.Tape("s", false)
	for _, tt := range []struct{ tool, args, state, want string }{
		{"t", `{ "b": [2], "a": 1 }`, "", "first"}, {"t", `{"a":1,"b":[2]}`, "", "second"}, {"t", `{"a":1,"b":[2]}`, "", "second"},
		{"u", "", "", "u"},
		{"t", `{"a":1.0,"b":[2]}`, "", `t {"a":1.0,"b":[2]} was not recorded for s; recorded are: t {"a":1,"b":[2]}`},
		{"t", `{"a":1,"b":[2]}`, "state", "was not recorded"},
		{"v", `{}`, "", "no call of v was recorded for s"},
	} {
		e, err := by.Call(tt.tool, []byte(tt.args), nil, tt.state)
		check(t, e, err, tt.want)
	}
	e, err := by.Forward("resources/read", []byte(`{"uri":"x"}`))
	check(t, e, err, "read")
	order := r.Tape("s", true)
	e, err = order.Call("u", nil, nil, "")
	check(t, e, err, `call 1 of s was recorded as t {"a":1,"b":[2]}, and comes as u`)
	for _, tt := range []struct{ tool, args, want string }{{"t", `{"a":1,"b":[2]}`, "first"}, {"u", `{}`, "u"}, {"t", `{"a":1,"b":[2]}`, "second"}} {
		e, err = order.Call(tt.tool, []byte(tt.args), nil, "")
		check(t, e, err, tt.want)
	}
	e, err = order.Forward("resources/read", []byte(`{"uri":"x"}`))
	check(t, e, err, "read")
	e, err = order.Call("t", nil, nil, "")
	check(t, e, err, "the recording is over")
}

func TestRedact(t *testing.T) {
	t.Parallel()
	const secret = "hunter22"
	e := Entry{
		Kind: CallTool, Server: secret, Tool: "t", Arguments: Raw(`{"a":"hunter22"}`), Meta: Raw(secret), InputResponses: Raw(secret), RequestState: secret,
		Config: Raw(secret), ServerInfo: Raw(secret), Params: Raw(secret), Result: Raw(secret),
		Tools:  []Tool{{Name: "t", Definition: Raw(secret), OutputSchema: Raw(secret)}},
		Events: []Event{{Message: secret}, {Level: "info", Data: Raw(secret)}}, Input: &Input{Requests: Raw(secret), State: secret},
		Failure: &Failure{Message: secret, Target: secret, Challenge: secret, UpstreamData: Raw(secret), Problems: []failure.Problem{{Message: secret}}},
	}
	var buf bytes.Buffer
	if err := NewWriter(&buf, "").Add(e, func(s string) string { return strings.ReplaceAll(s, secret, "[x]") }); err != nil {
		t.Fatal(err)
	}
	// The name of the server is the user's own.
	if got := buf.String(); strings.Count(got, secret) != 1 || strings.Count(got, "[x]") != 19 {
		t.Errorf("%s", got)
	}
	const schema = `{"properties":{"token":{"x-collet-secret":true},"in":{"properties":{"key":{"x-collet-secret":true}}}}}`
	if got := withoutSecrets(parse(schema), parse(`{"token":"x","url": "u","in":{"key":1,"k":2}}`)); string(got) != `{"token":"[redacted]","url":"u","in":{"key":"[redacted]","k":2}}` {
		t.Errorf("%s", got)
	}
}

// failing is a disk that is full.
type failing struct{ n int }

func (f *failing) Write(p []byte) (int, error) {
	f.n++
	return 0, os.ErrDeadlineExceeded
}

func TestWriterStops(t *testing.T) {
	t.Parallel()
	f := &failing{}
	w := NewWriter(f, "")
	for range 3 {
		if err := w.Add(Entry{Kind: Snapshot}, nil); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
	if f.n != 1 || w.Err() == nil {
		t.Errorf("%d writes, %v", f.n, w.Err())
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const head = `{"collet":"recording","version":1}`
	for text, want := range map[string]string{
		head + "\n": "", head + "\n{}\n": "", "{}\n": "no recording", "text": "invalid character", head: "cut off", head + "\n{": "cut off",
		`{"collet":"recording","version":3}` + "\n": "version 3",
	} {
		path := filepath.Join(t.TempDir(), "f")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := Check(f); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		f.Close()
	}
}

func parse(s string) gjson.Result { return gjson.Parse(s) }
