package codemode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"
)

// Numbers keep their digits both ways.
func TestNumbers(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, c := range []struct{ source, want string }{
		{`return await tools.t.echo({id: 12345678901234567890n})`, `{"id":12345678901234567890}`},
		{`const {id} = await tools.t.echo({id: 9007199254740993n}); return [typeof id, id, String(id + 1n)]`, `["bigint",9007199254740993,"9007199254740994"]`},
		{`const {id} = await tools.t.echo({id: 9007199254740991}); return typeof id`, `"number"`},
		{`const {result} = await tools.t.echo({result: JSON.rawJSON("0.12345678901234567890123")}); return [typeof result, result * 2, String(result), result]`,
			`["object",0.24691357802469135,"0.12345678901234567890123",0.12345678901234567890123]`},
		{`const {x} = await tools.t.echo({x: JSON.rawJSON("1e400")}); return [x > 1e308, x, x instanceof Decimal]`, `[true,1e400,true]`},
		{`const {x} = await tools.t.echo({x: [0.1, 1.10, 1e5, -0.0, 5e-324, 123456.789e3]}); return x.every((n) => typeof n === "number")`, `true`},
		{`return await tools.t.result({result: {content: [{type: "text", text: "[12345678901234567890]"}]}})`, `[12345678901234567890]`},
		{`text({a: 12345678901234567890n}); console.log(1n, {b: 2n}); store("k", 12345678901234567890n); return load("k")`, `12345678901234567890`},
	} {
		mustReturn(t, r, h, c.source, c.want)
	}
}

// The value of a call, by what is in its result.
func TestUnwrap(t *testing.T) {
	for _, c := range []struct{ result, want string }{
		{`{"content":[{"type":"text","text":"x"}],"structuredContent":{"a":1}}`, `{"a":1}`},
		{`{"content":[],"structuredContent":null}`, `null`},
		{`{"structuredContent":[1]}`, `[1]`},
		{`{"structuredContent":7}`, `7`},
		{`{"content":[{"type":"text","text":"{\"a\": 1}"}]}`, `{"a": 1}`},
		{`{"content":[{"type":"text","text":"\n [1, 2] "}]}`, `[1, 2]`},
		{`{"content":[{"type":"text","text":"{a: 1}"}]}`, `"{a: 1}"`},
		{`{"content":[{"type":"text","text":"12"}]}`, `"12"`},
		{`{"content":[{"type":"text","text":"true"}]}`, `"true"`},
		{`{"content":[{"type":"text","text":"007x"}]}`, `"007x"`},
		{`{"content":[{"type":"text","text":"[1]"},{"type":"text","text":"[2]"}]}`, `"[1]\n[2]"`},
		{`{"content":[]}`, `""`},
		{`{}`, `{}`},
		{`{"content":[{"type":"text","text":"a"},{"type":"image","data":"AA==","mimeType":"image/png"}]}`, ``},
		{`{"content":[{"type":"resource_link","uri":"a:b"}],"isError":false}`, ``},
	} {
		got, refusal := unwrap(json.RawMessage(c.result))
		want := c.want
		if want == "" {
			want = c.result // as it is
		}
		if refusal != nil || string(got) != want {
			t.Errorf("%s\nis %s (%v), want %s", c.result, got, refusal, want)
		}
	}
	_, refusal := unwrap(json.RawMessage(`{"isError":true,"structuredContent":{"why":1},"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`))
	if refusal == nil || refusal.Code != CodeTool || refusal.Message != "a\nb" || string(refusal.Details) != `{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"why":1}}` {
		t.Errorf("%+v", refusal)
	}
	if _, refusal = unwrap(json.RawMessage(`[]`)); refusal == nil || refusal.Code != CodeProtocol {
		t.Errorf("%+v", refusal)
	}
}

// Any JSON value comes through a script as it went in.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{
		`null`, `"\u0000\ud800\udc00 \ud800"`, `{"a":{"":[]},"__proto__":{"x":1},"constructor":1,"then":2,"toJSON":3}`, `12345678901234567890`, `-1.5e-7`,
		`[0.1,1e400,123456789012345678901234567890.5,-0]`, `"<script>&\u2028</script>"`, `{"2":1,"1":2}`, `[[[[[[]]]]]]`, `"` + strings.Repeat("é", 1000) + `"`,
	} {
		f.Add([]byte(s))
	}
	r, h := newRunner(f), newHost()
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || !utf8.Valid(raw) || len(raw) > 1<<16 || depth(raw) > 500 {
			t.Skip()
		}
		arguments := append(append([]byte(`{"v":`), raw...), '}')
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			t.Skip()
		}
		out := run(t, r, Script{Source: `return (await tools.t.result({result: {structuredContent: args}})).v`, Args: arguments}, h)
		if out.Error != nil {
			t.Fatalf("%s: %+v", raw, out.Error)
		}
		if got, want := normal(t, out.Value), normal(t, raw); got != want {
			t.Errorf("%s came back as %s:\n%s\n%s", raw, out.Value, got, want)
		}
	})
}

func depth(raw []byte) (deepest int) {
	d := 0
	for _, b := range raw {
		switch b {
		case '[', '{':
			d++
			deepest = max(deepest, d)
		case ']', '}':
			d--
		}
	}
	return deepest
}

// normal is a JSON value in one spelling: numbers by value, members as the last of
// that name has it.
func normal(t *testing.T, raw []byte) string {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return spell(v)
}

func spell(v any) string {
	switch v := v.(type) {
	case json.Number:
		if _, exponent, ok := strings.Cut(strings.ToLower(string(v)), "e"); ok && len(exponent) > 5 {
			return string(v) // too large to calculate with
		}
		x, _ := new(big.Rat).SetString(string(v))
		return x.RatString()
	case []any:
		s := "["
		for _, e := range v {
			s += spell(e) + ","
		}
		return s + "]"
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, fmt.Sprintf("%q:%s", k, spell(v[k])))
		}
		return fmt.Sprint(sorted(keys))
	default:
		return fmt.Sprintf("%#v", v)
	}
}
