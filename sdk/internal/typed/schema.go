// Package typed derives JSON Schemas from Go types, and holds objects that others
// sent against them and reads them into those types. It knows neither tools nor
// configurations, only values.
package typed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// known are types whose JSON form jsonschema-go does not see: raw JSON is
// anything, a json.Number is a number, bytes are a base64 string.
var known = map[reflect.Type]*jsonschema.Schema{
	reflect.TypeFor[json.RawMessage](): {},
	reflect.TypeFor[json.Number]():     {Type: "number"},
	reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
}

// ObjectSchema derives the schema of a Go type that must come out as a JSON
// object. Clients refuse "type":["null","array"], which jsonschema-go writes for
// every slice and pointer, so null is taken out: who has nothing to say leaves a
// member out.
func ObjectSchema(t reflect.Type) (*jsonschema.Schema, error) {
	if err := checkEmbedded(t, map[reflect.Type]bool{}); err != nil {
		return nil, err
	}
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	tidy(s)
	if s.Type != "object" {
		return nil, fmt.Errorf("%s is not a struct or a map, so its JSON is no object", t)
	}
	return s, nil
}

// ConfigSchema is ObjectSchema with secrets marked. Raw JSON is an object of
// unknown members.
func ConfigSchema(t reflect.Type) (*jsonschema.Schema, error) {
	if t == reflect.TypeFor[json.RawMessage]() {
		return &jsonschema.Schema{Type: "object"}, nil
	}
	s, err := ObjectSchema(t)
	if err != nil {
		return nil, err
	}
	markSecrets(t, s)
	return s, nil
}

// tidy takes null out of every list of types below s.
func tidy(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Types != nil {
		s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
		if len(s.Types) == 1 {
			s.Type, s.Types = s.Types[0], nil
		} else if len(s.Types) == 0 {
			s.Types = nil
		}
	}
	for _, p := range s.Properties {
		tidy(p)
	}
	tidy(s.Items)
	tidy(s.AdditionalProperties)
}

// anything stands for an empty schema until the schema is text. As text it cannot
// occur elsewhere: inside a JSON string its quotes would be escaped.
const anything = `{"$comment":"collet: anything"}`

// EncodeSchema writes s the way collet passes JSON on. jsonschema-go writes a
// property that may be anything as true, which clients that expect an object
// there refuse; and it escapes <, > and & in descriptions.
func EncodeSchema(s *jsonschema.Schema) (json.RawMessage, error) {
	c := s.CloneSchemas()
	markEmpty(c)
	raw, err := Encode(c)
	if err != nil {
		return nil, err
	}
	return unescapeHTML(bytes.ReplaceAll(raw, []byte(anything), []byte("{}"))), nil
}

func markEmpty(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	for _, p := range s.Properties {
		markEmpty(p)
	}
	markEmpty(s.AdditionalProperties)
	markEmpty(s.Items)
	for _, p := range append(slices.Collect(maps.Values(s.Properties)), s.Items) {
		if p != nil && reflect.ValueOf(*p).IsZero() {
			p.Comment = "collet: anything"
		}
	}
}

// unescapeHTML undoes what json.Marshal does to <, > and & inside strings.
func unescapeHTML(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' || i+1 == len(raw) {
			out = append(out, raw[i])
			continue
		}
		switch {
		case bytes.HasPrefix(raw[i:], []byte(`\u003c`)):
			out, i = append(out, '<'), i+5
		case bytes.HasPrefix(raw[i:], []byte(`\u003e`)):
			out, i = append(out, '>'), i+5
		case bytes.HasPrefix(raw[i:], []byte(`\u0026`)):
			out, i = append(out, '&'), i+5
		default: // also keeps an escaped backslash and what follows it apart
			out, i = append(out, raw[i], raw[i+1]), i+1
		}
	}
	return out
}

// ReadSchema reads a schema that an author wrote. One that is JSON but holds what
// jsonschema-go cannot represent, such as a bound beyond an int, is nil: it is
// sent as it is, and checked by the host alone.
func ReadSchema(raw json.RawMessage) (*jsonschema.Schema, error) {
	if !json.Valid(raw) || !IsObject(raw) {
		return nil, errors.New("the schema is not a JSON object")
	}
	var s *jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, nil
	}
	return s, nil
}

// markSecrets sets "x-collet-secret" on the properties of s whose fields carry
// the tag `collet:"secret"`, or "public". ForType has seen t, so it has no cycles.
func markSecrets(t reflect.Type, s *jsonschema.Schema) {
	if s == nil {
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		markSecrets(t.Elem(), s)
	case reflect.Slice, reflect.Array:
		markSecrets(t.Elem(), s.Items)
	case reflect.Map:
		markSecrets(t.Elem(), s.AdditionalProperties)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			p := s.Properties[jsonName(f)]
			if f.Anonymous || !f.IsExported() || p == nil {
				continue
			}
			if tag := f.Tag.Get("collet"); tag == "secret" || tag == "public" {
				if p.Extra == nil {
					p.Extra = map[string]any{}
				}
				p.Extra["x-collet-secret"] = tag == "secret"
			}
			markSecrets(f.Type, p)
		}
	}
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	if name == "" {
		return f.Name
	}
	return name
}

// checkEmbedded refuses embedded fields with a json tag: encoding/json nests
// them under the tag's name or leaves them out, jsonschema-go writes their
// fields flat, and a schema that lies is worse than none.
func checkEmbedded(t reflect.Type, seen map[reflect.Type]bool) error {
	if seen[t] || known[t] != nil {
		return nil
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return checkEmbedded(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if tag, ok := f.Tag.Lookup("json"); ok && f.Anonymous {
				return fmt.Errorf("embedded field %s.%s has the tag json:%q: give the field a name", t, f.Name, tag)
			}
			if err := checkEmbedded(f.Type, seen); err != nil {
				return err
			}
		}
	}
	return nil
}
