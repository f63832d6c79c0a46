package typed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/sdk/failure"
)

// maxProblems bounds the problems reported at once: more help nobody and do not
// fit into a failure.
const maxProblems = 16

// Check holds raw against the keywords that a schema derived from a Go type
// consists of, and those an author adds most: type, properties, required,
// additionalProperties, items, enum, and the bounds of numbers. The host has
// validated against the whole schema; this pass is what a tool function may rely
// on whoever calls. A problem names the place by JSON Pointer (RFC 6901).
func Check(s *jsonschema.Schema, raw json.RawMessage) []failure.Problem {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return []failure.Problem{{Rule: "type", Message: "not JSON: " + err.Error()}}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return []failure.Problem{{Rule: "type", Message: "not JSON: something follows the value"}}
	}
	if _, ok := v.(map[string]any); !ok {
		return []failure.Problem{{Rule: "type", Message: "is " + kind(v) + ", must be object"}}
	}
	var c checker
	c.value(s, "", v)
	return c.problems
}

type checker struct {
	problems []failure.Problem
}

func (c *checker) add(path, rule, format string, args ...any) {
	if len(c.problems) < maxProblems {
		c.problems = append(c.problems, failure.Problem{Path: path, Rule: rule, Message: fmt.Sprintf(format, args...)})
	}
}

func (c *checker) value(s *jsonschema.Schema, path string, v any) {
	if s == nil || len(c.problems) >= maxProblems {
		return
	}
	if types := typesOf(s); len(types) > 0 && !slices.ContainsFunc(types, func(t string) bool { return is(t, v) }) {
		c.add(path, "type", "is %s, must be %s", kind(v), strings.Join(types, " or "))
		return
	}
	if s.Enum != nil && !slices.ContainsFunc(s.Enum, func(e any) bool { return equal(e, v) }) {
		allowed, _ := Encode(s.Enum)
		c.add(path, "enum", "must be one of %s", allowed)
	}
	switch v := v.(type) {
	case json.Number:
		c.number(s, path, v)
	case []any:
		for i, item := range v {
			c.value(s.Items, path+"/"+strconv.Itoa(i), item)
		}
	case map[string]any:
		c.object(s, path, v)
	}
}

func (c *checker) object(s *jsonschema.Schema, path string, v map[string]any) {
	for _, name := range s.Required {
		if _, ok := v[name]; !ok {
			c.add(path+"/"+pointer(name), "required", "is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		at := path + "/" + pointer(name)
		p, declared := s.Properties[name]
		switch {
		case declared:
			c.value(p, at, v[name])
		case len(s.PatternProperties) > 0: // left to the host
		case isFalse(s.AdditionalProperties):
			c.add(at, "additionalProperties", "is not a known member")
		default:
			c.value(s.AdditionalProperties, at, v[name])
		}
	}
}

func (c *checker) number(s *jsonschema.Schema, path string, n json.Number) {
	if s.Minimum == nil && s.Maximum == nil {
		return
	}
	v, ok := exact(n)
	if !ok {
		c.add(path, "type", "is a number out of range")
		return
	}
	if s.Minimum != nil && v.Cmp(big.NewFloat(*s.Minimum)) < 0 {
		c.add(path, "minimum", "must be at least %v", *s.Minimum)
	}
	if s.Maximum != nil && v.Cmp(big.NewFloat(*s.Maximum)) > 0 {
		c.add(path, "maximum", "must be at most %v", *s.Maximum)
	}
}

// exact reads n without losing digits of any integer up to 512 bits. It works on
// the exponent as a number, never expanding it: 1e999999999 costs nothing.
func exact(n json.Number) (*big.Float, bool) {
	f, _, err := big.ParseFloat(string(n), 10, 512, big.ToNearestEven)
	return f, err == nil && !f.IsInf()
}

func typesOf(s *jsonschema.Schema) []string {
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// isFalse says whether s refuses everything, which jsonschema-go spells
// {"not": {}} and writes as false.
func isFalse(s *jsonschema.Schema) bool {
	if s == nil || s.Not == nil {
		return false
	}
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}

// is says whether v is of JSON Schema type t. 1.0 is an integer (JSON Schema
// 2020-12, validation 6.1.1).
func is(t string, v any) bool {
	if n, ok := v.(json.Number); ok && t == "integer" {
		f, ok := exact(n)
		return ok && f.IsInt()
	}
	return t == kind(v)
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

// equal compares a member of an enum, as an author wrote it in Go, with a value
// from JSON.
func equal(member, v any) bool {
	b, err := json.Marshal(member)
	if err != nil {
		return false
	}
	if n, ok := v.(json.Number); ok {
		f, ok1 := exact(json.Number(b))
		g, ok2 := exact(n)
		return ok1 && ok2 && f.Cmp(g) == 0
	}
	w, err := json.Marshal(v)
	return err == nil && bytes.Equal(b, w)
}

// Decode reads a checked object into T. What the schema allows and T cannot
// hold, such as 1.0 for an int, is a problem too.
func Decode[T any](raw json.RawMessage) (T, []failure.Problem) {
	var v T
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	err := dec.Decode(&v)
	if err == nil {
		return v, nil
	}
	p := failure.Problem{Message: err.Error()}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		p = failure.Problem{Rule: "type", Message: fmt.Sprintf("is %s, does not fit %s", t.Value, t.Type)}
		for name := range strings.SplitSeq(t.Field, ".") {
			if name != "" {
				p.Path += "/" + pointer(name)
			}
		}
	}
	return v, []failure.Problem{p}
}

// pointer escapes one member name for a JSON Pointer (RFC 6901 section 3).
func pointer(name string) string {
	if !strings.ContainsAny(name, "~/") { // a Replacer costs a hundred times as much to make
		return name
	}
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// Summarize puts the first problem into a sentence; the rest travel beside it.
func Summarize(problems []failure.Problem) string {
	p := problems[0]
	text := p.Message
	if p.Path != "" {
		text = p.Path + " " + text
	}
	if n := len(problems) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// Encode writes v as JSON the way collet passes JSON on: without escaping <, >
// and &, and without a final newline.
func Encode(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// IsObject looks at the first character alone: whoever reads the rest finds out
// what is wrong with it.
func IsObject(raw []byte) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}
