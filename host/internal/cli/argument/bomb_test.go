package argument

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Schemas through which there are more ways than anybody can go.
func TestHostileSchemasCostLittle(t *testing.T) {
	for name, schema := range map[string]string{
		"self":  `{"properties":{"k":{"$ref":"#"}},"anyOf":[` + strings.Repeat(`{"$ref":"#"},`, 30) + `{}]}`,
		"all":   `{"properties":{"k":{"allOf":[` + strings.Repeat(`{"$ref":"#/properties/k"},`, 9) + `{}]}}}`,
		"items": `{"properties":{"k":{"type":"array","anyOf":[` + strings.Repeat(`{"items":{"$ref":"#/properties/k"}},`, 9) + `{}]}}}`,
		"large": `{"properties":{"k":{"oneOf":[` + strings.Repeat(`{"$ref":"#/properties/k"},`, 40_000) + `{}]}}}`,
	} {
		begun := time.Now()
		Parameters(json.RawMessage(schema))
		Values(json.RawMessage(schema), "k")
		Undeclared(json.RawMessage(schema), []Word{{Key: "x"}})
		if got, problems := Object(json.RawMessage(schema), []Word{{Key: "k", Text: "x"}}); !json.Valid(got) && problems == nil {
			t.Errorf("%s: got %s", name, got)
		}
		if took := time.Since(begun); took > 20*time.Second {
			t.Errorf("%s took %s", name, took)
		} else {
			t.Logf("%s took %s", name, took)
		}
	}
}
