package results

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
)

// What a result is as text.
func TestText(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"one block", `{"content":[{"type":"text","text":"a\u00e9"}]}`, "aé\n"},
		{"blocks end their lines once", `{"content":[{"type":"text","text":"a\n"},{"type":"text","text":"b"}]}`, "a\nb\n"},
		{"text before structure", `{"structuredContent":{"a":1},"content":[{"type":"text","text":"t"}]}`, "t\n"},
		{"structure as written", `{"content":[], "structuredContent": {"a" : 1.0} }`, `{"a" : 1.0}`},
		{"structure behind white space", " \n{\"structuredContent\":[1 ,2]}", `[1 ,2]`},
		{"structure instead of an empty text", `{"content":[{"type":"text","text":""}],"structuredContent":{}}`, `{}`},
		{"embedded", `{"content":[{"type":"resource","resource":{"uri":"x:","text":"inside"}}]}`, "inside\n"},
		{"an image beside text", `{"content":[{"type":"text","text":"t"},{"type":"image","data":"AAEC"}]}`, "t\n[image block, 30 bytes of JSON: path content.1]\n"},
		{"only an image", `{"content":[{"type":"image","data":"AAEC"}]}`, `{"content":[{"type":"image","data":"AAEC"}]}`},
		{"neither", `{"content":[],"structuredContent":null}`, `{"content":[],"structuredContent":null}`},
		{"no object", `[1]`, `[1]`},
		{"no UTF-8", "{\"structuredContent\":\"a\xffb\"}", "\"a\uFFFDb\""},
		{"half of a surrogate pair", `{"content":[{"type":"text","text":"a\ud800b"}]}`, "a\uFFFDb\n"},
		{"a type that is an attack", `{"content":[{"type":"text","text":"t"},{"type":"\u001b[2J\n"},{}]}`, "t\n[[2J block, 22 bytes of JSON: path content.1]\n[other block, 2 bytes of JSON: path content.2]\n"},
	} {
		s := store(t)
		page, err := s.Read(Local, put(t, s, Local, []byte(c.raw)), Slice{}, 0)
		if err != nil || page.Data != c.want || page.Total != int64(len(c.want)) {
			t.Errorf("%s: %+v, %v", c.name, page, err)
		}
	}
}

func TestHead(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"a\nb\nc", 100, "a\nb\nc\n"}, {"a\nb\nc", 5, "a\nb\n"}, {"a\nb\nc", 4, "a\nb\n"}, {"a\nb\nc", 3, "a\n"},
		{"ééé", 3, "é"}, {"ééé", 1, ""}, {"ééé", 0, ""}, {"ééé", -1, ""},
	} {
		if got := Head(textResult(c.text), c.limit); got != c.want {
			t.Errorf("%q within %d: %q, want %q", c.text, c.limit, got, c.want)
		}
	}
	if got := Head([]byte(`{"structuredContent":{"a":[1,2,3]}}`), 8); got != `{"a":[1,` {
		t.Errorf("of a structure: %q", got)
	}
}

func TestSlices(t *testing.T) {
	s := store(t)
	const text = "one\nté\n\n€four\nfive" // and a newline: 22 bytes
	handle := put(t, s, Local, textResult(text))
	for _, c := range []struct {
		slice Slice
		want  string // the page's JSON
	}{
		{Slice{}, `{"data":"one\nté\n\n€four\nfive\n","offset":0,"total":22}`},
		{Slice{Limit: 4}, `{"data":"one\n","offset":0,"total":22,"next":{"offset":4}}`},
		{Slice{Offset: 4, Limit: 2}, `{"data":"t","offset":4,"total":22,"next":{"offset":5}}`},
		{Slice{Offset: 6, Limit: 1}, `{"data":"é","offset":5,"total":22,"next":{"offset":7}}`},
		{Slice{Offset: 11, Limit: 1}, `{"data":"€","offset":9,"total":22,"next":{"offset":12}}`},
		{Slice{Offset: 17}, `{"data":"five\n","offset":17,"total":22}`},
		{Slice{Offset: 22}, `{"data":"","offset":22,"total":22}`},
		{Slice{Lines: Lines{1, 1}}, `{"data":"one\n","offset":0,"total":22,"lines":"1","totalLines":5,"next":{"lines":"2"}}`},
		{Slice{Lines: Lines{2, 3}}, `{"data":"té\n\n","offset":4,"total":22,"lines":"2-3","totalLines":5,"next":{"lines":"4-5"}}`},
		{Slice{Lines: Lines{3, 3}}, `{"data":"\n","offset":8,"total":22,"lines":"3","totalLines":5,"next":{"lines":"4"}}`},
		{Slice{Lines: Lines{4, 0}}, `{"data":"€four\nfive\n","offset":9,"total":22,"lines":"4-5","totalLines":5}`},
		{Slice{Lines: Lines{5, 900}}, `{"data":"five\n","offset":17,"total":22,"lines":"5","totalLines":5}`},
		{Slice{Path: "content.0.text", Lines: Lines{5, 5}}, `{"data":"five","offset":17,"total":21,"lines":"5","totalLines":5}`},
		{Slice{Path: "content.0.text", Lines: Lines{4, 4}}, `{"data":"€four\n","offset":9,"total":21,"lines":"4","totalLines":5,"next":{"lines":"5"}}`},
		{Slice{Path: "content.#"}, `{"data":"1","offset":0,"total":1}`},
	} {
		page, err := s.Read(Local, handle, c.slice, 0)
		if err != nil {
			t.Errorf("%+v: %v", c.slice, err)
		} else if got := string(page.JSON()); got != c.want {
			t.Errorf("%+v:\n got %s\nwant %s", c.slice, got, c.want)
		}
	}
	for _, c := range []struct {
		slice Slice
		says  string
	}{
		{Slice{Offset: 23}, "22 bytes"}, {Slice{Offset: -1}, "less than 0"}, {Slice{Limit: -1}, "less than 0"},
		{Slice{Lines: Lines{6, 0}}, "5 lines"}, {Slice{Lines: Lines{2, 1}}, "before"}, {Slice{Lines: Lines{0, 1}}, "first is 1"},
		{Slice{Lines: Lines{1, 1}, Limit: 1}, "excludes"}, {Slice{Lines: Lines{1, 1}, Offset: 1}, "excludes"},
	} {
		_, err := s.Read(Local, handle, c.slice, 0)
		wantClass(t, err, failure.InvalidArguments, c.says)
	}
}

func TestPaths(t *testing.T) {
	s := store(t)
	inner := `{"items":[{"id":1,"name":"a"},{"id":2,"name":"b"}],"big":12345678901234567890}`
	raw := strings.TrimSuffix(string(textResult(inner)), "}") + `,"structuredContent":` + inner + `,"@odd":1}`
	handle := put(t, s, Local, []byte(raw))
	for path, want := range map[string]string{
		"structuredContent.big":                              "12345678901234567890",
		"structuredContent.items.#.name":                     `["a","b"]`,
		"structuredContent.items.#":                          "2",
		"structuredContent.items.#(id==2).name":              "b",
		"structuredContent.items.#.{id,name}":                `[{"id":1,"name":"a"},{"id":2,"name":"b"}]`,
		"structuredContent.items.0|@keys":                    `["id","name"]`,
		"structuredContent|items|@reverse|0.id":              "2",
		"content.0.text|@fromstr|items.1.name":               "b",
		"content.0.text.@fromstr.items.#":                    "2",
		"content.0.text|@fromstr":                            inner,
		"@this":                                              raw,
		"@this.content.0.text.@fromstr.items.#.name|@this|1": "b",
		`\@odd`: "1",
	} {
		page, err := s.Read(Local, handle, Slice{Path: path}, 0)
		if err != nil || page.Data != want {
			t.Errorf("%s: %+v, %v", path, page, err)
		}
	}
	for path, want := range map[string]struct {
		class failure.Class
		says  string
	}{
		"structuredContent.item":          {failure.NotFound, "structuredContent.items"},
		"nothing":                         {failure.NotFound, "content"},
		"structuredContent|@fromstr":      {failure.InvalidArguments, "no string"},
		"structuredContent.items|@pretty": {failure.InvalidArguments, "@keys"},
		"@tostr|@tostr|@tostr":            {failure.InvalidArguments, "modifiers"},
		"@flatten:{\"deep\":true}":        {failure.InvalidArguments, "modifiers"},
		"{a:@dig:x}":                      {failure.InvalidArguments, "modifiers"},
		"[@this,@this]|[@this,@this]":     {failure.InvalidArguments, "one selection"},
		"{content.{type}}":                {failure.InvalidArguments, "one selection"},
		strings.Repeat("a", maxPath+1):    {failure.InvalidArguments, "limit"},
		"content.0.type|@fromstr":         {failure.InvalidArguments, "no JSON"},
	} {
		_, err := s.Read(Local, handle, Slice{Path: path}, 0)
		wantClass(t, err, want.class, want.says)
	}
}

// JSON that is nested without end, in a result or in a text of one, is refused
// where it would have to be descended into.
func TestDepth(t *testing.T) {
	s := store(t)
	deep := strings.Repeat("[", 4<<20) + strings.Repeat("]", 4<<20)
	handle := put(t, s, Local, append([]byte(`{"structuredContent":`), deep+`,"content":[{"type":"text","text":"`+deep+`"}]}`...))
	_, err := s.Read(Local, handle, Slice{Path: "content.0.text|@fromstr|0.0"}, 0)
	wantClass(t, err, failure.InvalidArguments, "no JSON")
	for _, path := range []string{"structuredContent.0.0.0|@flatten", "structuredContent.#.#", "structuredContent|@reverse|@values"} {
		if _, err := s.Read(Local, handle, Slice{Path: path, Limit: 10}, 0); err != nil {
			wantClass(t, err, failure.NotFound, "")
		}
	}
}

// readAll follows Next to the end and returns all data. Every answer fits.
func readAll(t testing.TB, read func(Slice, int64) (*Page, error), slice Slice, fit int64) string {
	t.Helper()
	var all strings.Builder
	for range 1 << 20 {
		page, err := read(slice, fit)
		if err != nil {
			t.Fatalf("%+v: %v", slice, err)
		}
		if page.Offset != int64(all.Len()) {
			t.Fatalf("%+v begins at %d, and the page before ended at %d", slice, page.Offset, all.Len())
		}
		if answer := page.Result(); int64(len(answer)) > fit || !json.Valid(answer) || !utf8.Valid(answer) {
			t.Fatalf("%+v: an answer of %d bytes within %d: %.300s", slice, len(answer), fit, answer)
		}
		all.WriteString(page.Data)
		if page.Next == nil {
			return all.String()
		}
		slice.Lines, slice.Offset = page.Next.Lines, page.Next.Offset
	}
	t.Fatal("there is no end")
	return ""
}

// Paging through a result by either measure, in answers of any size, yields all of
// it.
func TestPaging(t *testing.T) {
	s := store(t)
	var lines strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&lines, "%d %s\n", i, strings.Repeat("\"é\t€😀\x01", i%17))
	}
	for name, text := range map[string]string{
		"lines":        lines.String(),
		"one line":     strings.Repeat("€\\", 20_000) + "\n",
		"empty lines":  strings.Repeat("\n", 20_000),
		"control":      strings.Repeat("\x01", 5_000) + "\n",
		"a long first": strings.Repeat("x", 10_000) + "\nshort\n" + strings.Repeat("y", 10_000) + "\n",
	} {
		handle := put(t, s, Local, textResult(text))
		read := func(slice Slice, fit int64) (*Page, error) { return s.Read(Local, handle, slice, fit) }
		for _, fit := range []int64{1 << 10, 5000, 256 << 10} {
			for _, slice := range []Slice{{}, {Lines: Lines{1, 0}}, {Lines: Lines{1, 7}}} {
				if got := readAll(t, read, slice, fit); got != text {
					t.Errorf("%s by %+v within %d: %d bytes, want %d", name, slice, fit, len(got), len(text))
				}
			}
		}
	}
}

// The last line of an answer tells a client that shows only text how to go on.
func TestAnswer(t *testing.T) {
	s := store(t)
	handle := put(t, s, Local, textResult(strings.Repeat("line\n", 100)))
	for _, c := range []struct {
		slice Slice
		want  string
	}{
		{Slice{Limit: 10}, "line\nline\n\n[bytes 0 to 10 of 500; go on with offset 10]"},
		{Slice{Lines: Lines{3, 4}}, "line\nline\n\n[lines 3-4 of 100, bytes 10 to 20 of 500; go on with lines \"5-6\"]"},
		{Slice{Offset: 495}, "line\n\n[bytes 495 to 500 of 500; this is the end]"},
	} {
		page, err := s.Read(Local, handle, c.slice, 4096)
		if err != nil {
			t.Fatal(err)
		}
		answer := gjson.ParseBytes(page.Result())
		if got := answer.Get("content.0.text").Str; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
		if got := answer.Get("structuredContent").Raw; got != string(page.JSON()) {
			t.Errorf("%s, want %s", got, page.JSON())
		}
	}
}

func TestParseArguments(t *testing.T) {
	for in, want := range map[string]Arguments{
		`{"handle":"h"}`: {Handle: "h"},
		`{"handle":"h","offset":5,"limit":7,"path":"a.b"}`: {"h", Slice{Path: "a.b", Offset: 5, Limit: 7}},
		`{"handle":"h","lines":"3-9"}`:                     {"h", Slice{Lines: Lines{3, 9}}},
		`{"handle":"h","lines":"3-","path":null}`:          {"h", Slice{Lines: Lines{3, 0}}},
		`{"handle":"h","lines":"3"}`:                       {"h", Slice{Lines: Lines{3, 3}}},
	} {
		if got, err := ParseArguments([]byte(in)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
	for in, says := range map[string]string{
		``: "result_read", `[]`: "result_read", `{}`: "handle", `{"handle":5}`: "handle", `{"handle":"h","ofset":1}`: "ofset",
		`{"handle":"h"} {}`: "one JSON object", `{"handle":"h","limit":0}`: "at least 1", `{"handle":"h","offset":1.5}`: "1.5",
		`{"handle":"h","lines":"0-3"}`: "first line is 1", `{"handle":"h","lines":"9-3"}`: "before", `{"handle":"h","lines":"a"}`: "A-B",
		`{"handle":"h","lines":"1-3","offset":3}`: "excludes", `{"handle":"h","path":"@pretty"}`: "modifiers",
	} {
		_, err := ParseArguments([]byte(in))
		wantClass(t, err, failure.InvalidArguments, says)
	}
}

// The tool does what its definition says, and its schema takes what it takes.
func TestTool(t *testing.T) {
	if !json.Valid([]byte(ToolDefinition)) || gjson.Get(ToolDefinition, "name").Str != ToolName {
		t.Fatal("the definition is no JSON")
	}
	s := store(t)
	handle := put(t, s, "token:1", textResult("one\ntwo\n"))
	answer, err := s.Call("token:1", []byte(`{"handle":"`+handle+`","lines":"2"}`), 1024)
	if err != nil || gjson.GetBytes(answer, "structuredContent.data").Str != "two\n" {
		t.Errorf("%s, %v", answer, err)
	}
	_, err = s.Call("token:2", []byte(`{"handle":"`+handle+`"}`), 1024)
	wantClass(t, err, failure.NotFound, "another credential")
	_, err = s.Call("token:1", nil, 1024)
	wantClass(t, err, failure.InvalidArguments, "result_read")
	var in []string
	gjson.Get(ToolDefinition, "inputSchema.properties").ForEach(func(k, _ gjson.Result) bool { in = append(in, k.Str); return true })
	if got := strings.Join(in, " "); got != "handle lines offset limit path" {
		t.Errorf("the definition has %s", got)
	}
}

func FuzzParseArguments(f *testing.F) {
	f.Add([]byte(`{"handle":"h","lines":"1-3"}`))
	f.Add([]byte(`{"handle":"h","offset":1,"limit":2,"path":"a.#(b>1)#.{c,d}|@keys"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := ParseArguments(in)
		if err != nil {
			return
		}
		if err := a.Check(); err != nil {
			t.Errorf("%+v was accepted: %v", a, err)
		}
		if a.Lines != (Lines{}) {
			if again, err := ParseLines(a.Lines.String()); err != nil || again != a.Lines {
				t.Errorf("%v reads as %v, %v", a.Lines, again, err)
			}
		}
	})
}

// FuzzRead reads any result with any slice: nothing panics, every answer fits, and
// paging from the beginning yields all of it.
func FuzzRead(f *testing.F) {
	f.Add(textResult("a\né\n€"), "", int64(2), int64(3), int64(1), uint16(0))
	f.Add([]byte(`{"structuredContent":{"a":[{"b":1}]}}`), "structuredContent.a.#.b", int64(0), int64(0), int64(2), uint16(9))
	f.Add([]byte(`{"content":[{"type":"image","data":"\ud83d"}`), "content.0|@keys", int64(1), int64(9), int64(0), uint16(99))
	f.Fuzz(func(t *testing.T, raw []byte, path string, offset, limit, line int64, fit uint16) {
		if len(raw) > 16<<10 {
			t.Skip()
		}
		within := 1<<10 + int64(fit)
		src, err := memory(raw, path)
		if err != nil {
			return
		}
		for _, slice := range []Slice{{Path: path, Offset: offset, Limit: limit}, {Path: path, Lines: Lines{line, limit}}} {
			if slice.Check() != nil {
				continue
			}
			page, err := src.page(slice, within)
			if err == nil && (!utf8.ValidString(page.Data) || int64(len(page.Result())) > within || page.Offset+int64(len(page.Data)) > page.Total) {
				t.Errorf("%+v: %+v", slice, page)
			}
		}
		want, err := src.page(Slice{}, 0)
		if err != nil || int64(len(want.Data)) != src.size {
			t.Fatalf("%+v, %v", want, err)
		}
		for _, slice := range []Slice{{}, {Lines: Lines{1, 0}}} {
			if got := readAll(t, src.page, slice, within); got != want.Data {
				t.Errorf("%+v yields %q, want %q", slice, got, want.Data)
			}
		}
	})
}

// memory is what is read of a result without a file.
func memory(raw []byte, path string) (*source, error) {
	value := string(textOf(raw).bytes)
	if path != "" {
		var err error
		if err = checkPath(path); err == nil {
			value, err = valueAt(raw, path)
		}
		if err != nil {
			return nil, err
		}
	}
	return &source{strings.NewReader(value), int64(len(value)), countLines([]byte(value))}, nil
}
