package azmcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// documentation is a tool of the server that asks Microsoft Learn in the same way as
// the adapter does, which offers its own of that name.
const documentation = "documentation"

// outputSchema is what every tool answers with here: the members of the server's own
// JSON, or the commands of a tool, or the text of what is neither.
const outputSchema = `{"type":"object","properties":{"status":{"type":"integer"},"message":{"type":"string"},"results":{"description":"what the command found"},"duration":{"type":"number"},"commands":{"type":"array","description":"of this tool, where none was named","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},"inputSchema":{"type":"object","description":"of parameters"}},"required":["name"]}},"text":{"type":"string"}}}`

func shape(opt Options) mcpadapter.Shape {
	credential := opt.credential()
	return mcpadapter.Shape{
		Edit:  opt.edit,
		Admit: opt.admit,
		Judge: func(call *adapter.Call, res *adapter.Result) (*adapter.Result, error) {
			return judge(call, res, credential)
		},
	}
}

// offers says whether a tool of the server is passed on.
func (o Options) offers(tool string) bool {
	return tool != documentation && (o.Writes || len(commands(tool)) > 0)
}

// edit is one tool as the host learns of it.
func (o Options) edit(t adapter.Tool) (adapter.Tool, bool) {
	if !o.offers(t.Name) {
		return t, false
	}
	t.Definition = mcpadapter.Without(o.shorter(t), "icons", "outputSchema")
	t.OutputSchema = json.RawMessage(outputSchema)
	// Where everything is allowed, a tool with commands is as harmless as the worst of them.
	only := !o.Writes || readsOnly(t.Name)
	t.ReadOnly = &only
	if only {
		t.Idempotent = new(true)
	}
	return t, true
}

// router is how the server ends the description of a tool with commands.
const router = "This tool is a hierarchical MCP command router."

// shorter says in fewer words how a tool is used.
func (o Options) shorter(t adapter.Tool) json.RawMessage {
	definition, schema := t.Definition, json.RawMessage(gjson.GetBytes(t.Definition, "inputSchema").Raw)
	description := gjson.GetBytes(definition, "description").Str
	if about, _, ok := strings.Cut(description, router); ok {
		definition = mcpadapter.With(definition, "description", quoted(strings.TrimRight(about, " \n")))
		return mcpadapter.With(definition, "inputSchema", o.routed(t.Name))
	}
	// How the server retries, and how it signs in, is no business of a model.
	return mcpadapter.With(definition, "inputSchema", pruned(schema))
}

// pruned is an input schema without how the server retries and signs in, which is no
// business of a model and in the schema of every command.
func pruned(schema json.RawMessage) json.RawMessage {
	properties := json.RawMessage(gjson.GetBytes(schema, "properties").Raw)
	return mcpadapter.With(schema, "properties",
		mcpadapter.Without(properties, "auth-method", "retry-delay", "retry-max-delay", "retry-max-retries", "retry-mode", "retry-network-timeout"))
}

// routed is the input schema of a tool with commands. It names those that are
// allowed, where that is a choice.
func (o Options) routed(tool string) json.RawMessage {
	command := `{"type":"string","description":"without it, the commands are listed with their parameters"`
	if !o.Writes {
		names, _ := json.Marshal(commands(tool)) // strings always encode
		command += `,"enum":` + string(names)
	}
	return json.RawMessage(`{"type":"object","properties":{"intent":{"type":"string","description":"what for"},"command":` + command +
		`},"parameters":{"type":"object","description":"of the command"},"learn":{"type":"boolean"}},"required":["intent"],"additionalProperties":false}`)
}

// admit keeps what is not known to only read from being sent.
func (o Options) admit(_ context.Context, call *adapter.Call) error {
	const advice = "; see writes in the config of this server"
	if !o.offers(call.Tool) {
		return failure.New(failure.NotFound, failure.NotSent, "%s is not offered%s", call.Tool, advice)
	}
	command := gjson.GetBytes(call.Args, "command").String()
	if o.Writes || command == "" || readsOnly(command) && strings.HasPrefix(command, call.Tool+"_") {
		return nil
	}
	f := failure.New(failure.InvalidArguments, failure.NotSent, "%s: %s is not among the commands that are known to only read%s", call.Tool, command, advice)
	f.Problems = []failure.Problem{{Path: "/command", Rule: "enum", Message: f.Message}}
	return f
}

// judge tells what an answer really is.
func judge(call *adapter.Call, res *adapter.Result, credential string) (*adapter.Result, error) {
	s := read(res)
	wanted := gjson.GetBytes(call.Args, "command").String() != "" && !gjson.GetBytes(call.Args, "learn").Bool()
	refused := res.IsError || s.status >= 400
	if refused || wanted && strings.HasPrefix(s.text, heading) {
		if f := s.failure(credential); f != nil {
			return nil, f
		}
		return &adapter.Result{JSON: mcpadapter.With(res.JSON, "isError", json.RawMessage("true")), IsError: true}, nil
	}
	if list := commandsOf(s.text); list != nil {
		content := append(append(json.RawMessage(`[{"type":"text","text":`), quoted(string(list))...), "}]"...)
		return &adapter.Result{JSON: mcpadapter.With(mcpadapter.With(res.JSON, "content", content), "structuredContent", list)}, nil
	}
	content := json.RawMessage(s.text)
	if s.status == 0 {
		content = append(append(json.RawMessage(`{"text":`), quoted(s.text)...), '}')
	}
	return &adapter.Result{JSON: mcpadapter.With(mcpadapter.Untrusted(res.JSON), "structuredContent", content)}, nil
}

// read finds the server's own JSON in an answer. Where it has something to explain it
// puts that into a block before.
func read(res *adapter.Result) said {
	text := mcpadapter.Text(res.JSON)
	for _, block := range gjson.GetBytes(res.JSON, "content.#.text").Array() {
		if v := gjson.Parse(block.Str); gjson.Valid(block.Str) && v.IsObject() && v.Get("status").Type == gjson.Number {
			if s := (said{text, int(v.Get("status").Int()), v.Get("message").Str}); s.status >= 400 || text == block.Str {
				return s
			}
		}
	}
	return said{text: text, message: text}
}

// commandsOf is the list of commands in an answer, each with what it is called with;
// nil when the answer is none.
func commandsOf(text string) json.RawMessage {
	list := listed(text)
	if !strings.HasPrefix(text, heading) || len(list) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, c := range list {
		b.WriteString(",")
		command := mcpadapter.Without(json.RawMessage(c.Raw), "annotations", "icons", "outputSchema")
		b.Write(mcpadapter.With(command, "inputSchema", pruned(json.RawMessage(c.Get("inputSchema").Raw))))
	}
	return json.RawMessage(`{"commands":[` + b.String()[1:] + "]}")
}

// quoted is s as JSON, with < > & as they are.
func quoted(s string) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSpace(b.Bytes())
}
