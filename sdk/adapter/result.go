package adapter

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/typed"
)

// MetaUntrusted is the member of a result's _meta that, when true, says that
// the content was written by strangers: a page, a repository, a search result.
// What it asks for is nobody's wish.
const MetaUntrusted = "collet.dev/untrusted"

// Untrusted makes a Result of what strangers wrote: text is what models read,
// and v, a struct or a map, what programs read as structuredContent. Its _meta
// has MetaUntrusted. Nil slices and maps in v become empty ones.
func Untrusted(text string, v any) (*Result, error) {
	value := reflect.ValueOf(v)
	if !value.IsValid() {
		return nil, adapterFault("the tool function has no structuredContent")
	}
	raw, err := typed.Encode(typed.WithoutNil(value).Interface())
	if err != nil {
		return nil, adapterFault("encode what the tool function returned: %v", err)
	}
	whole, err := typed.Encode(answer{
		Content: []textBlock{{Type: "text", Text: text}}, StructuredContent: raw,
		Meta: map[string]bool{MetaUntrusted: true},
	})
	if err != nil {
		return nil, adapterFault("encode a result: %v", err)
	}
	return &Result{JSON: whole}, nil
}

// answer is an MCP CallToolResult as this package writes it.
type answer struct {
	Content           []textBlock     `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
	Meta              map[string]bool `json:"_meta,omitempty"`
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// textResult is a result with one text block.
func textResult(text string, isError bool) (*Result, error) {
	raw, err := typed.Encode(answer{Content: []textBlock{{Type: "text", Text: text}}, IsError: isError})
	if err != nil {
		return nil, err
	}
	return &Result{JSON: raw, IsError: isError}, nil
}

// outputSchema is the schema of what a tool function returns, nil where there is
// none. The error says which types work.
func outputSchema(t reflect.Type) (*jsonschema.Schema, error) {
	switch t {
	case reflect.TypeFor[string](), reflect.TypeFor[json.RawMessage](), reflect.TypeFor[*Result]():
		return nil, nil
	}
	s, err := typed.ObjectSchema(t)
	if err != nil {
		return nil, fmt.Errorf("%w; a tool returns a struct, a map, string, json.RawMessage or *adapter.Result", err)
	}
	return s, nil
}

// toResult turns what a tool function returned into an MCP result: a string into
// text, anything else into structuredContent and the same JSON as text, for
// clients that read only text (MCP 2025-06-18, server/tools, structured content).
func toResult(out any) (*Result, error) {
	switch out := out.(type) {
	case *Result:
		return out, nil
	case string:
		return textResult(out, false)
	case json.RawMessage:
		if !json.Valid(out) {
			return nil, adapterFault("the tool function returned json.RawMessage that is not JSON")
		}
		if b := bytes.TrimLeft(out, " \t\r\n"); b[0] != '{' {
			return textResult(string(out), false) // structuredContent is always an object
		}
		return structured(out)
	}
	v := reflect.ValueOf(out)
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, adapterFault("the tool function returned a nil %T", out)
	}
	raw, err := typed.Encode(typed.WithoutNil(v).Interface())
	if err != nil {
		return nil, adapterFault("encode what the tool function returned: %v", err)
	}
	return structured(raw)
}

func structured(raw json.RawMessage) (*Result, error) {
	// The text is the very bytes of the object, so both say the same.
	whole, err := typed.Encode(answer{Content: []textBlock{{Type: "text", Text: string(raw)}}, StructuredContent: raw})
	if err != nil {
		return nil, adapterFault("encode a result: %v", err)
	}
	return &Result{JSON: whole}, nil
}

func adapterFault(format string, args ...any) *failure.Failure {
	f := failure.New(failure.ServerError, failure.DeliveryUnknown, format, args...)
	f.Origin = failure.OriginAdapter
	return f
}
