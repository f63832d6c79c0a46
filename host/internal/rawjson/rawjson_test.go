package rawjson

import (
	"encoding/json"
	"testing"
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
