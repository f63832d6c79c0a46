package adapter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/typed"
)

type base struct {
	Owner string `json:"owner"`
}

type issue struct {
	base
	Title  string            `json:"title" jsonschema:"a <short> title"`
	Labels []string          `json:"labels,omitempty"`
	Parent *int              `json:"parent,omitempty"`
	Extra  json.RawMessage   `json:"extra,omitempty"`
	Env    map[string]string `json:"env,omitempty"`
	Due    time.Time         `json:"due,omitzero"`
	Data   []byte            `json:"data,omitempty"`
	Size   json.Number       `json:"size,omitempty"`
	Any    any               `json:"any,omitempty"`
}

func definitionOf[In, Out any](t *testing.T, opts ...ToolOption) Tool {
	t.Helper()
	var tools Tools
	Add(&tools, "x", "", func(context.Context, *Call, In) (out Out, err error) { return }, opts...)
	list, err := tools.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

func TestInputSchema(t *testing.T) {
	const want = `{"name":"x","inputSchema":{"type":"object","properties":{` +
		`"owner":{"type":"string"},"title":{"type":"string","description":"a <short> title"},` +
		`"labels":{"type":"array","items":{"type":"string"}},"parent":{"type":"integer"},"extra":{},` +
		`"env":{"type":"object","additionalProperties":{"type":"string"}},"due":{"type":"string"},` +
		`"data":{"type":"string","contentEncoding":"base64"},"size":{"type":"number"},"any":{}},` +
		`"required":["owner","title"],"additionalProperties":false}}`
	if got := string(definitionOf[issue, string](t).Definition); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestToolOptions(t *testing.T) {
	type in struct {
		Mode string `json:"mode"`
	}
	tool := definitionOf[in, string](t, ReadOnly(), Idempotent(), AsksConsent(), Title("A <title>"), Schema(func(s *jsonschema.Schema) {
		s.Properties["mode"].Enum = []any{"a", "b"}
	}))
	const want = `{"name":"x","title":"A <title>","inputSchema":{"type":"object","properties":{"mode":{"type":"string","enum":["a","b"]}},` +
		`"required":["mode"],"additionalProperties":false},"annotations":{"readOnlyHint":true,"idempotentHint":true}}`
	if string(tool.Definition) != want || !*tool.ReadOnly || !*tool.Idempotent || !tool.AsksConsent {
		t.Errorf("got  %+v %s\nwant %s", tool, tool.Definition, want)
	}
	plain := definitionOf[in, string](t)
	if plain.ReadOnly != nil || plain.Idempotent != nil || plain.AsksConsent || strings.Contains(string(plain.Definition), "annotations") {
		t.Errorf("a tool that promises nothing: %+v", plain)
	}
	raw := definitionOf[in, string](t, RawSchema(json.RawMessage(`{"type":"object", "maxProperties": 12345678901234567890}`)))
	if want := `{"name":"x","inputSchema":{"type":"object","maxProperties":12345678901234567890}}`; string(raw.Definition) != want {
		t.Errorf("got  %s\nwant %s", raw.Definition, want)
	}
}

type found struct {
	Items []item          `json:"items"`
	Index map[string]*int `json:"index"`
	Next  *item           `json:"next,omitempty"`
	base
}

type item struct {
	Tags []string `json:"tags"`
}

func TestStructuredResult(t *testing.T) {
	var shared = []item{{}, {Tags: []string{"<a>"}}}
	out := found{Items: shared, Next: &item{}, base: base{Owner: "o"}}
	r, err := toResult(out)
	const object = `{"items":[{"tags":[]},{"tags":["<a>"]}],"index":{},"next":{"tags":[]},"owner":"o"}`
	text, _ := typed.Encode(object)
	if want := `{"content":[{"type":"text","text":` + string(text) + `}],"structuredContent":` + object + `}`; err != nil || string(r.JSON) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, r.JSON, want)
	}
	if shared[0].Tags != nil || out.Next.Tags != nil {
		t.Error("the author's own value was changed")
	}
	// What comes out keeps to the schema derived from the type.
	var schema *jsonschema.Schema
	var definition struct{ OutputSchema json.RawMessage }
	if err := json.Unmarshal(definitionOf[base, found](t).Definition, &definition); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(definition.OutputSchema, &schema); err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{out, found{}, &found{Items: []item{}}} {
		r, err := toResult(v)
		if err != nil {
			t.Fatal(err)
		}
		var whole struct{ StructuredContent json.RawMessage }
		if err := json.Unmarshal(r.JSON, &whole); err != nil {
			t.Fatal(err)
		}
		if problems := typed.Check(schema, whole.StructuredContent); len(problems) != 0 {
			t.Errorf("%s breaks %s: %v", whole.StructuredContent, definition.OutputSchema, problems)
		}
	}
}

func TestOtherResults(t *testing.T) {
	whole := &Result{JSON: json.RawMessage(`{"content":[], "x":1.0}`)}
	tests := []struct {
		out  any
		want string // "" means a failure
	}{
		{"a <b>", `{"content":[{"type":"text","text":"a <b>"}]}`},
		{json.RawMessage(`{"n":1.0}`), `{"content":[{"type":"text","text":"{\"n\":1.0}"}],"structuredContent":{"n":1.0}}`},
		{json.RawMessage(` [1]`), `{"content":[{"type":"text","text":" [1]"}]}`},
		{json.RawMessage(`{`), ""},
		{json.RawMessage(nil), ""},
		{(*found)(nil), ""},
		{map[string]any{"c": make(chan int)}, ""},
		{whole, string(whole.JSON)},
	}
	for _, test := range tests {
		r, err := toResult(test.out)
		if test.want == "" {
			if f := failure.Classify(err); f == nil || f.Class != failure.ServerError || f.Origin != failure.OriginAdapter {
				t.Errorf("%v: %v, %v; want an adapter's fault", test.out, r, err)
			}
		} else if err != nil || string(r.JSON) != test.want {
			t.Errorf("%v: %v, %v; want %s", test.out, r, err, test.want)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	type tagged struct {
		base `json:"base"`
	}
	type cycle struct {
		Next *cycle `json:"next"`
	}
	add := map[string]func(*Tools){
		"slice result": func(t *Tools) { Add(t, "x", "", func(context.Context, *Call, base) (o []int, e error) { return }) },
		"int result":   func(t *Tools) { Add(t, "x", "", func(context.Context, *Call, base) (o int, e error) { return }) },
		"map arguments": func(t *Tools) {
			Add(t, "x", "", func(context.Context, *Call, map[string]int) (o string, e error) { return })
		},
		"embedded name": func(t *Tools) { Add(t, "x", "", func(context.Context, *Call, tagged) (o string, e error) { return }) },
		"cycle":         func(t *Tools) { Add(t, "x", "", func(context.Context, *Call, cycle) (o string, e error) { return }) },
		"no name":       func(t *Tools) { Add(t, "", "", func(context.Context, *Call, base) (o string, e error) { return }) },
		"broken schema": func(t *Tools) {
			Add(t, "x", "", func(context.Context, *Call, base) (o string, e error) { return }, RawSchema(json.RawMessage("{")))
		},
		"a bad one last": func(t *Tools) {
			Add(t, "a", "", func(context.Context, *Call, base) (o string, e error) { return })
			Add(t, "a", "", func(context.Context, *Call, base) (o string, e error) { return })
		},
	}
	for name, f := range add {
		var tools Tools
		f(&tools)
		if list, err := tools.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "add tool") {
			t.Errorf("%s: %v, %v", name, list, err)
		}
		if _, err := tools.Call(t.Context(), &Call{Tool: "x", Args: json.RawMessage("{}")}); err == nil {
			t.Errorf("%s: it can be called", name)
		}
	}
}

func TestDeadlineIsNoToolError(t *testing.T) {
	var tools Tools
	Add(&tools, "x", "", func(ctx context.Context, _ *Call, _ struct{}) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	r, err := tools.Call(ctx, &Call{Tool: "x", Args: json.RawMessage("{}")})
	if f := failure.Classify(err); f == nil || f.Class != failure.Timeout {
		t.Errorf("%v, %v; want a timeout", r, err)
	}
}
