package schema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/collet-dev/collet/sdk/failure"
)

func validate(t *testing.T, schema, instance string) []failure.Problem {
	t.Helper()
	s := Compile(json.RawMessage(schema))
	if s.Unchecked() != "" {
		t.Fatalf("%s is unchecked: %s", schema, s.Unchecked())
	}
	return s.Validate(json.RawMessage(instance))
}

// What servers in the field publish: each is usable, and says yes and no rightly.
func TestCheckedSchemas(t *testing.T) {
	const (
		draft4 = `"$schema":"http://json-schema.org/draft-04/schema#"`
		draft6 = `"$schema":"http://json-schema.org/draft-06/schema#"`
		draft7 = `"$schema":"http://json-schema.org/draft-07/schema#"`
		d2019  = `"$schema":"https://json-schema.org/draft/2019-09/schema"`
		d2020  = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	)
	for _, c := range []struct{ what, schema, good, bad string }{
		{"union at the root", `{"anyOf":[{"type":"object","required":["a"]},{"type":"object","required":["b"]}]}`, `{"b":1}`, `{"c":1}`},
		{"only $schema", `{` + draft7 + `}`, `{"x":1}`, ``},
		{"empty", `{}`, `{"x":[1,null]}`, ``},
		{"no type", `{"properties":{"q":{"type":"string"}}}`, `{"q":"a"}`, `{"q":1}`},
		{"required null", `{"type":"object","properties":{"q":{"type":"string"}},"required":null}`, `{}`, `{"q":1}`},
		{"other nulls", `{"type":"object","title":null,"properties":{"q":{"type":"string","enum":null,"items":null,"maxLength":null,"default":null}},"additionalProperties":null}`, `{"q":"x"}`, `{"q":1}`},
		{"const null", `{"properties":{"q":{"const":null}}}`, `{"q":null}`, `{"q":0}`},
		{"true", `true`, `7`, ``},
		{"false", `false`, ``, `{}`},
		{"property true", `{"properties":{"payload":true}}`, `{"payload":[1]}`, ``},
		{"property false", `{"properties":{"never":false}}`, `{}`, `{"never":1}`},
		{"items false", `{"prefixItems":[true],"items":false}`, `[1]`, `[1,2]`},
		{"draft-04 bounds", `{` + draft4 + `,"properties":{"n":{"minimum":1,"exclusiveMinimum":true}}}`, `{"n":2}`, `{"n":1}`},
		{"draft-06", `{` + draft6 + `,"properties":{"n":{"const":3}}}`, `{"n":3}`, `{"n":4}`},
		{"draft-07 tuple", `{` + draft7 + `,"items":[{"type":"string"},{"type":"number"}],"additionalItems":false}`, `["a",1]`, `["a","b"]`},
		{"draft-07 if", `{` + draft7 + `,"if":{"properties":{"k":{"const":1}}},"then":{"required":["x"]}}`, `{"k":1,"x":1}`, `{"k":1}`},
		{"draft-07 $ref hides siblings", `{` + draft7 + `,"definitions":{"a":{"type":"string"}},"properties":{"q":{"$ref":"#/definitions/a","maxLength":1}}}`, `{"q":"long"}`, `{"q":1}`},
		{"draft-07 $ref hides a sibling that would loop", `{` + draft7 + `,"definitions":{"a":{"type":"object"}},"$ref":"#/definitions/a","allOf":[{"$ref":"#"}]}`, `{}`, `1`},
		{"draft-07 with $defs", `{` + draft7 + `,"$defs":{"a":{"type":"string","required":null}},"properties":{"q":{"$ref":"#/$defs/a"}}}`, `{"q":"a"}`, `{"q":1}`},
		{"2019-09", `{` + d2019 + `,"dependentRequired":{"a":["b"]}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{"2020-12", `{` + d2020 + `,"prefixItems":[{"type":"string"}]}`, `["a"]`, `[1]`},
		{"2020-12 $ref with siblings", `{"$defs":{"a":{"type":"string"}},"properties":{"q":{"$ref":"#/$defs/a","maxLength":1}}}`, `{"q":"a"}`, `{"q":"ab"}`},
		{"$defs", `{"properties":{"c":{"$ref":"#/$defs/Colour"}},"$defs":{"Colour":{"enum":["red"]}}}`, `{"c":"red"}`, `{"c":"blue"}`},
		{"pointer into properties, recursive", `{"properties":{"nodes":{"items":{"type":"object","properties":{"kids":{"items":{"$ref":"#/properties/nodes/items"}}}}}}}`,
			`{"nodes":[{"kids":[{"kids":[]}]}]}`, `{"nodes":[{"kids":[{"kids":[1]}]}]}`},
		{"escaped pointer", `{"$defs":{"a/b~c %":{"type":"string"}},"properties":{"q":{"$ref":"#/$defs/a~1b~0c%20%25"}}}`, `{"q":"a"}`, `{"q":1}`},
		{"unusual place", `{"components":{"schemas":{"A":{"type":"string"}}},"properties":{"q":{"$ref":"#/components/schemas/A"}}}`, `{"q":"a"}`, `{"q":1}`},
		{"anchor", `{"$defs":{"a":{"$anchor":"A","type":"string"}},"properties":{"q":{"$ref":"#A"}}}`, `{"q":"a"}`, `{"q":1}`},
		{"embedded resource", `{"$id":"https://x.example/root","$defs":{"a":{"$id":"a.json","type":"string"}},"properties":{"q":{"$ref":"a.json"}}}`, `{"q":"a"}`, `{"q":1}`},
		{"tree", `{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"}},"additionalProperties":false}`, `{"left":{"right":{}},"right":{}}`, `{"left":{"right":{"x":1}}}`},
		{"$recursiveRef", `{` + d2019 + `,"$recursiveAnchor":true,"type":"object","additionalProperties":{"$recursiveRef":"#"}}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`},
		{"$dynamicRef", `{"$dynamicAnchor":"n","type":"object","additionalProperties":{"$dynamicRef":"#n"}}`, `{"a":{"b":{}}}`, `{"a":{"b":1}}`},
		{"metaschema", `{"properties":{"schema":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`, `{"schema":{"type":"string"}}`, `{"schema":{"type":"nonsense"}}`},
		{"format is an annotation", `{` + draft7 + `,"properties":{"at":{"type":"string","format":"date-time"}}}`, `{"at":"tomorrow"}`, `{"at":1}`},
		{"contentEncoding is an annotation", `{` + draft7 + `,"properties":{"b":{"type":"string","contentEncoding":"base64","contentMediaType":"application/json"}}}`, `{"b":"%%"}`, `{"b":1}`},
		{"ECMA escapes", `{"properties":{"q":{"pattern":"^[\\u00e0-\\u00ff\\u0041]+\\\\u0041$"}}}`, `{"q":"éA\\u0041"}`, `{"q":"zA"}`},
		{"definitions in 2020-12", `{"properties":{"c":{"$ref":"#/definitions/Colour"}},"definitions":{"Colour":{"enum":["red"]}}}`, `{"c":"red"}`, `{"c":"blue"}`},
		{"no limit as the largest unsigned integer", `{"properties":{"q":{"maxLength":18446744073709551615}}}`, `{"q":"abc"}`, ``},
		{"properties named like keywords", `{"properties":{"properties":{"type":"object","properties":{"type":{"type":"string"}}},"not":{"type":"string"}}}`, `{"properties":{"type":"a"},"not":"x"}`, `{"properties":{"type":1}}`},
	} {
		if c.good != "" {
			if p := validate(t, c.schema, c.good); p != nil {
				t.Errorf("%s: %s is refused: %v", c.what, c.good, p)
			}
		}
		if c.bad != "" {
			if p := validate(t, c.schema, c.bad); len(p) == 0 {
				t.Errorf("%s: %s is let through", c.what, c.bad)
			}
		}
	}
}

func TestUncheckedSchemas(t *testing.T) {
	deep := strings.Repeat(`{"anyOf":[`, 2000) + `{}` + strings.Repeat(`]}`, 2000)
	var bomb strings.Builder // 40 levels of two references each: 2^40
	bomb.WriteString(`{"$defs":{"l40":{"type":"string"}`)
	for i := range 40 {
		fmt.Fprintf(&bomb, `,"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]}`, i, i+1, i+1)
	}
	bomb.WriteString(`},"properties":{"q":{"$ref":"#/$defs/l0"}}}`)
	var chain strings.Builder
	chain.WriteString(`{"$ref":"#/$defs/c0","$defs":{"c500":{}`)
	for i := range 500 {
		fmt.Fprintf(&chain, `,"c%d":{"$ref":"#/$defs/c%d"}`, i, i+1)
	}
	chain.WriteString(`}}`)
	var overlap strings.Builder // each reference is into the same large part
	overlap.WriteString(`{"$defs":{`)
	for i := range 100 {
		fmt.Fprintf(&overlap, `"r%d":{"$ref":"#/x%s"},`, i, strings.Repeat("/a", i))
	}
	overlap.WriteString(`"z":{}},"x":` + strings.Repeat(`{"a":`, 100) + `{"description":"` + strings.Repeat("x", 100_000) + `"}` + strings.Repeat(`}`, 100) + `}`)

	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(strings.ReplaceAll(format, "#N", fmt.Sprint(i)) + ",")
		}
		return b.String()
	}

	for _, c := range []struct{ what, schema, says string }{
		{"many resources", `{"$defs":{` + many(4000, `"d#N":{"$id":"x#N"}`) + `"z":{}}}`, "names of their own"},
		{"many anchors", `{"allOf":[` + many(2000, `{"$anchor":"a#N"}`) + many(2000, `{"$ref":"#a#N"}`) + `{}]}`, "names of their own"},
		{"two resources of one name", `{"$defs":{"a":{"$id":"x"},"b":{"$id":"x","type":"string"}},"$ref":"x"}`, "two parts"},
		{"nothing", ``, "there is no schema"},
		{"null", `null`, "null"},
		{"number", `7`, "a number"},
		{"not JSON", `{"type":`, "not valid JSON"},
		{"two values", `{} {}`, "something follows"},
		{"http $ref", `{"$ref":"http://169.254.7.7/latest/meta-data/"}`, `"http://169.254.7.7/latest/meta-data/" outside`},
		{"file $ref", `{"properties":{"q":{"$ref":"file:///etc/hostname"}}}`, `"file:///etc/hostname" outside`},
		{"relative $ref", `{"$ref":"other.json#/a"}`, "outside"},
		{"json-schema.org but no metaschema", `{"$ref":"https://json-schema.org/elsewhere"}`, "outside"},
		{"$ref to nowhere", `{"$ref":"#/$defs/x"}`, "leads nowhere"},
		{"$ref to no schema", `{"a":"text","$ref":"#/a"}`, "no schema"},
		{"$ref is no URI", `{"$ref":"%zz"}`, "no URI"},
		{"unknown dialect", `{"$schema":"https://example.com/mine"}`, `dialect "https://example.com/mine" is not known`},
		{"$schema no string", `{"$schema":7}`, "$schema"},
		{"type unknown", `{"properties":{"q":{"type":"strnig"}}}`, `/properties/q/type`},
		{"boolean in draft-04", `{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"q":true}}`, `/properties/q`},
		{"look-ahead", `{"properties":{"q":{"pattern":"^(?!bad).+$"}}}`, `/properties/q/pattern`},
		{"look-behind", `{"properties":{"q":{"pattern":"(?<=a)b"}}}`, "pattern"},
		{"back-reference", `{"properties":{"q":{"pattern":"(a)\\1"}}}`, "pattern"},
		{"patternProperties", `{"patternProperties":{"^(?!x)":{}}}`, "pattern"},
		{"ref to itself", `{"$ref":"#"}`, "itself without end"},
		{"loop of refs", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, "itself without end"},
		{"deep", deep, "nested deeper"},
		{"bomb", bomb.String(), "too costly"},
		{"chain", chain.String(), "too costly"},
		{"overlap", overlap.String(), "too costly"},
		{"too many", `{"allOf":[` + strings.Repeat(`{},`, maxSchemas) + `{}]}`, "sub-schemas"},
		{"too large", `{"description":"` + strings.Repeat("x", maxSize) + `"}`, "too large"},
		{"patterns", `{"allOf":[` + strings.Repeat(`{"pattern":"[a-z]{1000}"},`, 200) + `{}]}`, "patterns are too large"},
		{"number", `{"minimum":1e1000000000}`, "1e1000000000"},
		{"number in enum", `{"enum":[1e-99999]}`, "1e-99999"},
	} {
		s := Compile(json.RawMessage(c.schema))
		if !strings.Contains(s.Unchecked(), c.says) {
			t.Errorf("%s: unchecked %q; want it to say %q", c.what, s.Unchecked(), c.says)
		}
		if p := s.Validate(json.RawMessage(`{"q":1}`)); s.Unchecked() != "" && p != nil {
			t.Errorf("%s: an unchecked schema refuses a value: %v", c.what, p)
		}
	}
}

// Case B017: what is large but real stays checked.
func TestLargeRealSchemas(t *testing.T) {
	var wide strings.Builder
	wide.WriteString(`{"properties":{"q":{"enum":["v"`)
	for i := range 20_000 {
		fmt.Fprintf(&wide, `,"value%d"`, i)
	}
	wide.WriteString(`]}}}`)
	if p := validate(t, wide.String(), `{"q":"value19999"}`); p != nil {
		t.Errorf("refused: %v", p)
	}
	p := validate(t, wide.String(), `{"q":"valu19999"}`)
	if len(p) != 1 || len(p[0].Message) > 600 {
		t.Errorf("a wrong value among 20000: %v", p)
	}

	var big strings.Builder
	big.WriteString(`{"type":"object","properties":{"a":{}`)
	for i := range 1_500 {
		fmt.Fprintf(&big, `,"p%d":{"type":"string","description":%q}`, i, strings.Repeat("d", 60))
	}
	big.WriteString(`}}`)
	if big.Len() < 140_000 {
		t.Fatalf("%d bytes", big.Len())
	}
	if p := validate(t, big.String(), `{"p1499":1}`); len(p) != 1 {
		t.Errorf("problems: %v", p)
	}
}

func TestNumbersAreExact(t *testing.T) {
	for _, c := range []struct {
		schema, instance string
		valid            bool
	}{
		{`{"const":9007199254740993}`, `9007199254740993`, true},
		{`{"const":9007199254740993}`, `9007199254740992`, false},
		{`{"enum":[9007199254740993]}`, `9007199254740992`, false},
		{`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"minimum":9007199254740993}`, `9007199254740992`, false},
		{`{"exclusiveMaximum":9007199254740993}`, `9007199254740992`, true},
		{`{"multipleOf":0.1}`, `0.3`, true},
		{`{"multipleOf":3}`, `9007199254740993`, true},
		{`{"multipleOf":3}`, `9007199254740992`, false},
		{`{"multipleOf":1e-300}`, `1e300`, true},
		{`{"multipleOf":0.01}`, `4.35`, true},
		{`{"multipleOf":0.01}`, `4.355`, false},
		{`{"multipleOf":0.0001}`, `0.0075`, true},
		{`{"multipleOf":10}`, `123456789012345678901234567890`, true},
		{`{"multipleOf":10}`, `123456789012345678901234567891`, false},
		{`{"const":123456789012345678901234567890}`, `123456789012345678901234567890`, true},
		{`{"const":123456789012345678901234567890}`, `123456789012345678901234567891`, false},
		{`{"const":1}`, `1.0`, true},
		{`{"enum":[1e2]}`, `100`, true},
		{`{"maximum":0.3}`, `0.30000000000000001`, false},
		{`{"exclusiveMinimum":9007199254740992}`, `9007199254740993`, true},
		{`{"exclusiveMinimum":9007199254740993}`, `9007199254740993`, false},
		{`{"type":"integer"}`, `1.0`, true},
		{`{"type":"integer"}`, `1e400`, true},
		{`{"type":"integer"}`, `1.5`, false},
		{`{"maximum":1e400}`, `2e400`, false},
		{`{"uniqueItems":true}`, `[9007199254740993,9007199254740992]`, true},
		{`{"uniqueItems":true}`, `[1,1.0]`, false},
	} {
		if p := validate(t, c.schema, c.instance); (p == nil) != c.valid {
			t.Errorf("%s against %s: %v", c.instance, c.schema, p)
		}
	}
}

func TestValuesBeyondBounds(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	doubling := `{"$defs":{"n":{"anyOf":[{"properties":{"k":{"$ref":"#/$defs/n"}}},{"properties":{"k":{"$ref":"#/$defs/n"}}}]}},"$ref":"#/$defs/n"}`
	chain := func(n int) string { return strings.Repeat(`{"k":`, n) + "1" + strings.Repeat("}", n) }
	for _, c := range []struct{ what, schema, instance, path, rule string }{
		{"deepest allowed", `true`, nested(64), "", ""},
		{"too deep", `true`, nested(65), "", "limit"},
		{"far too deep", `true`, nested(9000), "", "limit"},
		{"huge exponent", `{"properties":{"n":{"type":"integer"}}}`, `{"a":[1],"n":1e1000000000}`, "/n", "limit"},
		{"huge negative exponent", `true`, `[0,1E-1000000000]`, "/1", "limit"},
		{"exponent past int", `true`, `1e99999999999999999999`, "", "limit"},
		{"long literal", `true`, strings.Repeat("9", maxDigits+1), "", "limit"},
		{"not JSON", `true`, `{"a":`, "", "json"},
		{"empty", `true`, ``, "", "json"},
		{"two values", `true`, `1 2`, "", "json"},
		{"recursion that is cheap for real values", doubling, chain(8), "", ""},
		{"recursion that doubles with depth", doubling, chain(60), "", "limit"},
		{"long text, large pattern", `{"pattern":"^[a-z]{1,900}$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, "", "limit"},
		{"slow in other engines", `{"pattern":"^(a+)+$"}`, `"` + strings.Repeat("a", 40) + `b"`, "", "pattern"},
		{"many items to compare", `{"uniqueItems":true}`, `[` + strings.Repeat(`[],`, maxUnique) + `[]]`, "", "limit"},
		{"a large value", `{"items":{"type":"integer"}}`, `[` + strings.Repeat(`1,`, 30_000) + `1]`, "", ""},
	} {
		p := validate(t, c.schema, c.instance)
		if c.rule == "" && p != nil || c.rule != "" && (len(p) != 1 || p[0].Rule != c.rule || p[0].Path != c.path || p[0].Message == "") {
			t.Errorf("%s: problems %v; want one with the rule %q at %q", c.what, p, c.rule, c.path)
		}
	}
}

func TestNotices(t *testing.T) {
	s := Compile(json.RawMessage(`{"properties":{"q":{"required":null}},"required":null,"x-note":null,"default":null}`))
	got := strings.Join(s.Notices(), "\n")
	if s.Unchecked() != "" || len(s.Notices()) != 2 || !strings.Contains(got, `"/required"`) || !strings.Contains(got, `"/properties/q/required"`) {
		t.Errorf("unchecked %q, notices %q", s.Unchecked(), got)
	}
	if n := Compile(json.RawMessage(`{"type":"object"}`)).Notices(); n != nil {
		t.Errorf("notices %q", n)
	}
}
