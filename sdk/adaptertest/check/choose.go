package check

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// adviceCall says how to have calls made.
const adviceCall = `name a call that may be made any number of times, with --call 'TOOL={"argument":"value"}'`

// chosen is a call that may be made, with the tool's schema.
type chosen struct {
	Call
	schema gjson.Result // its inputSchema
}

// choose finds the call to make: the one that was named, else one of a tool that
// changes nothing by the plugin's word, or is our own.
func (p *session) choose(ctx context.Context) (chosen, error) {
	tools, _, err := p.list(ctx)
	if err != nil {
		return chosen{}, skip("see the check list-tools", "its tools cannot be listed: %v", p.said(err))
	}
	want := p.s.opt.Call
	var pick *adapterpb.Tool
	for _, t := range tools {
		switch name := t.GetName(); {
		case want.Tool != "":
			if name == want.Tool {
				pick = t
			}
		case p.s.ownUpstream() && name == "echo", pick == nil && t.GetReadOnly() && !t.GetAsksConsent():
			pick = t
		}
	}
	if pick == nil && want.Tool != "" {
		return chosen{}, fmt.Errorf("there is no tool %s to call; there are: %s", want.Tool, names(tools))
	}
	if pick == nil {
		return chosen{}, skip(adviceCall, "no tool may be called unasked: none is read-only by the plugin's own word (%s)", names(tools))
	}
	c := chosen{Call: Call{Tool: pick.GetName(), Arguments: want.Arguments}, schema: gjson.GetBytes(pick.GetDefinition(), "inputSchema")}
	if len(c.Arguments) == 0 {
		c.Arguments = example(c.schema)
	}
	return c, nil
}

// maxNamed bounds how many tools a sentence names.
const maxNamed = 12

func names(tools []*adapterpb.Tool) string {
	var list []string
	for _, t := range tools[:min(len(tools), maxNamed)] {
		list = append(list, t.GetName())
	}
	if len(tools) > maxNamed {
		list = append(list, fmt.Sprintf("and %d more", len(tools)-maxNamed))
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// maxExample bounds how deep made-up arguments are nested.
const maxExample = 8

// example makes up arguments: what is required, as plain as the schema allows.
func example(schema gjson.Result) json.RawMessage {
	return json.RawMessage(exampleOf(schema, 0))
}

func exampleOf(schema gjson.Result, nested int) string {
	for _, path := range []string{"const", "default", "examples.0", "enum.0"} {
		if v := schema.Get(path); v.Exists() {
			return v.Raw
		}
	}
	for _, path := range []string{"anyOf.0", "oneOf.0"} {
		if v := schema.Get(path); v.Exists() && !schema.Get("type").Exists() && nested < maxExample {
			return exampleOf(v, nested+1)
		}
	}
	kind := schema.Get("type")
	if kind.IsArray() {
		kind = kind.Get("0")
	}
	switch kind.Str {
	case "string":
		return `"` + strings.Repeat("a", int(max(1, min(schema.Get("minLength").Int(), 1000)))) + `"`
	case "integer", "number":
		if v := schema.Get("minimum"); v.Exists() {
			return v.Raw
		}
		return "1"
	case "boolean":
		return "false"
	case "null":
		return "null"
	case "array":
		if schema.Get("minItems").Int() > 0 && nested < maxExample {
			return "[" + exampleOf(schema.Get("items"), nested+1) + "]"
		}
		return "[]"
	case "object", "":
		if nested > 0 && kind.Str == "" && !schema.Get("properties").Exists() {
			return `"a"`
		}
	}
	var b bytes.Buffer
	b.WriteByte('{')
	if nested < maxExample {
		for _, name := range schema.Get("required").Array() {
			if b.Len() > 1 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, "%s:%s", name.Raw, exampleOf(property(schema, name.Str), nested+1))
		}
	}
	b.WriteByte('}')
	return b.String()
}

// property is a member of properties, whatever characters its name has.
func property(schema gjson.Result, name string) gjson.Result {
	return member(schema.Get("properties"), name)
}

// member is a member of an object.
func member(of gjson.Result, name string) (p gjson.Result) {
	of.ForEach(func(key, value gjson.Result) bool {
		if key.Str == name {
			p = value
			return false
		}
		return true
	})
	return p
}

// member finds a property of one of these types, a required one first; "" for none.
func (c chosen) member(types ...string) string {
	found := ""
	c.schema.Get("properties").ForEach(func(name, p gjson.Result) bool {
		if !slices.Contains(types, p.Get("type").Str) || p.Get("enum").Exists() || p.Get("const").Exists() {
			return true
		}
		required := slices.ContainsFunc(c.schema.Get("required").Array(), func(r gjson.Result) bool { return r.Str == name.Str })
		if found == "" || required {
			found = name.Str
		}
		return !required
	})
	return found
}

// with is the call with one argument replaced or added.
func (c chosen) with(name string, value []byte) Call {
	var b bytes.Buffer
	b.WriteByte('{')
	gjson.ParseBytes(c.Arguments).ForEach(func(key, v gjson.Result) bool {
		if key.Str != name {
			fmt.Fprintf(&b, "%s:%s,", key.Raw, v.Raw)
		}
		return true
	})
	quoted, _ := json.Marshal(name) // a string always has a JSON form
	b.Write(quoted)
	b.WriteByte(':')
	b.Write(value)
	b.WriteByte('}')
	return Call{Tool: c.Tool, Arguments: b.Bytes()}
}

// padded is the call with n bytes in one of its arguments; not ok when it has none
// that could hold them.
func (c chosen) padded(n int) (call Call, ok bool) {
	name := c.member("string")
	if name == "" {
		return Call{}, false
	}
	value := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), n)...), '"')
	return c.with(name, value), true
}
