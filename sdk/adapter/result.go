package adapter

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/sdk/failure"
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
	raw, err := encode(withoutNil(value).Interface())
	if err != nil {
		return nil, adapterFault("encode what the tool function returned: %v", err)
	}
	whole, err := encode(answer{
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
	raw, err := encode(answer{Content: []textBlock{{Type: "text", Text: text}}, IsError: isError})
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
	s, err := objectSchema(t)
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
	raw, err := encode(withoutNil(v).Interface())
	if err != nil {
		return nil, adapterFault("encode what the tool function returned: %v", err)
	}
	return structured(raw)
}

func structured(raw json.RawMessage) (*Result, error) {
	// The text is the very bytes of the object, so both say the same.
	whole, err := encode(answer{Content: []textBlock{{Type: "text", Text: string(raw)}}, StructuredContent: raw})
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

// withoutNil returns v with nil slices and maps replaced by empty ones, so that
// the result keeps to the schema derived from its type, which knows no null. The
// author's own values are left alone: what changes is copied.
func withoutNil(v reflect.Value) reflect.Value {
	t := v.Type()
	if known[t] != nil || t.Implements(reflect.TypeFor[json.Marshaler]()) || t.Implements(reflect.TypeFor[encoding.TextMarshaler]()) {
		return v
	}
	switch v.Kind() {
	case reflect.Slice:
		if v.IsNil() {
			return reflect.MakeSlice(t, 0, 0)
		}
		if !holdsNilable(t.Elem()) {
			return v
		}
		c := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			c.Index(i).Set(withoutNil(v.Index(i)))
		}
		return c
	case reflect.Map:
		c := reflect.MakeMapWithSize(t, v.Len())
		for it := v.MapRange(); it.Next(); {
			c.SetMapIndex(it.Key(), withoutNil(it.Value()))
		}
		return c
	case reflect.Pointer:
		if v.IsNil() {
			return v
		}
		c := reflect.New(t.Elem())
		c.Elem().Set(withoutNil(v.Elem()))
		return c
	case reflect.Struct:
		c := reflect.New(t).Elem()
		c.Set(v)
		fillFields(c)
		return c
	default:
		return v
	}
}

// fillFields does withoutNil for the fields of an addressable struct, those
// promoted from an embedded struct of an unexported type included.
func fillFields(v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if f.CanSet() {
			f.Set(withoutNil(f))
		} else if v.Type().Field(i).Anonymous && f.Kind() == reflect.Struct {
			fillFields(f)
		}
	}
}

// holdsNilable says whether a value of type t can hold a nil slice or map, so
// that a long list of plain values is not copied.
func holdsNilable(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer, reflect.Struct:
		return true
	default:
		return false
	}
}
