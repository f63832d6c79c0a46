package mcpadapter

import (
	"encoding/json"
	"testing"
)

func TestWithAndWithout(t *testing.T) {
	for _, test := range []struct{ name, got, want string }{
		{"a member goes, the rest is as written", string(Without(json.RawMessage(`{ "a": 1.0, "icons":[{"src":"x"}], "b" : "<&>" }`), "icons")), `{"a":1.0,"b":"<&>"}`},
		{"several", string(Without(json.RawMessage(`{"a":1,"b":2,"c":3}`), "a", "c")), `{"b":2}`},
		{"an escaped name", string(Without(json.RawMessage(`{"ic\u006fns":1,"b":2}`), "icons")), `{"b":2}`},
		{"inside stays", string(Without(json.RawMessage(`{"a":{"icons":1}}`), "icons")), `{"a":{"icons":1}}`},
		{"nothing left", string(Without(json.RawMessage(`{"a":1}`), "a")), `{}`},
		{"no object", string(Without(json.RawMessage(`[1]`), "a")), `[1]`},
		{"added", string(With(json.RawMessage(`{"a":9007199254740993}`), "b<", json.RawMessage(`true`))), `{"a":9007199254740993,"b<":true}`},
		{"added to none", string(With(json.RawMessage(`{}`), "b", json.RawMessage(`1`))), `{"b":1}`},
		{"replaced, every one", string(With(json.RawMessage(`{"b":0,"a":1,"b":2}`), "b", json.RawMessage(`3`))), `{"a":1,"b":3}`},
		{"untrusted", string(Untrusted(json.RawMessage(`{"content":[]}`))), `{"content":[],"_meta":{"collet.dev/untrusted":true}}`},
		{"untrusted beside other meta", string(Untrusted(json.RawMessage(`{"_meta":{"a":1}}`))), `{"_meta":{"a":1,"collet.dev/untrusted":true}}`},
		{"odd meta", string(Untrusted(json.RawMessage(`{"_meta":7}`))), `{"_meta":{"collet.dev/untrusted":true}}`},
		{"text", Text(json.RawMessage(`{"content":[{"type":"text","text":"a"},{"type":"image","text":"no"},{"type":"text","text":"b\u00e9"}]}`)), "a\nbé"},
		{"no text", Text(json.RawMessage(`{"content":7}`)), ""},
	} {
		if test.got != test.want {
			t.Errorf("%s: %s, want %s", test.name, test.got, test.want)
		}
	}
}
