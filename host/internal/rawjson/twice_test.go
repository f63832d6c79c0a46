package rawjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestTwice(t *testing.T) {
	many := func(last string) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, `"k%d":{"k%d":[]},`, i, i)
		}
		return "{" + b.String() + last + ":0}"
	}
	for text, want := range map[string]string{
		`{}`: "", `[]`: "", `1`: "", ` "a\"" `: "", ` { "a" : [ ] , "b" : { } } `: "",
		`{"a":1,"A":2,"":3," ":4}`:                         "",
		`{"a":{"a":{"a":1}},"b":[{"a":1},{"a":1}]}`:        "",
		`{"a":"\"a\":1,","b":"{\"b\":1}","c":"\\"}`:        "",
		`{"a":1,"a":2}`:                                    "/a",
		`{"a":1,"b":-1.5e3 ,"a":null}`:                     "/a",
		`{"a":1,"\u0061":2}`:                               "/a",
		`{"\\":1,"\u005c":2}`:                              `/\`,
		`{"":1,"":2}`:                                      "/",
		`{"x/y~":[0,{"b":true,"c":{"d":1},"b":[]}],"z":1}`: "/x~1y~0/1/b",
		many(`"x"`):                                        "",
		many(`"k0"`):                                       "/k0",
		many(`"k39"`):                                      "/k39",
		many(`"k\u0032"`):                                  "/k2",
	} {
		path, found := Twice([]byte(text))
		if found != (want != "") || path != want {
			t.Errorf("%s: %q %v, want %q", text, path, found, want)
		}
	}
}

func TestTwiceCostsLittle(t *testing.T) {
	text := []byte(`{"path":"a.txt","head":3,"options":{"a":[1,2,{"b":"c"}],"d":null}}`)
	if n := testing.AllocsPerRun(100, func() { Twice(text) }); n > 1 { // for the names
		t.Errorf("%v allocations", n)
	}
}

func TestTwiceAtTheDepthLimit(t *testing.T) {
	deep := []byte(strings.Repeat(`{"a":[`, 5000) + strings.Repeat(`]}`, 5000))
	if !json.Valid(deep) {
		t.Fatal("encoding/json refuses what this test takes for the limit")
	}
	if path, found := Twice(deep); found {
		t.Errorf("found %.40s", path)
	}
}

// FuzzTwice compares with a decoder that counts an object's members.
func FuzzTwice(f *testing.F) {
	for _, seed := range []string{`{"a":1,"a":2}`, `[{"b":{}},{"b":{"c":1,"\u0063":2}}]`, ` {"a" : "\\\"" } `, `"\ud800"`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			t.Skip()
		}
		if _, found := Twice(text); found != counted(t, json.NewDecoder(strings.NewReader(string(text)))) {
			t.Errorf("%q: %v", text, found)
		}
	})
}

func counted(t *testing.T, d *json.Decoder) (found bool) {
	token := func() json.Token {
		tok, err := d.Token()
		if err != nil {
			t.Skip() // what the decoder does not read is not compared
		}
		return tok
	}
	switch token() {
	case json.Delim('{'):
		seen := map[string]bool{}
		for d.More() {
			name := token().(string)
			found = found || seen[name]
			seen[name] = true
			found = counted(t, d) || found
		}
		token()
	case json.Delim('['):
		for d.More() {
			found = counted(t, d) || found
		}
		token()
	}
	return found
}
