package azmcp

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// recorded are definitions of the pinned server, as it lists them, by name.
func recorded(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	raw, err := os.ReadFile("testdata/definitions.json")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]json.RawMessage{}
	for _, d := range gjson.ParseBytes(raw).Array() {
		all[d.Get("name").Str] = json.RawMessage(d.Raw)
	}
	return all
}

func TestEdit(t *testing.T) {
	definitions := recorded(t)
	edit := func(o Options, name string) (adapter.Tool, gjson.Result, bool) {
		tool, ok := o.edit(adapter.Tool{Name: name, Definition: mcpadapter.With(definitions[name], "icons", json.RawMessage(`[{"src":"data:"}]`))})
		return tool, gjson.ParseBytes(tool.Definition), ok
	}
	tool, d, ok := edit(Options{}, "storage")
	if !ok || !*tool.ReadOnly || !*tool.Idempotent || d.Get("icons").Exists() || string(tool.OutputSchema) != outputSchema {
		t.Errorf("storage: %v %+v", ok, tool)
	}
	if about := d.Get("description").Str; strings.Contains(about, "hierarchical") || !strings.HasSuffix(about, "Azure Managed Lustre file systems.") {
		t.Errorf("storage is described as %s", about)
	}
	if enum := d.Get("inputSchema.properties.command.enum").Raw; enum != `["storage_account_get","storage_blob_container_get","storage_blob_get","storage_table_list"]` {
		t.Errorf("commands %s", enum)
	}
	tool, d, ok = edit(Options{Writes: true}, "storage")
	if !ok || *tool.ReadOnly || tool.Idempotent != nil || d.Get("inputSchema.properties.command.enum").Exists() {
		t.Errorf("storage with writes: %v %s", ok, d)
	}
	for _, o := range []Options{{}, {Writes: true}} {
		tool, d, ok = edit(o, "group_list")
		if p := d.Get("inputSchema.properties"); !ok || !*tool.ReadOnly || !*tool.Idempotent || !p.Get("subscription").Exists() || !p.Get("tenant").Exists() || len(p.Map()) != 2 {
			t.Errorf("group_list: %v %s", ok, d)
		}
		if _, _, ok = edit(o, documentation); ok {
			t.Error("two tools called documentation")
		}
	}
	// The server calls what sends mail read-only.
	for _, name := range writers {
		if o := (Options{}); o.offers(name) {
			t.Errorf("%s is offered as if it only read", name)
		}
	}
	if o := (Options{Writes: true}); !o.offers("communication") {
		t.Error("communication is not offered with writes")
	}
}

func TestAdmit(t *testing.T) {
	for _, c := range []struct {
		opt        Options
		tool, args string
		class      failure.Class // "" is admitted
	}{
		{Options{}, "storage", `{"intent":"x"}`, failure.Unknown},
		{Options{}, "storage", `{"intent":"x","command":"storage_account_get"}`, failure.Unknown},
		{Options{}, "storage", `{"intent":"x","command":"storage_account_create"}`, failure.InvalidArguments},
		{Options{}, "storage", `{"intent":"x","command":"keyvault_secret_get"}`, failure.InvalidArguments},
		{Options{}, "storage", `{"intent":"x","command":"storage_account_create","learn":true}`, failure.InvalidArguments},
		{Options{}, "communication", `{"intent":"x","command":"communication_email_send"}`, failure.NotFound},
		{Options{}, "azd", `{"intent":"x"}`, failure.NotFound},
		{Options{}, "group_list", `{}`, failure.Unknown},
		{Options{Writes: true}, "storage", `{"intent":"x","command":"storage_account_create"}`, failure.Unknown},
		{Options{Writes: true}, "communication", `{"intent":"x","command":"communication_email_send"}`, failure.Unknown},
		{Options{Writes: true}, documentation, `{"intent":"x"}`, failure.NotFound},
	} {
		err := c.opt.admit(t.Context(), &adapter.Call{Tool: c.tool, Args: json.RawMessage(c.args)})
		if f := failure.Classify(err); (f == nil) != (c.class == failure.Unknown) || f != nil && (f.Class != c.class || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "writes")) {
			t.Errorf("%+v %s %s: %v", c.opt, c.tool, c.args, err)
		}
	}
}

// What succeeds keeps its text, says the same as structured content, and says that
// strangers may have written it.
func TestAnswers(t *testing.T) {
	const groups = `{"status":200,"message":"Success","results":{"groups":[{"name":"a<b>","id":"/subscriptions/9007199254740993/x"}]},"duration":0}`
	res, err := judge(&adapter.Call{Tool: "group_list", Args: json.RawMessage(`{}`)}, answered(false, groups), chain)
	if err != nil || gjson.GetBytes(res.JSON, "structuredContent").Raw != groups || mcpadapter.Text(res.JSON) != groups || !gjson.GetBytes(res.JSON, `_meta.collet\.dev/untrusted`).Bool() {
		t.Errorf("%s, %v", res.JSON, err)
	}
	res, err = judge(&adapter.Call{Tool: "azd", Args: json.RawMessage(`{"command":"x"}`)}, answered(false, "all \"done\""), chain)
	if err != nil || gjson.GetBytes(res.JSON, "structuredContent").Raw != `{"text":"all \"done\""}` {
		t.Errorf("%s, %v", res.JSON, err)
	}
	// The list of commands is cut to what they are called with.
	raw, err := os.ReadFile("testdata/storage.txt")
	if err != nil {
		t.Fatal(err)
	}
	res, err = judge(&adapter.Call{Tool: "storage", Args: json.RawMessage(`{"intent":"x"}`)}, answered(false, string(raw)), chain)
	if err != nil {
		t.Fatal(err)
	}
	list := gjson.GetBytes(res.JSON, "structuredContent").Raw
	if text := mcpadapter.Text(res.JSON); text != list || len(text) > len(raw)*3/5 {
		t.Errorf("%d bytes of text, of %d:\n%s", len(text), len(raw), text)
	}
	if c := gjson.Get(list, "commands.0"); c.Get("name").Str != "storage_account_get" || len(c.Get("inputSchema.properties").Map()) != 3 || !c.Get("inputSchema.properties.account").Exists() {
		t.Errorf("%s", c)
	}
	_, err = judge(&adapter.Call{Tool: "storage", Args: json.RawMessage(`{"intent":"x","command":"nope"}`)}, answered(false, string(raw)), chain)
	if f := failure.Classify(err); f == nil || f.Class != failure.InvalidArguments || !strings.Contains(f.Message, "storage_table_list") {
		t.Errorf("a command that there is not: %v", err)
	}
}

func TestReads(t *testing.T) {
	if len(reads) == 0 {
		t.Fatal("no commands")
	}
	for i, c := range reads {
		if i > 0 && reads[i-1] >= c {
			t.Errorf("%s is out of order", c) // it is searched
		}
		for _, verb := range []string{"_create", "_delete", "_update", "_set", "_send", "_upload", "_import", "_cancel", "_restart"} {
			if strings.HasSuffix(c, verb) {
				t.Errorf("%s only reads?", c)
			}
		}
	}
}
