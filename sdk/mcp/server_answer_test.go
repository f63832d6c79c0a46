package mcp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// What a modern client wants is added where it is missing; all the rest stays as it
// was written.
func TestAppendResult(t *testing.T) {
	s := NewServer(&desk{}, ServerOptions{Name: "n", Version: "1"})
	const info = `"io.modelcontextprotocol/serverInfo":{"name":"n","version":"1"}`
	for _, test := range []struct{ name, result, want string }{
		{"empty", `{}`, `{"resultType":"complete","_meta":{` + info + `}}`},
		{"space", " {\n} \t", `{"resultType":"complete","_meta":{` + info + `} }`},
		{"members", `{ "b":1.0,"a":9007199254740993 }`, `{"resultType":"complete","_meta":{` + info + `}, "b":1.0,"a":9007199254740993 }`},
		{"typed", `{"resultType":"input_required","requestState":"<&>"}`, `{"_meta":{` + info + `},"resultType":"input_required","requestState":"<&>"}`},
		{"typed, escaped", `{"result\u0054ype":"task"}`, `{"_meta":{` + info + `},"result\u0054ype":"task"}`},
		{"meta", `{"_meta": {"x":1} ,"a":[]}`, `{"resultType":"complete","_meta": {` + info + `,"x":1} ,"a":[]}`},
		{"empty meta", `{"a":1,"_meta":{ }}`, `{"resultType":"complete","a":1,"_meta":{` + info + ` }}`},
		{"named", `{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"other"}}}`, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"other"}}}`},
		{"both", `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":null}}`, `{"resultType":"complete","_meta":{"io.modelcontextprotocol/serverInfo":null}}`},
		{"no meta", `{"_meta":null}`, `{"resultType":"complete","_meta":null}`},
		{"deeper", `{"a":{"resultType":"x","_meta":{}}}`, `{"resultType":"complete","_meta":{` + info + `},"a":{"resultType":"x","_meta":{}}}`},
		{"lines", "{\r\n\"a\" : \"\\n\u2028\",\n\n\"b\":2\n}", `{"resultType":"complete","_meta":{` + info + `},  "a" : "\n` + "\u2028" + `",  "b":2 }`},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := strings.Clone(test.result)
			got, err := s.appendResult(nil, json.RawMessage(test.result), true)
			if err != nil || string(got) != test.want || !json.Valid(got) {
				t.Errorf("%v\n got %s\nwant %s", err, got, test.want)
			}
			if test.result != before {
				t.Error("the result itself was changed")
			}
			got, err = s.appendResult(nil, json.RawMessage(test.result), false)
			if want := strings.NewReplacer("\n", " ", "\r", " ").Replace(strings.TrimSpace(test.result)); err != nil || string(got) != want {
				t.Errorf("legacy: %v\n got %s\nwant %s", err, got, want)
			}
		})
	}
	for _, bad := range []string{``, ` `, `[]`, `null`, `{`, `{}x`, `{"a"}`, "{\"a\":\"\xff\"}", `{"a":1}{}`} {
		for _, modern := range []bool{false, true} {
			if got, err := s.appendResult(nil, json.RawMessage(bad), modern); err == nil {
				t.Errorf("%q became %s", bad, got)
			}
		}
	}
}

func FuzzAppendResult(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, `{"_meta":{}}`, `{"_meta":{"x":[]},"resultType":"x"}`, "{\n\"_meta\" : { } , \"a\":1.0}", `{"\u005fmeta":{}}`} {
		f.Add([]byte(seed))
	}
	s := NewServer(&desk{}, ServerOptions{Name: "n", Version: "1"})
	f.Fuzz(func(t *testing.T, result []byte) {
		got, err := s.appendResult(nil, result, true)
		if ok := checkObject("", result) == nil && len(trim(result)) > 0; ok != (err == nil) {
			t.Fatalf("%q: object %v, error %v", result, ok, err)
		}
		if err != nil {
			return
		}
		var before, after map[string]json.RawMessage
		if json.Unmarshal(result, &before) != nil {
			return // deeper than encoding/json goes, for instance
		}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%q became %q: %v", result, got, err)
		}
		if after["resultType"] == nil || bytes.ContainsAny(got, "\r\n") {
			t.Fatalf("%q became %q", result, got)
		}
		for name, value := range before {
			if name != "_meta" && !bytes.Equal(oneLine(value), after[name]) {
				t.Fatalf("%q became %q", result, got)
			}
		}
		if before["resultType"] == nil {
			delete(after, "resultType")
		}
		if before["_meta"] == nil {
			delete(after, "_meta")
		}
		if len(before) != len(after) {
			t.Fatalf("%q became %q", result, got)
		}
		if meta := map[string]any{}; isObject(before["_meta"]) && json.Unmarshal(before["_meta"], &meta) == nil {
			more := map[string]any{}
			_ = json.Unmarshal(after["_meta"], &more)
			if meta[metaPrefix+"serverInfo"] == nil {
				delete(more, metaPrefix+"serverInfo")
				delete(meta, metaPrefix+"serverInfo")
			}
			if !reflect.DeepEqual(meta, more) {
				t.Fatalf("%q became %q", result, got)
			}
		}
	})
}
