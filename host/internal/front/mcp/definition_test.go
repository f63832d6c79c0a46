package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/exposure"
)

func toolOf(definition string) Tool {
	return Tool{
		Tool: catalog.New("s", catalog.Offer{Name: "t", Definition: json.RawMessage(definition)}),
		Wire: "s__t", Exposure: exposure.Direct,
	}
}

// nested is a schema of so many containers within each other.
func nested(levels int) string {
	return strings.Repeat(`{"not":`, levels-1) + `{}` + strings.Repeat(`}`, levels-1)
}

func TestDefinitionsKeepTheirBytes(t *testing.T) {
	long := strings.Repeat("x", 100<<10)
	for def, want := range map[string]string{
		`{"name":"t","inputSchema":{"type":"object"},"x":1.0}`:  `{"name":"s__t","inputSchema":{"type":"object"},"x":1.0}`,
		"{ \"x\":9007199254740993,\n\"name\" : \"t\"}":          "{ \"x\":9007199254740993,\n\"name\" : \"s__t\",\"inputSchema\":{\"type\":\"object\"}}",
		`{"name":"t","inputSchema":true}`:                       `{"name":"s__t","inputSchema":{"type":"object"}}`,
		`{"inputSchema":{ },"name":"t"}`:                        `{"inputSchema":{"type":"object" },"name":"s__t"}`,
		`{"inputSchema":{"a":1},"name":"t"}`:                    `{"inputSchema":{"type":"object","a":1},"name":"s__t"}`,
		`{"name":"t","inputSchema":{"type":"array"}}`:           `{"name":"s__t","inputSchema":{"type":"array"}}`,
		`{"name":"t","description":"` + long + `"}`:             `{"name":"s__t","description":"` + long + `","inputSchema":{"type":"object"}}`,
		`{"name":"t","inputSchema":` + nested(maxNesting) + `}`: `{"name":"s__t","inputSchema":{"type":"object",` + nested(maxNesting)[1:] + `}`,
		`{"name":"t","description":"` + `[[[{\"{\\` + `"}`:      `{"name":"s__t","description":"` + `[[[{\"{\\` + `","inputSchema":{"type":"object"}}`,
	} {
		if got := string(appendDefinition(nil, toolOf(def))); got != want {
			t.Errorf("%.200s\nbecomes %.200s\nand not %.200s", def, got, want)
		}
	}
}

// Whatever a definition is, what is listed of it is one tool of that name.
func FuzzDefinition(f *testing.F) {
	for _, def := range []string{`{"name":"t","inputSchema":{"type":"object"}}`, `{"name":"t","name":"u"}`, nested(200), `{"name":"t","_meta":{ },"inputSchema":` + nested(200) + `}`, `}`} {
		f.Add(def)
	}
	f.Fuzz(func(t *testing.T, def string) {
		got := string(appendDefinition(nil, toolOf(def)))
		if !gjson.Valid(got) || nesting(got) > maxNesting+1 || len(got) > maxSchema+2*maxRest {
			t.Fatalf("%.400s is listed as %.400s", def, got)
		}
		var listed struct {
			Name        string          `json:"name"` // the last one, as clients take it
			InputSchema json.RawMessage `json:"inputSchema"`
		}
		if err := json.Unmarshal([]byte(got), &listed); err != nil || listed.Name != "s__t" || !gjson.ParseBytes(listed.InputSchema).IsObject() {
			t.Fatalf("%.400s is listed as %.400s: %v", def, got, err)
		}
	})
}

// A definition that no client should be given is listed without what is wrong with
// it, and says so.
func TestAbsurdDefinitions(t *testing.T) {
	big := strings.Repeat("é", maxRest)
	for name, c := range map[string]struct {
		definition string
		want       string // the whole of it
	}{
		"deep schema": {
			`{"title":"T","name":"t","_meta":{"a":1},"inputSchema":` + nested(maxNesting+1) + `,"annotations":{"readOnlyHint":true}}`,
			`{"name":"s__t","title":"T","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"},"_meta":{"a":1,"collet.dev/unchecked":"` + uncheckedWhy + `","collet.dev/omitted":["inputSchema"]}}`,
		},
		"large schema": {
			`{"name":"t","inputSchema":{"enum":["` + big + `"]}}`,
			`{"name":"s__t","inputSchema":{"type":"object"},"_meta":{"collet.dev/unchecked":"` + uncheckedWhy + `","collet.dev/omitted":["inputSchema"]}}`,
		},
		"deep elsewhere": {
			`{"name":"t","outputSchema":` + nested(3000) + `,"inputSchema":{"required":["q"]},"_meta":` + nested(200) + `}`,
			`{"name":"s__t","inputSchema":{"type":"object","required":["q"]},"_meta":{"collet.dev/omitted":["outputSchema","_meta"]}}`,
		},
		"deep enough for a stack": {
			`{"name":"t","inputSchema":` + nested(2_000_000) + `}`,
			`{"name":"s__t","inputSchema":{"type":"object"},"_meta":{"collet.dev/unchecked":"` + uncheckedWhy + `"}}`,
		},
		"large elsewhere": {
			`{"name":"t","icons":["` + big + `"],"inputSchema":{"type":"object"},"description":"short"}`,
			`{"name":"s__t","description":"short","inputSchema":{"type":"object"},"_meta":{"collet.dev/omitted":["icons"]}}`,
		},
		"many members": {
			`{"name":"t","a":"` + big[:maxRest-100] + `","b":"` + big[:200] + `","inputSchema":{"type":"object"}}`,
			`{"name":"s__t","a":"` + big[:maxRest-100] + `","inputSchema":{"type":"object"},"_meta":{"collet.dev/omitted":["b"]}}`,
		},
		"long description": {
			`{"name":"t","description":"` + big + `"}`,
			`{"name":"s__t","description":"` + strings.Repeat("é", (maxText-4)/2) + `...","inputSchema":{"type":"object"}}`,
		},
		"two names": {
			`{"name":"t","inputSchema":{"type":"object"},"na\u006de":"other__tool","inputSchema":{"type":"string"},"x":1,"x":2}`,
			`{"name":"s__t","x":1,"inputSchema":{"type":"object"}}`,
		},
		"no name":       {`{"title":"T"}`, `{"name":"s__t","title":"T","inputSchema":{"type":"object"}}`},
		"no JSON":       {`{"name":"t","x":}`, `{"name":"s__t","inputSchema":{"type":"object"},"_meta":{"collet.dev/unchecked":"` + uncheckedWhy + `"}}`},
		"no object":     {`["name"]`, `{"name":"s__t","inputSchema":{"type":"object"},"_meta":{"collet.dev/unchecked":"` + uncheckedWhy + `"}}`},
		"nothing":       {``, `{"name":"s__t","inputSchema":{"type":"object"},"_meta":{"collet.dev/unchecked":"` + uncheckedWhy + `"}}`},
		"closes itself": {`}}]],{"name":"t"`, `{"name":"s__t","inputSchema":{"type":"object"},"_meta":{"collet.dev/unchecked":"` + uncheckedWhy + `"}}`},
	} {
		tool := toolOf(c.definition)
		got := string(appendDefinition(nil, tool))
		if got != c.want {
			t.Errorf("%s: listed as %.400s\nand not %.400s", name, got, c.want)
		}
		if !gjson.Valid(got) {
			t.Errorf("%s: no JSON is listed", name)
		}
		if listed, schema := gjson.Get(got, "inputSchema").Raw, string(listedSchema(tool)); listed != schema {
			t.Errorf("%s: the schema is listed as %.100s and taken as %.100s", name, listed, schema)
		}
		hit := string(tell([]found{{Tool: tool, score: 1}})[0])
		if len(hit) > maxSchema+2*maxText || nesting(hit) > maxNesting+1 || !gjson.Valid(hit) {
			t.Errorf("%s: found as %.400s", name, hit)
		}
	}
}
