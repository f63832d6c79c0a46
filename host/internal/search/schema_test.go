package search

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func readSchema(schema string) (parameters, values string) {
	var ps, vs []string
	schemaWords([]byte(schema), func(p string) { ps = append(ps, p) }, func(v string) { vs = append(vs, v) })
	return strings.Join(ps, " "), strings.Join(vs, "|")
}

func TestSchemaWords(t *testing.T) {
	for name, c := range map[string]struct{ schema, parameters, values string }{
		"nothing":    {``, "", ""},
		"no object":  {`["properties"]`, "", ""},
		"plain":      {`{"title":"no","description":"no","properties":{"a":{"description":"the a"},"b":{"title":"bee"}}}`, "a b", "the a|bee"},
		"enum":       {`{"properties":{"mode":{"enum":["walk","bike",1,null,{"x":1}]},"one":{"const":"only"}}}`, "mode one", "walk|bike|only"},
		"nested":     {`{"properties":{"o":{"properties":{"in":{"description":"deep"}}},"l":{"items":{"properties":{"el":{}}}}}}`, "o in l el", "deep"},
		"choices":    {`{"anyOf":[{"properties":{"x":{}}},{"properties":{"y":{}}}],"allOf":[{"properties":{"z":true}}]}`, "x y z", ""},
		"name taken": {`{"properties":{"properties":{"description":"d"},"enum":{"enum":["v"]}}}`, "properties enum", "d|v"},
		"ref":        {`{"properties":{"c":{"$ref":"#/$defs/C"}},"$defs":{"C":{"enum":["red"],"properties":{"deep":{}}}}}`, "c deep", "red"},
		"ref twice":  {`{"properties":{"a":{"$ref":"#/$defs/C"},"b":{"$ref":"#/$defs/C"}},"$defs":{"C":{"enum":["red"]}}}`, "a b", "red"},
		"escaped":    {`{"properties":{"a":{"$ref":"#/$defs/x~1y~0.z*"}},"$defs":{"x/y~.z*":{"enum":["hit"]}}}`, "a", "hit"},
		"in a list":  {`{"properties":{"a":{"$ref":"#/x/1"}},"x":[{"enum":["no"]},{"enum":["yes"]}]}`, "a", "yes"},
		"itself":     {`{"properties":{"kids":{"items":{"$ref":"#"}},"k":{"$ref":"#/properties/k"}}}`, "kids k", ""},
		"a cycle":    {`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a","properties":{"p":{}}}}}`, "p", ""},
		"outside":    {`{"properties":{"a":{"$ref":"file:///etc/passwd"},"b":{"$ref":"http://169.254.169.254/x"},"c":{"$ref":7}}}`, "a b c", ""},
		"dangling":   {`{"properties":{"a":{"$ref":"#/$defs/none/at/all"}}}`, "a", ""},
		"truncated":  {`{"properties":{"a":{"description":"half`, "a", ""},
	} {
		parameters, values := readSchema(c.schema)
		if parameters != c.parameters || values != c.values {
			t.Errorf("%s: parameters %q, values %q; want %q, %q", name, parameters, values, c.parameters, c.values)
		}
	}
}

func TestSchemaBounds(t *testing.T) {
	t.Run("parameters", func(t *testing.T) {
		var many []string
		for i := range 10_000 {
			many = append(many, fmt.Sprintf(`"p%d":{}`, i))
		}
		parameters, _ := readSchema(`{"properties":{` + strings.Join(many, ",") + `}}`)
		if n := len(strings.Fields(parameters)); n != maxParameters {
			t.Errorf("%d parameters, want %d", n, maxParameters)
		}
	})
	t.Run("text", func(t *testing.T) {
		_, values := readSchema(`{"properties":{"a":{"description":"` + strings.Repeat("é", maxParamText) + `"},"b":{"description":"more"}}}`)
		if len(values) > maxParamText || len(values) < maxParamText-1 {
			t.Errorf("%d bytes of text, want %d", len(values), maxParamText)
		}
	})
	t.Run("size", func(t *testing.T) {
		parameters, _ := readSchema(`{"properties":{"a":{}},"x":"` + strings.Repeat("x", maxSchema) + `"}`)
		if parameters != "" {
			t.Errorf("a schema of more than %d bytes was read", maxSchema)
		}
	})
	t.Run("depth", func(t *testing.T) {
		deep := strings.Repeat(`{"properties":{"p":`, 100) + "{}" + strings.Repeat("}}", 100)
		parameters, _ := readSchema(deep)
		if n := len(strings.Fields(parameters)); n != maxSchemaDepth+1 {
			t.Errorf("%d levels, want %d", n, maxSchemaDepth+1)
		}
	})
	// References that fan out, and one pointer of very many steps: without a bound
	// the work would grow with the square of the size.
	t.Run("work", func(t *testing.T) {
		var defs []string
		for i := range 5000 {
			defs = append(defs, fmt.Sprintf(`"d%d":{"$ref":"#/$defs/d%d","anyOf":[{"$ref":"#/$defs/d%d"}]}`, i, i+1, i*7%5000))
		}
		const steps = 40_000
		deep := strings.Repeat(`{"a":`, steps) + "{}" + strings.Repeat("}", steps)
		for name, schema := range map[string]string{
			"references": `{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `}}`,
			"steps":      `{"properties":{"p":{"$ref":"#/a` + strings.Repeat("/a", steps) + `"}},"a":` + deep + `}`,
		} {
			ignore := func(string) {}
			r := newSchemaReader(gjson.Parse(schema), ignore, ignore)
			r.read(r.root, 0)
			if over := -r.work; over > 2*len(schema) || over < 0 {
				t.Errorf("%s: %d bytes were gone through beyond %d, in a schema of %d", name, over, maxSchemaWork, len(schema))
			}
		}
	})
}
