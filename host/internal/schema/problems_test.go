package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

type problem struct{ path, rule, message string }

func TestProblems(t *testing.T) {
	for _, c := range []struct {
		schema, instance string
		want             []problem
	}{
		{`{"type":"object"}`, `[]`, []problem{{"", "type", "must be an object, is an array"}}},
		{`{"properties":{"n":{"type":["integer","null"]}}}`, `{"n":"12"}`, []problem{{"/n", "type", "must be an integer or null, is a string"}}},
		{`{"required":["q","limit","a"],"properties":{"a":{}}}`, `{"a":1}`, []problem{
			{"", "required", `property "limit" is required`}, {"", "required", `property "q" is required`}}},
		{`{"properties":{"path":{},"head":{}},"patternProperties":{"^x-":{}},"additionalProperties":false}`, `{"pth":1,"x-y":1,"zzzz":2}`, []problem{
			{"/pth", "additionalProperties", `property "pth" is not known; did you mean "path"?`},
			{"/zzzz", "additionalProperties", `property "zzzz" is not known`}}},
		{`{"properties":{"c":{"enum":["red","green",3]}}}`, `{"c":"gren"}`, []problem{{"/c", "enum", `must be one of "red", "green", 3; did you mean "green"?`}}},
		{`{"properties":{"c":{"const":"<a>"}}}`, `{"c":"secret"}`, []problem{{"/c", "const", `must be "<a>"`}}},
		{`{"properties":{"n":{"maximum":9007199254740993}}}`, `{"n":9007199254740994}`, []problem{{"/n", "maximum", "must be at most 9007199254740993, is 9007199254740994"}}},
		{`{"properties":{"n":{"exclusiveMinimum":0}}}`, `{"n":0}`, []problem{{"/n", "exclusiveMinimum", "must be greater than 0, is 0"}}},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"n":{"minimum":5,"exclusiveMinimum":true}}}`, `{"n":5}`, []problem{{"/n", "exclusiveMinimum", "must be greater than 5, is 5"}}},
		{`{"properties":{"n":{"multipleOf":0.01}}}`, `{"n":0.001}`, []problem{{"/n", "multipleOf", "must be a multiple of 0.01, is 0.001"}}},
		{`{"properties":{"s":{"minLength":3}}}`, `{"s":"üü"}`, []problem{{"/s", "minLength", "must have at least 3 characters, has 2"}}},
		{`{"properties":{"s":{"maxItems":1}}}`, `{"s":[1,2]}`, []problem{{"/s", "maxItems", "must have at most 1 items, has 2"}}},
		{`{"minProperties":1}`, `{}`, []problem{{"", "minProperties", "must have at least 1 properties, has 0"}}},
		{`{"properties":{"s":{"pattern":"^a+$"}}}`, `{"s":"secret"}`, []problem{{"/s", "pattern", "must match the pattern ^a+$"}}},
		{`{"uniqueItems":true}`, `[1,1]`, []problem{{"", "uniqueItems", "must not hold an item twice"}}},
		{`{"contains":{"type":"string"}}`, `[1]`, []problem{{"", "minContains", "must hold at least 1 fitting items"}}},
		{`{"properties":{"never":false}}`, `{"never":1}`, []problem{{"/never", "properties", "is not allowed"}}},
		{`false`, `1`, []problem{{"", "false", "is not allowed"}}},
		{`{"properties":{"additionalProperties":false}}`, `{"additionalProperties":1}`, []problem{{"/additionalProperties", "properties", "is not allowed"}}},
		{`{"unevaluatedProperties":false,"allOf":[{"properties":{"a":{}}}]}`, `{"a":1,"b":1}`, []problem{{"/b", "unevaluatedProperties", "is not allowed"}}},
		{`{"not":{"required":["a"]}}`, `{"a":1}`, []problem{{"", "not", `must not fit the schema under "not"`}}},
		{`{"propertyNames":{"maxLength":2}}`, `{"abc":[1,2,3,4]}`, []problem{{"/abc", "maxLength", "must have at most 2 characters"}}},
		{`{"properties":{"a/b~c d%":{"type":"string"}}}`, `{"a/b~c d%":1}`, []problem{{"/a~1b~0c d%", "type", "must be a string, is a number"}}},
		{`{"properties":{"type":{"type":"string"},"not":{"properties":{"enum":{"enum":[1]}}}}}`, `{"type":1,"not":{"enum":2}}`, []problem{
			{"/not/enum", "enum", "must be one of 1"}, {"/type", "type", "must be a string, is a number"}}},
		{`{"components":{"A":{"minimum":2}},"properties":{"q":{"$ref":"#/components/A"}}}`, `{"q":1}`, []problem{{"/q", "minimum", "must be at least 2, is 1"}}},
		{`{"if":{"required":["a"]},"then":{"required":["b"]}}`, `{"a":1}`, []problem{{"", "required", `property "b" is required`}}},
		{`{"allOf":[{"required":["a"]},{"required":["a"]}]}`, `{}`, []problem{{"", "required", `property "a" is required`}}},

		// Alternatives: the one that was meant, by type, by constant, by what is missing.
		{`{"properties":{"q":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `{"q":1}`, []problem{{"/q", "type", "must be a string or null, is a number"}}},
		{`{"properties":{"q":{"anyOf":[{"type":"null"},{"type":"object","required":["id"]}]}}}`, `{"q":{}}`, []problem{{"/q", "required", `property "id" is required`}}},
		{`{"oneOf":[{"properties":{"kind":{"const":"a"}},"required":["x"]},{"properties":{"kind":{"const":"b"}},"required":["y"]}]}`, `{"kind":"b"}`, []problem{{"", "required", `property "y" is required`}}},
		{`{"oneOf":[{"properties":{"kind":{"const":"a"}}},{"properties":{"kind":{"const":"b"}}}]}`, `{"kind":"c"}`, []problem{{"/kind", "const", `must be "a", or must be "b"`}}},
		{`{"anyOf":[{"required":["a"]},{"required":["b"]}]}`, `{}`, []problem{{"", "required", `property "a" is required, or property "b" is required`}}},
		{`{"anyOf":[{"required":["a"]},{"properties":{"b":{"type":"string"}}}]}`, `{"b":1}`, []problem{{"", "anyOf", `property "a" is required, or /b must be a string, is a number`}}},
		{`{"oneOf":[{"type":"number"},{"type":"integer"}]}`, `1`, []problem{{"", "oneOf", "fits more than one of the alternatives of its schema; it has to fit exactly one"}}},
	} {
		var got []problem
		for _, p := range validate(t, c.schema, c.instance) {
			got = append(got, problem{p.Path, p.Rule, p.Message})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s against %s:\n got %+v\nwant %+v", c.instance, c.schema, got, c.want)
		}
	}
}

func TestProblemsAreFewAndInAFixedOrder(t *testing.T) {
	var properties, instance []string
	for i := range 100 {
		properties = append(properties, fmt.Sprintf(`"p%02d":{"type":"string"}`, i))
		instance = append(instance, fmt.Sprintf(`"p%02d":%d`, i, i))
	}
	s := Compile(json.RawMessage(`{"properties":{` + strings.Join(properties, ",") + `}}`))
	first := s.Validate(json.RawMessage("{" + strings.Join(instance, ",") + "}"))
	if len(first) != maxProblems || first[0].Path != "/p00" || first[15].Path != "/p15" {
		t.Fatalf("problems: %v", first)
	}
	for range 20 {
		if again := s.Validate(json.RawMessage("{" + strings.Join(instance, ",") + "}")); !slices.Equal(first, again) {
			t.Fatalf("another time: %v", again)
		}
	}
}

func TestProblemsNeverQuoteStringsOfTheValue(t *testing.T) {
	for _, schema := range []string{
		`{"properties":{"q":{"type":"integer"}}}`, `{"properties":{"q":{"enum":["a"]}}}`, `{"properties":{"q":{"const":1}}}`,
		`{"properties":{"q":{"pattern":"^a$"}}}`, `{"properties":{"q":{"maxLength":1}}}`, `{"properties":{"q":false}}`,
		`{"properties":{"q":{"not":{}}}}`, `{"properties":{"q":{"anyOf":[{"const":"a"},{"type":"null"}]}}}`,
		`{"properties":{"q":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"q":{"format":"ipv4","maxLength":1}}}`,
	} {
		p := validate(t, schema, `{"q":"hunter2hunter2"}`)
		if len(p) == 0 || strings.Contains(fmt.Sprint(p), "hunter2") {
			t.Errorf("%s: %v", schema, p)
		}
	}
}
