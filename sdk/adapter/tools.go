package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/typed"
)

// Tools is a Server made of functions: declare one, Add to it, return its
// address from the open function. Add everything before returning it. To have
// Close, Watch or another optional method besides, return a struct that embeds a
// Server and put the address of the Tools there.
type Tools struct {
	order []string
	tools map[string]*tool
	err   error // the first Add that could not be carried out
}

type tool struct {
	tool Tool
	call func(context.Context, *Call) (*Result, error)
}

// Add makes f a tool. In is a struct whose fields are the arguments: names and
// optionality follow the json tags, the jsonschema tag is the description.
// Arguments that do not fit never reach f. Out is a string, which becomes text;
// a struct, a map or json.RawMessage, which become structuredContent and the
// same JSON as text; or *Result, which is passed on as it is.
//
// An error of f that is, or wraps, a *failure.Failure says that the call could
// not be carried out and is reported as that. Any other error is the tool's own
// answer: a result with isError and the error's text.
//
// A type that has no schema, or a name used twice, makes everything that is asked
// of t fail with a message for the author.
func Add[In, Out any](t *Tools, name, description string, f func(context.Context, *Call, In) (Out, error), opts ...ToolOption) {
	d := definition{Name: name, Description: description}
	err := d.derive(reflect.TypeFor[In](), reflect.TypeFor[Out](), opts)
	if err == nil && t.tools[name] != nil {
		err = errors.New("the name is taken")
	}
	var raw json.RawMessage
	if err == nil {
		raw, err = typed.Encode(&d)
	}
	if err != nil {
		if t.err == nil {
			t.err = fmt.Errorf("add tool %q: %w", name, err)
		}
		return
	}
	if t.tools == nil {
		t.tools = make(map[string]*tool)
	}
	t.order = append(t.order, name)
	t.tools[name] = &tool{
		tool: Tool{
			Name: name, Definition: raw, AsksConsent: d.asksConsent,
			ReadOnly: d.Annotations.readOnly(), Idempotent: d.Annotations.idempotent(),
		},
		call: func(ctx context.Context, call *Call) (*Result, error) {
			problems := typed.Check(d.schema, call.Args)
			var in In
			if len(problems) == 0 {
				in, problems = typed.Decode[In](call.Args)
			}
			if len(problems) > 0 {
				bad := failure.New(failure.InvalidArguments, failure.NotSent, "bad arguments for %s: %s", name, typed.Summarize(problems))
				bad.Problems = problems
				return nil, bad
			}
			out, err := f(ctx, call, in)
			if err != nil {
				return failed(ctx, err)
			}
			return toResult(out)
		},
	}
}

// failed is what a tool function's error means.
func failed(ctx context.Context, err error) (*Result, error) {
	if f, ok := errors.AsType[*failure.Failure](err); ok {
		return nil, f
	}
	if ctx.Err() != nil {
		return nil, ctx.Err() // the caller gave up or time is over: not the tool's answer
	}
	return textResult(err.Error(), true)
}

// Tools returns the added tools in the order of their Add.
func (t *Tools) Tools(context.Context) ([]Tool, error) {
	if t.err != nil {
		return nil, t.addError()
	}
	list := make([]Tool, 0, len(t.order))
	for _, name := range t.order {
		list = append(list, t.tools[name].tool)
	}
	return list, nil
}

// Call runs the function of one tool; NotFound when there is none of that name.
func (t *Tools) Call(ctx context.Context, call *Call) (*Result, error) {
	if t.err != nil {
		return nil, t.addError()
	}
	tool := t.tools[call.Tool]
	if tool == nil {
		return nil, failure.New(failure.NotFound, failure.NotSent, "there is no tool %q", call.Tool)
	}
	return tool.call(ctx, call)
}

// addError is what went wrong in Add.
func (t *Tools) addError() error {
	if t.err == nil {
		return nil
	}
	return adapterFault("the plugin is wrong: %w", t.err)
}

// definition is the MCP tool object.
type definition struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  *annotations    `json:"annotations,omitempty"`

	asksConsent bool
	output      reflect.Type       // what Output said, nil when it did not
	schema      *jsonschema.Schema // what InputSchema says
	rawSchema   json.RawMessage
	adjust      []func(*jsonschema.Schema)
}

type annotations struct {
	ReadOnlyHint   *bool `json:"readOnlyHint,omitempty"`
	IdempotentHint *bool `json:"idempotentHint,omitempty"`
}

func (a *annotations) readOnly() *bool {
	if a == nil {
		return nil
	}
	return a.ReadOnlyHint
}

func (a *annotations) idempotent() *bool {
	if a == nil {
		return nil
	}
	return a.IdempotentHint
}

func (d *definition) derive(in, out reflect.Type, opts []ToolOption) error {
	if d.Name == "" {
		return errors.New("the name is empty")
	}
	if in.Kind() != reflect.Struct {
		return fmt.Errorf("the arguments are a %s, must be a struct", in)
	}
	for _, opt := range opts {
		opt(d)
	}
	if err := d.deriveInput(in); err != nil {
		return fmt.Errorf("arguments %s: %w", in, err)
	}
	if d.output != nil {
		out = d.output
	}
	s, err := outputSchema(out)
	if err != nil {
		return fmt.Errorf("result %s: %w", out, err)
	}
	if s != nil {
		if d.OutputSchema, err = typed.EncodeSchema(s); err != nil {
			return fmt.Errorf("result %s: %w", out, err)
		}
	}
	return nil
}

func (d *definition) deriveInput(in reflect.Type) error {
	if d.rawSchema != nil {
		d.InputSchema = d.rawSchema
		var err error
		d.schema, err = typed.ReadSchema(d.rawSchema)
		return err
	}
	s, err := typed.ObjectSchema(in)
	if err != nil {
		return err
	}
	for _, f := range d.adjust {
		f(s)
	}
	d.schema = s
	d.InputSchema, err = typed.EncodeSchema(s)
	return err
}

// ToolOption says more about a tool than its types do.
type ToolOption func(*definition)

// ReadOnly promises that the tool changes nothing, so that a host may repeat a
// call whose answer was lost.
func ReadOnly() ToolOption {
	return func(d *definition) { d.hints().ReadOnlyHint = new(true) }
}

// Idempotent promises that a second call with the same arguments changes nothing
// more, so that a host may repeat a call whose answer was lost.
func Idempotent() ToolOption {
	return func(d *definition) { d.hints().IdempotentHint = new(true) }
}

// AsksConsent asks that a person agrees before the first call of a session. The host
// records what they were asked, the arguments.
func AsksConsent() ToolOption {
	return func(d *definition) { d.asksConsent = true }
}

// Title sets the name shown to people.
func Title(title string) ToolOption {
	return func(d *definition) { d.Title = title }
}

// Schema adjusts the derived schema of the arguments: enum, bounds, pattern. The
// function must not keep its argument.
func Schema(adjust func(*jsonschema.Schema)) ToolOption {
	return func(d *definition) { d.adjust = append(d.adjust, adjust) }
}

// Output declares that structuredContent is a T, a struct or a map, where the
// function's own type does not say: it returns *Result or json.RawMessage.
func Output[T any]() ToolOption {
	return func(d *definition) { d.output = reflect.TypeFor[T]() }
}

// RawSchema replaces the derived schema of the arguments, byte for byte.
func RawSchema(schema json.RawMessage) ToolOption {
	return func(d *definition) { d.rawSchema = schema }
}

func (d *definition) hints() *annotations {
	if d.Annotations == nil {
		d.Annotations = &annotations{}
	}
	return d.Annotations
}
