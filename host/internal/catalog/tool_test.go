package catalog

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/schema"
)

const definition = `{ "name":"t", "title":"A title","description":"Does <b> & 1.0",
 "inputSchema" : {"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"]},
 "outputSchema":{"type":"object"},"annotations":{"title":"Not this","readOnlyHint":true,"idempotentHint":"yes"},"x":1e2}`

func TestDefinitionIsRead(t *testing.T) {
	yes, no := true, false
	x := New("s", Offer{Name: "a/b", Definition: json.RawMessage(definition), ReadOnly: &no, Idempotent: &yes, OutputSchema: json.RawMessage(`{"type":"array"}`)})
	if x.FullName() != "s/a/b" || x.Title != "A title" || x.Description != "Does <b> & 1.0" || string(x.Definition) != definition {
		t.Errorf("%+v", x)
	}
	if want := `{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"required":["n"]}`; string(x.InputSchema) != want {
		t.Errorf("input schema %s", x.InputSchema)
	}
	// The definition's own schema wins over the adapter's.
	if string(x.OutputSchema) != `{"type":"object"}` || len(x.Output().Validate([]byte(`[]`))) == 0 {
		t.Errorf("output schema %s", x.OutputSchema)
	}
	// Only true is a hint, and a hint is no word.
	if x.Word != (Hints{Idempotent: true}) || x.Claim != (Hints{ReadOnly: true}) || !x.ReadOnly() {
		t.Errorf("word %+v claim %+v", x.Word, x.Claim)
	}
	if x.Unchecked() != "" || len(x.Input().Validate([]byte(`{"n":9007199254740994}`))) != 1 || len(x.Input().Validate([]byte(`{"n":9007199254740993}`))) != 0 {
		t.Error("the input schema is not held to its digits")
	}
}

// What strangers write: a tool stays usable whatever its definition is.
func TestOddDefinitions(t *testing.T) {
	for _, def := range []string{``, `{`, `[]`, `7`, `{"inputSchema":null,"outputSchema":null}`, `{"inputSchema":7}`, `{"title":{},"description":[1],"annotations":[]}`} {
		x := New("s", Offer{Name: "t", Definition: json.RawMessage(def)})
		if problems := x.Input().Validate([]byte(`{"any":1}`)); len(problems) > 0 {
			t.Errorf("%s: %v", def, problems)
		}
		if x.Output() != nil {
			t.Errorf("%s has an output schema", def)
		}
	}
	x := New("s", Offer{Name: "t", Definition: json.RawMessage(`{"annotations":{"title":"Noted"}}`), OutputSchema: json.RawMessage(`{"type":"array"}`)})
	if x.Title != "Noted" || x.Output() == nil || len(x.Output().Validate([]byte(`{}`))) == 0 {
		t.Errorf("%+v", x)
	}
}

func TestEqual(t *testing.T) {
	yes := true
	base := Offer{Name: "t", Definition: json.RawMessage(`{"a":1}`)}
	same := base
	same.Definition = json.RawMessage(`{"a":1}`)
	if !New("s", base).Equal(New("s", same)) {
		t.Error("equal tools differ")
	}
	for what, change := range map[string]func(*Offer){
		"name":       func(o *Offer) { o.Name = "u" },
		"bytes":      func(o *Offer) { o.Definition = json.RawMessage(`{"a":1.0}`) },
		"read-only":  func(o *Offer) { o.ReadOnly = &yes },
		"idempotent": func(o *Offer) { o.Idempotent = &yes },
		"consent":    func(o *Offer) { o.AsksConsent = true },
		"output":     func(o *Offer) { o.OutputSchema = json.RawMessage(`{}`) },
	} {
		other := base
		change(&other)
		if New("s", base).Equal(New("s", other)) {
			t.Errorf("another %s is no difference", what)
		}
	}
}

// What a tool offers makes the same tool again.
func TestOffer(t *testing.T) {
	yes, no := true, false
	for _, o := range []Offer{
		{Name: "t", Definition: json.RawMessage(definition), ReadOnly: &yes, Idempotent: &no, AsksConsent: true, OutputSchema: json.RawMessage(`{"type":"array"}`)},
		{Name: "t", Definition: json.RawMessage(`{"outputSchema":null}`), Idempotent: &yes, OutputSchema: json.RawMessage(`{ }`)},
		{Name: "t"},
	} {
		was := New("s", o)
		if is := New("s", was.Offer()); !is.Equal(was) {
			t.Errorf("%+v becomes %+v", was, is)
		}
	}
	if o := New("s", Offer{Name: "t", Definition: json.RawMessage(definition)}).Offer(); o.OutputSchema != nil || o.ReadOnly != nil {
		t.Errorf("more is offered than was: %+v", o)
	}
}

// What an earlier process has found out is not found out again; a call goes by the
// schema itself all the same.
func TestRecalled(t *testing.T) {
	said := "it refers outside"
	var asked int
	verdict := func() *string { asked++; return &said }
	o := Offer{Name: "t", Definition: json.RawMessage(definition)}
	before := schema.Compiled()
	x := Recalled("s", o, verdict)
	if !x.Equal(New("s", o)) || x.Verdict() != nil || asked != 0 {
		t.Errorf("%+v, verdict %v, asked for %d times", x, x.Verdict(), asked)
	}
	for range 2 {
		if got := x.Unchecked(); got != said || x.Verdict() == nil || *x.Verdict() != said {
			t.Errorf("unchecked: %q, verdict %v", got, x.Verdict())
		}
	}
	if n := schema.Compiled() - before; n != 0 || asked != 1 {
		t.Errorf("%d schemas were compiled, and it was asked for %d times", n, asked)
	}
	if len(x.Input().Validate([]byte(`{}`))) != 1 || schema.Compiled()-before != 1 {
		t.Error("arguments are checked by what was said of the schema")
	}
	// Nobody has found anything out.
	x = Recalled("s", o, func() *string { return nil })
	if got := x.Unchecked(); got != "" || x.Verdict() == nil || schema.Compiled()-before != 2 {
		t.Errorf("unchecked: %q, verdict %v, %d compiled", got, x.Verdict(), schema.Compiled()-before)
	}
}

// One pass over a definition reads what asking for each member would.
func FuzzMembers(f *testing.F) {
	f.Add([]byte(definition))
	f.Add([]byte(`{"title":null,"title":"second","annotations":{"title":"a"},"descri\u0070tion":"escaped"}`))
	f.Add([]byte(`[{"title":"t"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			membersOf(data)
			return
		}
		m := membersOf(data)
		for name, got := range map[string]gjson.Result{"title": m.title, "description": m.description, "inputSchema": m.inputSchema, "outputSchema": m.outputSchema, "annotations": m.annotations} {
			if want := gjson.GetBytes(data, name); got.Raw != want.Raw || got.String() != want.String() {
				t.Errorf("%s of %q is %q, want %q", name, data, got.Raw, want.Raw)
			}
		}
	})
}
