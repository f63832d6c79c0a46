// Package catalog holds tools as the host knows them: the definition exactly as
// its server wrote it, what the host reads out of it, and its compiled schemas.
// It decides nothing: not who may see a tool (exposure), not whether a call may
// be repeated (call).
package catalog

import (
	"bytes"
	"encoding/json"
	"sync"
	"sync/atomic"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/schema"
)

// Tool is one tool of one server. It is made once per definition and never
// changed, so that a call in flight keeps the schemas it began with.
type Tool struct {
	Server string
	Name   string // as its server spells it, without the server's name
	// Definition is the whole MCP tool object, byte for byte.
	Definition   json.RawMessage
	Title        string
	Description  string
	InputSchema  json.RawMessage // nil when the definition has none
	OutputSchema json.RawMessage // the definition's own, else the adapter's; nil when neither

	Word  Hints // what the adapter answers for
	Claim Hints // what the annotations say: hints of a stranger
	// AsksConsent: a person has to agree before the first call of a session.
	AsksConsent bool

	input, output func() *schema.Schema
	kept          func() *string // the verdict of an earlier process; nil, or returns nil, when there is none
	verdict       atomic.Pointer[string]
}

// Hints are what is known about a tool's effects. False means unknown or no.
type Hints struct {
	ReadOnly   bool
	Idempotent bool
}

// Offer is one tool as an adapter offers it.
type Offer struct {
	Name                 string
	Definition           json.RawMessage
	ReadOnly, Idempotent *bool // nil: the adapter does not say
	AsksConsent          bool
	OutputSchema         json.RawMessage // used when the definition has none
}

// New returns the tool that server offers as o.
func New(server string, o Offer) *Tool {
	t := &Tool{
		Server:      server,
		Name:        o.Name,
		Definition:  o.Definition,
		Word:        Hints{ReadOnly: is(o.ReadOnly), Idempotent: is(o.Idempotent)},
		AsksConsent: o.AsksConsent,
	}
	def := membersOf(o.Definition)
	notes := def.annotations
	t.Title, t.Description = def.title.String(), def.description.String()
	if t.Title == "" {
		t.Title = notes.Get("title").String()
	}
	t.Claim = Hints{
		ReadOnly:   notes.Get("readOnlyHint").Type == gjson.True,
		Idempotent: notes.Get("idempotentHint").Type == gjson.True,
	}
	t.InputSchema = raw(def.inputSchema)
	if t.OutputSchema = raw(def.outputSchema); t.OutputSchema == nil && len(o.OutputSchema) > 0 {
		t.OutputSchema = o.OutputSchema
	}
	// Compiled at first use: a list of thousands of tools is read far more often
	// than more than a few of them are called.
	t.input = sync.OnceValue(func() *schema.Schema { return schema.Compile(orEmpty(t.InputSchema)) })
	t.output = sync.OnceValue(func() *schema.Schema { return schema.Compile(orEmpty(t.OutputSchema)) })
	return t
}

// members are what the host reads of a definition.
type members struct {
	title, description, inputSchema, outputSchema, annotations gjson.Result
}

// membersOf goes through a definition once: of thousands of tools that is most of what
// it takes to know them. Of two members with one name the first one counts.
func membersOf(definition json.RawMessage) (m members) {
	gjson.ParseBytes(definition).ForEach(func(key, value gjson.Result) bool {
		var to *gjson.Result
		switch key.Str {
		case "title":
			to = &m.title
		case "description":
			to = &m.description
		case "inputSchema":
			to = &m.inputSchema
		case "outputSchema":
			to = &m.outputSchema
		case "annotations":
			to = &m.annotations
		}
		if to != nil && !to.Exists() {
			*to = value
		}
		return true
	})
	return m
}

// Recalled returns the tool that server once offered as o, for which an earlier process
// may have found out already what Unchecked says: verdict returns that, or nil. It is
// called at most once for each goroutine that asks, and not before.
func Recalled(server string, o Offer, verdict func() *string) *Tool {
	t := New(server, o)
	t.kept = verdict
	return t
}

// Offer is what New makes an equal tool of.
func (t *Tool) Offer() Offer {
	o := Offer{Name: t.Name, Definition: t.Definition, AsksConsent: t.AsksConsent}
	if t.Word.ReadOnly {
		o.ReadOnly = &t.Word.ReadOnly
	}
	if t.Word.Idempotent {
		o.Idempotent = &t.Word.Idempotent
	}
	if raw(gjson.GetBytes(t.Definition, "outputSchema")) == nil {
		o.OutputSchema = t.OutputSchema
	}
	return o
}

// Input is the compiled input schema. A tool without one takes anything.
func (t *Tool) Input() *schema.Schema { return t.input() }

// Output is the compiled output schema, or nil when the tool has none.
func (t *Tool) Output() *schema.Schema {
	if t.OutputSchema == nil {
		return nil
	}
	return t.output()
}

// Equal reports whether o is the same tool with the same definition and the same
// word of its adapter, so that one can stand for the other.
func (t *Tool) Equal(o *Tool) bool {
	return t.Server == o.Server && t.Name == o.Name && t.Word == o.Word && t.AsksConsent == o.AsksConsent &&
		bytes.Equal(t.Definition, o.Definition) && bytes.Equal(t.OutputSchema, o.OutputSchema)
}

// FullName is the tool's canonical name, "<server>/<tool>".
func (t *Tool) FullName() string { return name.Join(t.Server, t.Name) }

// ReadOnly reports whether the tool is read-only by anybody's word. It is for
// showing; a decision that hangs on it asks Word, and Claim only where the user
// trusts that server's hints.
func (t *Tool) ReadOnly() bool { return t.Word.ReadOnly || t.Claim.ReadOnly }

// Unchecked says why arguments are not validated; empty means they are. It compiles
// the input schema unless that is known already.
func (t *Tool) Unchecked() string {
	if v := t.verdict.Load(); v != nil {
		return *v
	}
	var why *string
	if t.kept != nil {
		why = t.kept()
	}
	if why == nil {
		found := t.input().Unchecked()
		why = &found
	}
	t.verdict.Store(why)
	return *why
}

// Verdict is what Unchecked has said; nil when nobody has asked it. It compiles nothing.
func (t *Tool) Verdict() *string { return t.verdict.Load() }

func raw(r gjson.Result) json.RawMessage {
	if !r.Exists() || r.Type == gjson.Null {
		return nil
	}
	return json.RawMessage(r.Raw)
}

func orEmpty(s json.RawMessage) json.RawMessage {
	if s == nil {
		return json.RawMessage(`{}`)
	}
	return s
}

func is(b *bool) bool { return b != nil && *b }
