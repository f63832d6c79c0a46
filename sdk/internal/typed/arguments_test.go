package typed

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/sdk/failure"
)

type everyKind struct {
	S    string         `json:"s,omitempty"`
	I    int            `json:"i,omitempty"`
	U8   uint8          `json:"u8,omitempty"`
	F    float64        `json:"f,omitempty"`
	B    bool           `json:"b,omitempty"`
	L    []item2        `json:"l,omitempty"`
	M    map[string]int `json:"m,omitempty"`
	Big  json.Number    `json:"big,omitempty"`
	Free any            `json:"free,omitempty"`
}

type item2 struct {
	ID int `json:"id"`
}

func everySchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	s, err := ObjectSchema(reflect.TypeFor[everyKind]())
	if err != nil {
		t.Fatal(err)
	}
	s.Properties["s"].Enum = []any{"a", "b"}
	s.Properties["f"].Maximum = new(1.5)
	return s
}

func TestCheckAndDecode(t *testing.T) {
	s := everySchema(t)
	tests := []struct {
		in   string
		want []string // path and rule
	}{
		{`{}`, nil},
		{`{"s":"a","i":-9007199254740993,"u8":255,"f":1.5,"b":true,"l":[{"id":1}],"m":{"x":1},"big":12345678901234567890.5,"free":{"a":[null]}}`, nil},
		{`{"s":"c"}`, []string{"/s enum"}},
		{`{"s":null}`, []string{"/s type"}},
		{`{"i":1.5}`, []string{"/i type"}},
		{`{"i":1.0}`, []string{"/i type"}},         // an integer by the schema, but not for Go
		{`{"i":1e400000000}`, []string{"/i type"}}, // cheap, and out of range
		{`{"u8":256}`, []string{"/u8 maximum"}},
		{`{"u8":-1}`, []string{"/u8 minimum"}},
		{`{"f":1.5000000000000001}`, []string{"/f maximum"}},
		{`{"l":[{"id":1},{"id":"x"},{},5,{"id":1,"no":2}]}`, []string{"/l/1/id type", "/l/2/id required", "/l/3 type", "/l/4/no additionalProperties"}},
		{`{"m":{"a":"b","a/b":true}}`, []string{"/m/a type", "/m/a~1b type"}},
		{`{"S":"a"}`, []string{"/S additionalProperties"}},
		{`[]`, []string{" type"}},
		{`null`, []string{" type"}},
		{``, []string{" type"}},
		{`{} x`, []string{" type"}},
	}
	for _, test := range tests {
		problems := Check(s, json.RawMessage(test.in))
		if problems == nil {
			_, problems = Decode[everyKind](json.RawMessage(test.in))
		}
		var got []string
		for _, p := range problems {
			got = append(got, p.Path+" "+p.Rule)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: problems %q, want %q", test.in, got, test.want)
		}
	}
}

func TestNumbersKeepTheirDigits(t *testing.T) {
	in, problems := Decode[everyKind](json.RawMessage(`{"i":9007199254740993,"big":12345678901234567890,"free":1.0}`))
	if problems != nil || in.I != 9007199254740993 || in.Big != "12345678901234567890" || in.Free != json.Number("1.0") {
		t.Errorf("%+v, %v", in, problems)
	}
}

func TestProblemsAreBounded(t *testing.T) {
	raw := []byte(`{"a":1`)
	for i := range 1000 {
		name, _ := json.Marshal(string(rune('一' + i)))
		raw = append(append(append(raw, ','), name...), ":1"...)
	}
	problems := Check(everySchema(t), append(raw, '}'))
	if len(problems) != maxProblems {
		t.Errorf("%d problems", len(problems))
	}
	if got := Summarize(problems); got != "/a is not a known member (and 15 more)" {
		t.Errorf("summary %q", got)
	}
	if got := Summarize([]failure.Problem{{Message: "not JSON"}}); got != "not JSON" {
		t.Errorf("summary %q", got)
	}
}

// FuzzCheck: what strangers send never panics, and what passes the check and the
// decoder does so again after a round trip.
func FuzzCheck(f *testing.F) {
	s := everySchema(f)
	for _, seed := range []string{`{}`, `{"l":[{"id":1}],"m":{"x":1}}`, `{"i":1e999999999}`, `{"s":"\ud800"}`, `[[[[`, `{"i":1}{}`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if Check(s, raw) != nil {
			return
		}
		v, problems := Decode[everyKind](raw)
		if problems != nil {
			return
		}
		again, err := Encode(v)
		if err != nil {
			t.Fatalf("%q decodes to %+v, which does not encode: %v", raw, v, err)
		}
		if problems := Check(s, again); problems != nil {
			t.Errorf("%q became %q: %v", raw, again, problems)
		}
	})
}
