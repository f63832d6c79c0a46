package declare

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// shown is the type of a schema, with its constraints, on one line.
func shown(schema string) string {
	t, _ := build([]byte(schema), maxLevels)
	p := &printer{limit: Limit}
	p.print(t, all, 0)
	return strings.Join(strings.Fields(string(p.buf)), " ")
}

var types = []struct{ schema, want string }{
	{`{"type":"string"}`, `string`},
	{`{"type":"integer"}`, `number`},
	{`{"type":["string","null"]}`, `string | null`},
	{`{"type":"string","nullable":true}`, `string | null`},
	{`{"type":"file"}`, `unknown`},
	{`{}`, `unknown`}, {`true`, `unknown`}, {`false`, `never`}, {`[]`, `unknown`}, {`"x"`, `unknown`}, {`{`, `unknown`}, {``, `unknown`},

	// Values.
	{`{"enum":["a","b",1,true,null]}`, `"a" | "b" | 1 | true | null`},
	{`{"enum":["a","a"]}`, `"a"`},
	{`{"enum":[]}`, `never`},
	{`{"const":"a\"\n\\"}`, `"a\"\n\\"`},
	{`{"const":"\u0007\u202e\u2028"}`, `"\u{7}\u{202e}\u{2028}"`},
	{`{"const":{"a":[1,"x"],"b":{}}}`, `{ a: [1, "x"]; b: Record<string, never>; }`},
	{`{"const":-1.5e3}`, `-1.5e3`},
	{`{"const":1e999}`, `number`},
	{`{"const":"` + strings.Repeat("x", maxLiteral) + `"}`, `string`},

	// Integers that are a BigInt in scripts.
	{`{"const":9007199254740991}`, `9007199254740991`},
	{`{"const":9007199254740992}`, `9007199254740992n`},
	{`{"enum":[1,-9007199254740993]}`, `1 | -9007199254740993n`},
	{`{"type":"integer","format":"int64"}`, `number | bigint`},
	{`{"type":"integer","maximum":18446744073709551615}`, `number | bigint`},
	{`{"type":"integer","maximum":9007199254740991}`, `number`},
	{`{"type":"number","format":"int64"}`, `number`},

	// Arrays.
	{`{"type":"array"}`, `unknown[]`},
	{`{"items":{"type":"string"}}`, `string[]`},
	{`{"type":"array","items":{"enum":["a"]}}`, `Array<"a">`},
	{`{"type":"array","items":{"type":["string","number"]}}`, `Array<string | number>`},
	{`{"type":"array","items":{"type":"array","items":{"type":"string"}}}`, `Array<string[]>`},
	{`{"prefixItems":[{"type":"string"},{"type":"number"}]}`, `[string, number]`},
	{`{"prefixItems":[{"type":"string"},{"type":["number","null"]}],"minItems":1,"items":{"type":"boolean"}}`, `[string, (number | null)?, ...Array<boolean>]`},
	{`{"type":"array","items":[{"type":"string"}],"additionalItems":false}`, `[string]`},
	{`{"type":"array","items":[{"type":"string"}],"additionalItems":true}`, `[string, ...Array<unknown>]`},
	{`{"prefixItems":[],"minItems":5}`, `[]`},

	// Objects.
	{`{"type":"object"}`, `Record<string, unknown>`},
	{`{"type":"object","additionalProperties":false}`, `Record<string, never>`},
	{`{"type":"object","additionalProperties":{"type":"number"}}`, `Record<string, number>`},
	{`{"type":"object","patternProperties":{"^x":{"type":"number"},"^y":{"type":"string"}}}`, `Record<string, number | string>`},
	{`{"type":"object","propertyNames":{"enum":["a","b"]},"additionalProperties":{"type":"number"}}`, `Partial<Record<"a" | "b", number>>`},
	{`{"type":"object","propertyNames":{"pattern":"^x"},"additionalProperties":{"type":"number"}}`, `Record<string, number>`},
	{`{"properties":{"a":{},"b-c":true,"":false,"new":{},"größe":{}},"required":["a","z"]}`,
		`{ a: unknown; "b-c"?: unknown; ""?: never; "new"?: unknown; "größe"?: unknown; z: unknown; }`},
	{`{"properties":{"a":{"type":"string"}},"additionalProperties":{"type":"number"}}`, `{ a?: string; [key: string]: unknown; // number }`},
	{`{"properties":{"a":{"type":"string"}},"additionalProperties":true}`, `{ a?: string; [key: string]: unknown; }`},
	{`{"properties":{"a":{"type":"string"},"a":{"type":"number"}}}`, `{ a?: number }`},
	{`{"properties":[],"required":true}`, `unknown`},
	{`{"type":"object","properties":{"a":{"type":"string"}},"required":[1,null]}`, `{ a?: string }`},

	// Combinations.
	{`{"anyOf":[{"type":"string"},{"type":"number"},{"type":"string"}]}`, `string | number`},
	{`{"oneOf":[{"const":"a","title":"A"},{"const":"b"}]}`, `"a" | "b"`},
	{`{"anyOf":[{"type":"string"},{}]}`, `unknown`},
	{`{"anyOf":[{"type":"string"},false]}`, `string`},
	{`{"anyOf":[]}`, `unknown`},
	{`{"type":"string","anyOf":[{"format":"ipv4"},{"format":"ipv6"}]}`, `string`},
	{`{"allOf":[{"type":"string"},{"minLength":1}]}`, `string`},
	{`{"allOf":[{"properties":{"a":{"type":"string"}}},{"properties":{"b":{"type":"string"}}},{"required":["a"]}]}`, `{ a: string; b?: string }`},
	{`{"properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`,
		`{ a?: string; b?: string } & ({ a: unknown } | { b: unknown })`},
	{`{"type":"object","oneOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{}}}]}`, `{ a: string } | { b?: unknown }`},
	{`{"type":"object","not":{"required":["x"]},"if":{},"then":{"required":["y"]}}`, `Record<string, unknown>`},
	{`{"oneOf":[{"type":"object","description":"By name","properties":{"name":{"type":"string"}}},{"type":"string"}]}`, `/** By name */ { name?: string } | string`},
}

func TestTypes(t *testing.T) {
	for _, c := range types {
		if got := shown(c.schema); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.schema, got, c.want)
		}
	}
	var many strings.Builder
	many.WriteString(`{"enum":["` + strings.Repeat(`x","`, 10_000) + `y",`) // all but two are one
	for i := range 10_000 {
		many.WriteString(quote("v"+strconv.Itoa(i)) + ",")
	}
	if got := shown(many.String() + "1]}"); !strings.Contains(got, `| "v`) && !strings.HasSuffix(got, "| string") {
		t.Errorf("an enum of 20,000: %.200s", got)
	}
}

var references = []struct{ name, schema, want string }{
	{"definition", `{"$ref":"#/$defs/a","$defs":{"a":{"type":"string"}}}`, `string`},
	{"escaped", `{"$ref":"#/definitions/a~1b~0c%25","definitions":{"a/b~c%":{"type":"string"}}}`, `string`},
	{"into properties", `{"properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, `{ a?: string; b?: string }`},
	{"into an array", `{"$ref":"#/anyOf/1","anyOf":[{"type":"string"},{"type":"number"}]}`, `number & (string | number)`},
	{"anchor", `{"$ref":"#x","$defs":{"a":{"$anchor":"x","type":"string"}}}`, `string`},
	{"anchor of draft-06", `{"$schema":"http://json-schema.org/draft-06/schema#","$ref":"#x","definitions":{"a":{"$id":"#x","type":"string"}}}`, `string`},
	{"dynamic", `{"$dynamicRef":"#x","$defs":{"a":{"$dynamicAnchor":"x","type":"string"}}}`, `string`},
	{"own id", `{"$id":"https://x/s","$ref":"https://x/s#/$defs/a","$defs":{"a":{"type":"string"}}}`, `string`},
	{"embedded", `{"$ref":"item","$defs":{"a":{"$id":"item","$ref":"#/$defs/b","$defs":{"b":{"type":"number"}}},"b":{"type":"string"}}}`, `number`},
	{"of a reference", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string"}}}`, `string`},
	{"twice", `{"properties":{"a":{"$ref":"#/$defs/a"},"b":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}`, `{ a?: string; b?: string }`},
	{"siblings count", `{"$ref":"#/$defs/a","required":["a"],"$defs":{"a":{"properties":{"a":{"type":"string"}}}}}`, `{ a: string }`},
	{"siblings do not count in draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/$defs/a","type":"number","$defs":{"a":{"type":"string"}}}`, `string`},

	{"recursive", `{"properties":{"child":{"$ref":"#"},"children":{"items":{"$ref":"#"}}}}`, `{ child?: unknown; children?: unknown[] }`},
	{"recursive by two", `{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"b":{"$ref":"#/$defs/b"}}},"b":{"properties":{"a":{"$ref":"#/$defs/a"}}}}}`, `{ b?: { a?: unknown }; }`},
	{"of itself", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`, `unknown`},
	{"nowhere", `{"properties":{"a":{"$ref":"#/$defs/no"},"b":{"type":"string"}}}`, `{ a?: unknown; b?: string }`},
	{"bad escape", `{"properties":{"a":{"$ref":"#/$defs/%zz"},"b":{"$ref":"#/%"},"c":{"type":"string"}}}`, `{ a?: unknown; b?: unknown; c?: string }`},
	{"no string", `{"properties":{"a":{"$ref":{"x":1}},"b":{"$ref":7}}}`, `{ a?: unknown; b?: unknown }`},
	{"outside", `{"$ref":"https://example.com/schema"}`, `unknown`},
	{"a file", `{"$ref":"file:///etc/passwd"}`, `unknown`},
	{"to no schema", `{"$ref":"#/$defs","$defs":7}`, `unknown`},
	{"a negative place", `{"$ref":"#/anyOf/-1","anyOf":[true]}`, `unknown`},
}

func TestReferences(t *testing.T) {
	for _, c := range references {
		if got := shown(c.schema); got != c.want {
			t.Errorf("%s: %s\n got %s\nwant %s", c.name, c.schema, got, c.want)
		}
	}
}

// OddSchemas are the schemas of all tests here, the hostile ones included.
func OddSchemas() []string {
	var all []string
	for _, c := range types {
		all = append(all, c.schema)
	}
	for _, c := range references {
		all = append(all, c.schema)
	}
	return append(all, slices.Sorted(maps.Values(hostile()))...)
}

// The definitions that are expanded are counted, not the references to them.
func TestExpansionsAreCounted(t *testing.T) {
	many := func(definitions, references int) string {
		var b strings.Builder
		b.WriteString(`{"properties":{`)
		for i := range references {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote("p"+digits(i)) + `:{"$ref":"#/$defs/d` + digits(i%definitions) + `"}`)
		}
		b.WriteString(`},"$defs":{`)
		for i := range definitions {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(`"d` + digits(i) + `":{"type":"string"}`)
		}
		return b.String() + "}}"
	}
	if got := shown(many(maxExpansions, 100)); strings.Contains(got, "unknown") || strings.Count(got, "string") != 100 {
		t.Errorf("100 references to %d definitions: %s", maxExpansions, got)
	}
	if got := shown(many(maxExpansions+1, maxExpansions+1)); strings.Count(got, "unknown") != 1 {
		t.Errorf("%d definitions: %s", maxExpansions+1, got)
	}
}

func digits(i int) string {
	return string([]byte{byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)})
}

func TestComments(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"description and tags", `{"type":"integer","description":"How many.","minimum":1,"maximum":10,"default":5,"examples":[2,3]}`,
			"/** How many. @default 5 @minimum 1 @maximum 10 @example 2 @integer */"},
		{"title", `{"title":"The name"}`, "/** The name */"},
		{"lines", `{"description":"a\r\n\n\n b  \n","format":"uri"}`, "/**\n * a\n *\n *  b\n * @format uri\n */"},
		{"deprecated", `{"description":"Use b.","deprecated":true}`, "/** @deprecated Use b. */"},
		{"deprecated alone", `{"deprecated":true,"readOnly":true}`, "/** @deprecated @readOnly */"},
		{"of items", `{"items":{"type":"string","description":"A path","minLength":1}}`, "/** Each: A path @items minLength 1 */"},
		{"of values", `{"description":"x","oneOf":[{"const":"a","title":"The A"},{"const":2,"description":"Two"}]}`, "/**\n * x\n * \"a\": The A\n * 2: Two\n */"},
		{"of a definition", `{"$ref":"#/$defs/a","$defs":{"a":{"description":"An A","pattern":"^a"}}}`, "/** An A @pattern ^a */"},
		{"its own first", `{"$ref":"#/$defs/a","description":"Mine","$defs":{"a":{"description":"An A"}}}`, "/** Mine */"},

		{"the end of a comment", `{"description":"a */ b **/","pattern":"*/","default":"*/"}`, `/** a *\/ b **\/ @default "*\/" @pattern *\/ */`},
		{"the end of a comment, by lines", `{"description":"*\n/\n/"}`, "/**\n * *\n * /\n * /\n */"},
		{"instructions to the compiler", `{"description":"@ts-ignore\n@ts-expect-error"}`, "/**\n * @ ts-ignore\n * @ ts-expect-error\n */"},
		{"what a terminal acts on", `{"description":"a\u001b[31mb\u0000c\u202ed\u2028e\u009bf\u2067g"}`, "/** a [31mb c d e f g */"},
		{"a long value", `{"default":"` + strings.Repeat("x", 200) + `"}`, ""},
		{"wrong types", `{"description":7,"title":[],"format":{},"minimum":"x","pattern":false,"deprecated":"yes","examples":3}`, ""},
	} {
		b := &builder{root: resource{}, draft: 2020, expansions: map[string]*expansion{}}
		s := parsed(c.schema)
		b.root.schema = s
		_, n := b.schema(s, b.root, 9, 9)
		if got := strings.TrimSuffix(n.comment("", all, 1), "\n"); got != c.want {
			t.Errorf("%s: %s\n got %q\nwant %q", c.name, c.schema, got, c.want)
		}
	}
}
