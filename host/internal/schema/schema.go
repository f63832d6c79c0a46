// Package schema checks JSON values against the JSON Schemas that servers and
// plugins declare. Both come from strangers, so everything is bounded: a schema
// that is broken, too costly or refers outside of itself is not an error, it is
// unchecked, with a reason for a person; a value that is too costly to check is a
// problem like any other.
//
// It never fetches anything, never changes a schema or a value that it is given,
// and never decides what an unchecked schema or a problem means for a call. It is
// the only package that imports a JSON Schema library.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// baseURI is where a schema without $id lies. Nothing can be loaded from there.
const baseURI = "collet://schema/"

// Schema is one compiled schema. It is immutable to its users and safe for
// concurrent use; validations against one Schema do not wait for each other, as
// long as there are processors for them.
type Schema struct {
	unchecked string
	notices   []string

	doc     *document
	root    string // the URI that the library gave the document
	quick   *rule
	engines *engines
}

// Compile reads a schema: an object, true or false. It never fails; see Unchecked.
// The dialect is that of $schema (draft-04, 06, 07, 2019-09, 2020-12), else
// 2020-12 (MCP 2026-07-28, basic, JSON Schema Usage). Keywords that are null are
// read as absent, with a notice. "format" and "content..." are annotations in
// every dialect, as 2020-12 has it (validation 7.2.1, 8.1): what some libraries
// refuse there, servers take.
func Compile(raw json.RawMessage) *Schema {
	compiled.Add(1)
	s := &Schema{}
	if err := s.compile(raw); err != nil {
		return &Schema{unchecked: err.Error(), notices: s.notices}
	}
	return s
}

// Compiled is how many schemas this process has compiled: for those who have to show
// that they compile none.
func Compiled() uint64 { return compiled.Load() }

var compiled atomic.Uint64

// Unchecked returns "" when values are checked, else why they are not, as a clause
// that follows "not checked: ".
func (s *Schema) Unchecked() string { return s.unchecked }

// Notices returns what was read differently from how it was written, one sentence
// each.
func (s *Schema) Notices() []string { return s.notices }

// Validate returns what is wrong with a value, given as the JSON it was written
// as: nil when nothing is, or when the schema is unchecked. There are at most 16
// problems, in a fixed order. Numbers are compared exactly, whatever their size.
// Messages quote the schema, and of the value only names of properties, types,
// lengths and numbers: its strings may be secrets.
//
// A value that is not JSON, is nested deeper than 64, holds a number beyond what
// can be compared, or takes too long to check has one problem with the rule "limit"
// or "json".
func (s *Schema) Validate(instance json.RawMessage) []failure.Problem {
	if s.unchecked != "" || s.surely(instance) {
		return nil
	}
	return s.check(instance)
}

// check is Validate by the library.
func (s *Schema) check(instance json.RawMessage) []failure.Problem {
	value, err := decode(instance)
	if err != nil {
		return []failure.Problem{{Rule: "json", Message: "is not valid JSON: " + err.Error()}}
	}
	size, problem := s.affordable(value)
	if problem != nil {
		return []failure.Problem{*problem}
	}
	err = s.engines.run(value, checkTime+time.Duration(size)*checkTimePerByte)
	if err == nil {
		return nil
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return s.explain(invalid, value)
	}
	if errors.Is(err, errOvertime) {
		return []failure.Problem{{Rule: ruleLimit, Message: "takes too long to check against its schema; pass a smaller or flatter value"}}
	}
	// A dynamic reference that leads back to itself, which only shows with a value.
	return []failure.Problem{{Rule: ruleLimit, Message: "cannot be checked: the schema refers to itself without end"}}
}

// compile fills s, or says why the schema cannot be used.
func (s *Schema) compile(raw json.RawMessage) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return errors.New("there is no schema")
	}
	if len(raw) > maxSize {
		return fmt.Errorf("the schema is too large: %d bytes, at most %d are checked", len(raw), maxSize)
	}
	value, err := decode(raw)
	if err != nil {
		return fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	s.doc, err = inspect(value)
	if err != nil {
		return err
	}
	s.notices = s.doc.notices
	if err := s.doc.expand(); err != nil {
		return err
	}

	s.engines, err = startEngines(value)
	if err != nil {
		return err
	}
	s.root = s.engines.root
	s.quick = s.doc.rule()
	return nil
}

// compileReason makes the library's error one that a person understands.
func compileReason(err error) error {
	if outward, ok := errors.AsType[outwardError](err); ok {
		return outward
	}
	if loop, ok := errors.AsType[jsonschema.InfiniteLoopError](err); ok {
		return fmt.Errorf("the schema refers to itself without end: %s", clip(string(loop)))
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		for len(invalid.Causes) > 0 {
			invalid = invalid.Causes[0]
		}
		return fmt.Errorf("the schema breaks the rules of its dialect at %q: %s", unescape(invalid.InstanceLocation), clip(invalid.Message))
	}
	if known, ok := errors.AsType[*jsonschema.SchemaError](err); ok && known.Err != nil {
		err = known.Err
	}
	return fmt.Errorf("the schema cannot be compiled: %s", clip(strings.TrimPrefix(err.Error(), "jsonschema: ")))
}

// outwardError is a reference to something outside of the schema.
type outwardError string

func (e outwardError) Error() string {
	return fmt.Sprintf("the schema refers to %q outside of itself, which is never fetched", clip(string(e)))
}

// decode reads one JSON value with its numbers as they were written.
func decode(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

// encode is the inverse of decode.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// clip shortens text of a stranger for a message.
func clip(s string) string {
	const longest = 200
	if len(s) <= longest {
		return s
	}
	return strings.ToValidUTF8(s[:longest], "") + "..."
}
