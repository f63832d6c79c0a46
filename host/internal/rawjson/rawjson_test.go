package rawjson

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestAppendString(t *testing.T) {
	for in, want := range map[string]string{
		"":                   `""`,
		"a<b>&'\u2028":       "\"a<b>&'\u2028\"",
		"\"\\\n\r\t\x00\x1f": `"\"\\\n\r\t\u0000\u001f"`,
		"\x7f🤖":              "\"\x7f🤖\"",
		"\xffx":              "\"\uFFFDx\"",
	} {
		if got := string(AppendString(nil, in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func FuzzAppendString(f *testing.F) {
	f.Add("a\u2028\x80")
	f.Fuzz(func(t *testing.T, s string) {
		var back string
		if err := json.Unmarshal(AppendString(nil, s), &back); err != nil {
			t.Fatal(err)
		}
		var want string
		b, _ := json.Marshal(s)
		_ = json.Unmarshal(b, &want)
		if back != want {
			t.Errorf("%q came back as %q", s, back)
		}
	})
}

func TestObject(t *testing.T) {
	var empty Object
	if got := string(empty.Bytes()); got != "{}" {
		t.Error(got)
	}
	var o Object
	o.Raw("r", []byte("{ \"z\":1.0,\n\"a\":1e2 }"))
	o.Raw("none", nil)
	o.OptionalString("s", "")
	o.OptionalInt("i", 0)
	o.Int("n", -5)
	o.Bool("b", true)
	o.Strings("l", nil)
	o.Strings("m", []string{"x", `"`})
	want := "{\"r\":{ \"z\":1.0,\n\"a\":1e2 },\"none\":null,\"s\":null,\"i\":null,\"n\":-5,\"b\":true,\"l\":[],\"m\":[\"x\",\"\\\"\"]}"
	if got := string(o.Bytes()); got != want {
		t.Errorf("got %s", got)
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ object, want string }{
		{``, `{"k.x":1}`},
		{`{"x":"é","k.x":"\u00e9","y":2} `, `{"x":"é","k.x":1,"y":2} `},
		{`{}`, `{"k.x":1}`},
		{` { } `, `{"k.x":1}`},
		{`{"a":1.0}`, `{"k.x":1,"a":1.0}`},
		{` {"a" : "}" , "k.x" : {"k.x":2} } `, ` {"a" : "}" , "k.x" : 1 } `},
		{`{"\u006b.x":[2],"a":3}`, `{"\u006b.x":1,"a":3}`},
		{`{"k":{"x":2}}`, `{"k.x":1,"k":{"x":2}}`},
		{`{"k.x":0,"k.x":2}`, `{"k.x":1,"k.x":1}`}, // readers differ in which one counts
	} {
		if got := string(Set([]byte(c.object), "k.x", []byte("1"))); got != c.want {
			t.Errorf("%s becomes %s, want %s", c.object, got, c.want)
		}
	}
	if Set(nil, "k", nil) != nil {
		t.Error("nothing becomes something")
	}
}

// Whatever is set, every other member comes back byte for byte.
func FuzzSet(f *testing.F) {
	f.Add(`{"a":1.0, "k" : [1] ,"k":{"k":2}}`, "k")
	f.Add(` {} `, "")
	f.Fuzz(func(t *testing.T, object, key string) {
		var before map[string]json.RawMessage
		if !utf8.ValidString(object) || !utf8.ValidString(key) || json.Unmarshal([]byte(object), &before) != nil || before == nil {
			return
		}
		got := Set([]byte(object), key, []byte(`"new"`))
		var after map[string]json.RawMessage
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%s became %s: %v", object, got, err)
		}
		before[key] = json.RawMessage(`"new"`)
		if len(after) != len(before) {
			t.Fatalf("%s became %s", object, got)
		}
		for k, v := range before {
			if !bytes.Equal(after[k], v) {
				t.Fatalf("%s became %s: %q", object, got, k)
			}
		}
	})
}
