// Package question puts what a server asks in the middle of a call (MCP elicitation)
// to the person at a terminal, or answers it with what a command line says: forms,
// and addresses to open in a browser.
//
// It never keeps an answer, never opens a browser itself, and never decides who may
// be asked.
package question

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/schema"
)

// Bounds on what a stranger may have a person read.
const (
	maxParams  = 1 << 20 // bytes of a question
	maxFields  = 100
	maxOptions = 1000 // of a field
	maxValue   = 4000 // characters of a value, which is shown whole before it is sent

	// readTime is for reading a form, whose rules are compiled and whose defaults are
	// checked: honest ones take milliseconds.
	readTime = 5 * time.Second
)

// Form is a question with fields (2025-11-25, client/elicitation, Form Mode).
type Form struct {
	Message string
	Fields  []Field         // in the server's order
	schema  json.RawMessage // requestedSchema
}

// kind is how the value of a field is typed.
type kind int

const (
	text    kind = iota
	number       // an integer or not
	yesNo        // a boolean
	oneOf        // one of the options
	someOf       // an array of options
	anyJSON      // what forms do not have by the specification
)

// Field is one member of the answer.
type Field struct {
	Name, Title, Description string
	Required                 bool

	kind     kind
	typeName string // of a number: "number" or "integer"
	format   string
	options  []option
	initial  json.RawMessage // the default; nil where there is none that fits
	rules    *schema.Schema
	bounds   string // "1 to 100", for the person
}

// option is a value that may be chosen.
type option struct {
	value json.RawMessage
	label string // of a string the text itself
	title string // may be empty
}

// ReadForm reads the params of elicitation/create in form mode. The error says why
// the form cannot be shown, or is that of ctx.
func ReadForm(ctx context.Context, params json.RawMessage) (*Form, error) {
	if len(params) > maxParams {
		return nil, fmt.Errorf("its question has %d bytes, and at most %d are shown", len(params), maxParams)
	}
	p := gjson.ParseBytes(params)
	f := &Form{Message: p.Get("message").String()}
	requested := p.Get("requestedSchema")
	if !requested.Exists() || requested.Type == gjson.Null {
		return f, nil
	}
	if !requested.IsObject() {
		return nil, errors.New("its form has no fields that can be read: requestedSchema is no object")
	}
	properties := requested.Get("properties")
	if properties.Exists() && !properties.IsObject() {
		return nil, errors.New("its form has no fields that can be read: properties is no object")
	}
	called := ctx
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	f.schema = json.RawMessage(requested.Raw)
	var required []string
	for _, name := range requested.Get("required").Array() {
		required = append(required, name.String())
	}
	read := 0 // more than are kept, where a name comes twice
	add := func(name string, rules gjson.Result) error {
		if read++; read > maxFields {
			return fmt.Errorf("its form has more than %d fields", maxFields)
		}
		if ctx.Err() != nil {
			return cmp.Or(called.Err(), fmt.Errorf("its form takes longer than %s to read", readTime))
		}
		if at := slices.IndexFunc(f.Fields, func(have Field) bool { return have.Name == name }); at >= 0 {
			f.Fields = slices.Delete(f.Fields, at, at+1) // of a name that comes twice the last one counts
		}
		field, err := readField(name, rules)
		if err != nil {
			return err
		}
		field.Required = slices.Contains(required, name)
		f.Fields = append(f.Fields, field)
		return nil
	}
	var err error
	properties.ForEach(func(name, rules gjson.Result) bool {
		err = add(name.String(), rules)
		return err == nil
	})
	for _, name := range required {
		if err == nil && f.field(name) == nil {
			err = add(name, gjson.Parse(`{}`))
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (f *Form) field(name string) *Field {
	for i := range f.Fields {
		if f.Fields[i].Name == name {
			return &f.Fields[i]
		}
	}
	return nil
}

// readField reads the schema of one field. What is no primitive, and no choice, is
// asked for as JSON.
func readField(name string, rules gjson.Result) (Field, error) {
	f := Field{
		Name: name, Title: rules.Get("title").String(), Description: rules.Get("description").String(),
		format: rules.Get("format").String(), rules: schema.Compile(json.RawMessage(rules.Raw)),
	}
	f.typeName = rules.Get("type").String()
	items := rules.Get("items")
	switch options := optionsOf(rules); {
	case options != nil:
		f.kind, f.options = oneOf, options
	case f.typeName == "array" && optionsOf(items) != nil:
		f.kind, f.options = someOf, optionsOf(items)
	case f.typeName == "string":
		f.kind = text
	case f.typeName == "number", f.typeName == "integer":
		f.kind = number
	case f.typeName == "boolean":
		f.kind = yesNo
	default:
		f.kind = anyJSON
	}
	if len(f.options) > maxOptions {
		return Field{}, fmt.Errorf("the field %s has more than %d values to choose from", plain(name, maxName), maxOptions)
	}
	f.bounds = f.describeBounds(rules)
	if initial := rules.Get("default"); initial.Exists() && initial.Type != gjson.Null {
		value := json.RawMessage(initial.Raw)
		if utf8.RuneCount(value) <= maxValue && f.check(value) == "" {
			f.initial = value
		}
	}
	return f, nil
}

// optionsOf are the values that a schema names, nil where it names none: enum, with
// enumNames before 2025-11-25, or constants with titles.
func optionsOf(rules gjson.Result) []option {
	var options []option
	if enum := rules.Get("enum"); enum.IsArray() {
		names := rules.Get("enumNames").Array()
		for i, v := range enum.Array() {
			o := option{value: json.RawMessage(v.Raw), label: labelOf(v)}
			if i < len(names) {
				o.title = names[i].String()
			}
			options = append(options, o)
		}
		return options
	}
	for _, keyword := range []string{"oneOf", "anyOf"} {
		for _, member := range rules.Get(keyword).Array() {
			c := member.Get("const")
			if !c.Exists() {
				return nil
			}
			options = append(options, option{value: json.RawMessage(c.Raw), label: labelOf(c), title: member.Get("title").String()})
		}
	}
	return options
}

func labelOf(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.String()
	}
	var b bytes.Buffer
	if json.Compact(&b, []byte(v.Raw)) != nil {
		return v.Raw
	}
	return b.String()
}

// describeBounds says what may be typed, for the person; the schema decides.
func (f *Field) describeBounds(rules gjson.Result) string {
	between := func(least, most, unit string) string {
		low, high := rules.Get(least), rules.Get(most)
		switch {
		case low.Type == gjson.Number && high.Type == gjson.Number:
			return low.Raw + " to " + high.Raw + unit
		case low.Type == gjson.Number:
			return "at least " + low.Raw + unit
		case high.Type == gjson.Number:
			return "at most " + high.Raw + unit
		}
		return ""
	}
	switch f.kind {
	case text:
		return between("minLength", "maxLength", " characters")
	case number:
		return between("minimum", "maximum", "")
	case someOf:
		return between("minItems", "maxItems", " of them")
	}
	return ""
}
