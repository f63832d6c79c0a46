package schema

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"
	"time"
)

// hang is far over what either step may take, for slow and busy machines: a hang
// of the kinds that the limits are against takes minutes to for ever.
const hang = 20 * time.Second

var seeds = []string{
	`{"type":"object","properties":{"q":{"type":["string","null"],"pattern":"^a+$"},"n":{"multipleOf":0.1}},"required":["q"],"additionalProperties":false}`,
	`{"$ref":"#"}`, `{"$defs":{"a":{"$ref":"#/$defs/a"}}}`, `{"$dynamicRef":"#a","$dynamicAnchor":"a"}`, `{"$id":"x","$ref":"x#/a","a":true}`,
	`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true,"id":"#a"}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"],"b":{"$ref":"#"}},"if":{},"then":false}`,
	`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"items":{"$recursiveRef":"#"}}`,
	`{"$vocabulary":{"https://json-schema.org/draft/2020-12/vocab/core":true},"$schema":"https://json-schema.org/draft/2020-12/schema"}`,
	`{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}]}`, `{"maxLength":1e300,"enum":[1e9,{"a":[]}],"uniqueItems":true}`, `{"properties":null,"$ref":7}`,
	`{"anyOf":[{"$ref":"#/$defs/a"},{"type":"null"}],"$defs":{"a":{"properties":{"l":{"items":{"type":"integer","exclusiveMinimum":0},"maxItems":3},"s":{"enum":["x","é",1,null,true]}},"required":["l"],"additionalProperties":{"minLength":2}}}}`,
	`{"$ref":"#/%7E0/~1/\u0000"}`, `{"$id":"urn:a:b","$ref":"#/x","x":{"$anchor":"y"}}`,
}

func FuzzCompile(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, schema []byte) {
		given := bytes.Clone(schema)
		start := time.Now()
		s := Compile(json.RawMessage(schema))
		if d := time.Since(start); d > hang {
			t.Fatalf("compiling took %v", d)
		}
		if !bytes.Equal(given, schema) {
			t.Fatal("the schema was changed")
		}
		if s.Unchecked() != "" && s.Validate(json.RawMessage(`1`)) != nil {
			t.Fatal("an unchecked schema refuses a value")
		}
	})
}

func FuzzValidate(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s), []byte(`{"q":"aaa","n":0.3,"a":[[[1,{"b":null}]]],"zz":1e9}`))
		f.Add([]byte(s), []byte(` { "l" : [ 1 , 22 ] , "s" : "\u00e9" , "z" : "é\"" , "s":null } `))
		f.Add([]byte(s), []byte(`[1,1.0,"a",{"a":1,"b":2},[[]],9007199254740993,1e1000000000]`))
	}
	f.Fuzz(func(t *testing.T, schema, instance []byte) {
		s := Compile(json.RawMessage(schema))
		start := time.Now()
		first := s.Validate(json.RawMessage(instance))
		if d := time.Since(start); d > hang {
			t.Fatalf("validating took %v", d)
		}
		if len(first) > maxProblems {
			t.Fatalf("%d problems", len(first))
		}
		for _, p := range first {
			if p.Rule == "" || p.Message == "" {
				t.Fatalf("a problem without a rule or a message: %+v", p)
			}
		}
		if s.Unchecked() == "" && s.surely(instance) {
			if slow := s.check(instance); slow != nil {
				t.Fatalf("quickly valid, but the library says %v", slow)
			}
		}
		if again := s.Validate(json.RawMessage(instance)); !slices.Equal(first, again) {
			t.Fatalf("two validations differ:\n%v\n%v", first, again)
		}
	})
}
