package schema

import (
	"encoding/json"
	"testing"

	peer "github.com/google/jsonschema-go/jsonschema"
)

// Another implementation of 2020-12 and draft-07 agrees on what is valid. Numbers
// stay small: the peer compares float64.
func TestAgreesWithAPeer(t *testing.T) {
	instances := []string{
		`{}`, `[]`, `null`, `true`, `0`, `1`, `1.5`, `-3`, `""`, `"a"`, `"abc"`, `"red"`, `[1]`, `["a",1]`, `["a","b"]`, `[1,1]`, `[[1],[1]]`,
		`{"a":1}`, `{"a":"x"}`, `{"b":2}`, `{"a":1,"b":2}`, `{"a":null}`, `{"a":{"a":{"b":1}}}`, `{"a":{"a":1}}`, `{"kind":"a","x":1}`, `{"kind":"b"}`, `{"x-y":1}`, `{"a":[1,"a"]}`,
	}
	for _, schema := range []string{
		`true`, `false`, `{}`,
		`{"type":"object"}`, `{"type":["integer","null"]}`, `{"type":"integer"}`, `{"type":"array","items":{"type":"integer"}}`,
		`{"required":["a"]}`, `{"properties":{"a":{"type":"integer"}},"additionalProperties":false}`, `{"properties":{"a":true,"b":false}}`,
		`{"enum":["red",1,null]}`, `{"const":{"a":1}}`, `{"minimum":1}`, `{"exclusiveMaximum":1}`, `{"multipleOf":0.5}`,
		`{"minLength":1,"maxLength":2}`, `{"pattern":"^a"}`, `{"minItems":1,"uniqueItems":true}`, `{"maxProperties":1}`, `{"propertyNames":{"maxLength":1}}`,
		`{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}`, `{"contains":{"type":"string"},"maxContains":1}`,
		`{"patternProperties":{"^x-":{"type":"string"}}}`, `{"dependentRequired":{"a":["b"]}}`, `{"dependentSchemas":{"a":{"required":["b"]}}}`,
		`{"allOf":[{"required":["a"]},{"properties":{"a":{"type":"integer"}}}]}`, `{"anyOf":[{"type":"string"},{"required":["a"]}]}`,
		`{"oneOf":[{"type":"number"},{"type":"integer"},{"type":"string"}]}`, `{"not":{"type":"object"}}`,
		`{"if":{"properties":{"kind":{"const":"a"}}},"then":{"type":"object"},"else":{"required":["y"]}}`,
		`{"$defs":{"n":{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"additionalProperties":false}},"$ref":"#/$defs/n"}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x~1y~0z"}},"$defs":{"x/y~z":{"enum":["x",1]}}}`, `{"properties":{"a":{"$ref":"#/definitions/c"}},"definitions":{"c":{"type":"null"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"$ref":"#/properties/a","properties":{"a":{"type":"object"}}}`,
		`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"prefixItems":[true],"unevaluatedItems":false}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":{"type":"number"}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"s":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/s"}}}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`,
	} {
		ours := Compile(json.RawMessage(schema))
		if ours.Unchecked() != "" {
			t.Errorf("%s is unchecked: %s", schema, ours.Unchecked())
			continue
		}
		theirs, err := resolvePeer([]byte(schema))
		if err != nil {
			t.Fatalf("the peer cannot take %s: %v", schema, err)
		}
		for _, instance := range instances {
			var value any
			if err := json.Unmarshal([]byte(instance), &value); err != nil {
				t.Fatal(err)
			}
			problems, err := ours.Validate(json.RawMessage(instance)), theirs.Validate(value)
			if (problems == nil) != (err == nil) {
				t.Errorf("%s against %s: %v; the peer says %v", instance, schema, problems, err)
			}
		}
	}
}

// resolvePeer is the peer's Compile. It fetches nothing either.
func resolvePeer(schema []byte) (*peer.Resolved, error) {
	var parsed peer.Schema
	if err := json.Unmarshal(schema, &parsed); err != nil {
		return nil, err
	}
	return parsed.Resolve(nil)
}
