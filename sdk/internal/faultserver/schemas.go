package main

import (
	"fmt"
	"strings"
)

// schemas are input schemas that tools sch_NAME have under schema:NAME.
var schemas = map[string]string{
	"anyof_root":     `{"anyOf":[{"type":"object"},{"type":"object"}]}`,
	"required_null":  `{"type":"object","properties":{"q":{"type":"string"}},"required":null}`,
	"prop_true":      `{"type":"object","properties":{"payload":true}}`,
	"prop_false":     `{"type":"object","properties":{"never":false}}`,
	"dialect_only":   `{"$schema":"http://json-schema.org/draft-07/schema#"}`,
	"notype":         `{"properties":{"q":{"type":"string"}}}`,
	"empty":          `{}`,
	"true":           `true`,
	"null":           `null`,
	"missing":        ``,
	"draft04":        `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"n":{"type":"integer","minimum":1,"exclusiveMinimum":true}}}`,
	"draft06":        `{"$schema":"http://json-schema.org/draft-06/schema#","type":"object"}`,
	"draft2019":      `{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object"}`,
	"draft_unknown":  `{"$schema":"https://example.com/no-such-dialect","type":"object"}`,
	"pointer_ref":    `{"type":"object","properties":{"nodes":{"type":"array","items":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/properties/nodes/items"}}}}}}}`,
	"recursive":      `{"type":"object","properties":{"tree":{"$ref":"#/$defs/T"}},"$defs":{"T":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/T"}}}}}}`,
	"ref_loop":       `{"type":"object","properties":{"q":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"$ref":"#/$defs/A"}}}`,
	"ref_self":       `{"type":"object","properties":{"self":{"$ref":"#"}}}`,
	"defs":           `{"type":"object","properties":{"c":{"$ref":"#/$defs/Colour"}},"$defs":{"Colour":{"enum":["red"]}}}`,
	"definitions":    `{"type":"object","properties":{"c":{"$ref":"#/definitions/Colour"}},"definitions":{"Colour":{"enum":["red"]}}}`,
	"ref_http":       `{"type":"object","properties":{"q":{"$ref":"http://169.254.7.7/latest/meta-data/"}}}`,
	"ref_file":       `{"type":"object","properties":{"q":{"$ref":"file:///etc/hostname"}}}`,
	"lookahead":      `{"type":"object","properties":{"q":{"type":"string","pattern":"^(?!bad).+$"}}}`,
	"lookbehind":     `{"type":"object","properties":{"q":{"type":"string","pattern":"(?<=a)b"}}}`,
	"backref":        `{"type":"object","properties":{"q":{"type":"string","pattern":"^(a)\\1$"}}}`,
	"patternprops":   `{"type":"object","patternProperties":{"^(?!x)":{"type":"string"}}}`,
	"regex_slow":     `{"type":"object","properties":{"q":{"type":"string","pattern":"^(a+)+$"}}}`,
	"int_big":        `{"type":"object","properties":{"id":{"const":9007199254740993}},"required":["id"]}`,
	"pointer_escape": `{"type":"object","properties":{"a/b":{"$ref":"#/$defs/x~1y~0z%25"}},"$defs":{"x/y~z%":{"type":"string"}}}`,
	"deep":           strings.Repeat(`{"anyOf":[`, 2000) + `{}` + strings.Repeat(`]}`, 2000),
	"wide":           `{"type":"object","properties":{"q":{"enum":[` + wideEnum() + `]}}}`,
	"bomb":           `{"type":"object","properties":{"q":{"$ref":"#/$defs/d0"}},"$defs":{` + bombDefs() + `}}`,
}

func wideEnum() string {
	values := make([]string, 20000)
	for i := range values {
		values[i] = fmt.Sprintf(`"v%d"`, i)
	}
	return strings.Join(values, ",")
}

// bombDefs is 40 levels that each refer twice to the next.
func bombDefs() string {
	var b strings.Builder
	for i := range 40 {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, i, i+1, i+1)
	}
	return b.String() + `"d40":{"type":"string"}`
}
