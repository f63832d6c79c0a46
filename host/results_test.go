package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/front/guard"
	"github.com/collet-dev/collet/sdk/mcp"
)

const small = `
[host]
response_budget = "4KiB"
[servers.n]
command = "${BUILT}/faultserver"
exposure = "direct"
`

// A model reads a result of any size through answers that fit the budget, from a
// later host too, and everybody else gets it whole.
func TestResultOverBudget(t *testing.T) {
	opt := options(t, small)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	req := host.Request{Tool: "n/c_big", Arguments: json.RawMessage(`{"size":200000}`), Caller: host.Model, Owner: "token:1"}
	res, err := h.Call(patient(t), req)
	if err != nil {
		t.Fatal(err)
	}
	e := gjson.GetBytes(res.JSON, "structuredContent.error")
	if !res.IsError || len(res.JSON) > 4<<10 || e.Get("code").Str != "over-budget" || e.Get("budget").Int() != 4<<10 {
		t.Fatalf("%v, %.500s", res.IsError, res.JSON)
	}
	whole := mustCall(t, h, "n/c_big", `{"size":200000}`)
	if whole.IsError || int64(len(whole.JSON)) != e.Get("bytes").Int() {
		t.Errorf("the command line got %d bytes, %v", len(whole.JSON), whole.IsError)
	}

	later, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer later.Close()
	var text strings.Builder
	slice := host.ResultSlice{Path: "content.0.text"}
	for range 1000 {
		page, err := later.Results().Read("token:1", e.Get("handle").Str, slice, later.ResponseBudget())
		if err != nil {
			t.Fatal(err)
		}
		if answer := page.Result(); len(answer) > 4<<10 {
			t.Fatalf("a part has %d bytes", len(answer))
		}
		text.WriteString(page.Data)
		if page.Next == nil {
			break
		}
		slice.Offset = page.Next.Offset
	}
	if want := gjson.GetBytes(whole.JSON, "content.0.text").String(); text.String() != want {
		t.Errorf("read %d bytes, want %d", text.Len(), len(want))
	}
	if _, err := later.Results().Read(host.LocalOwner, e.Get("handle").Str, host.ResultSlice{}, 0); err == nil {
		t.Error("another owner reads it")
	}
}

// Over MCP: a client reads by result_read what its own credential has made, and
// nobody else's.
func TestResultRead(t *testing.T) {
	f := open(t, small).Front()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("X-Test-Principal"); id != "" { // what the guard does
			r = r.WithContext(guard.NewContext(r.Context(), &guard.Principal{ID: id, Grants: []guard.Grant{{}}}))
		}
		f.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
		defer cancel()
		if err := f.Close(ctx); err != nil {
			t.Error(err)
		}
		web.Close()
	})
	client := func(principal string) *mcp.Client {
		head := http.Header{}
		head.Set("X-Test-Principal", principal)
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: web.URL, Header: head}, mcp.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
		return c
	}
	call := func(c *mcp.Client, tool, args string) gjson.Result {
		t.Helper()
		raw, err := c.CallTool(patient(t), tool, json.RawMessage(args), mcp.RequestOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return gjson.ParseBytes(raw)
	}
	clients := map[string]*mcp.Client{}
	for _, principal := range []string{"", "token:a", "token:ci"} {
		clients[principal] = client(principal)
	}
	for principal, c := range clients {
		over := call(c, "n__c_big", `{"size":20000}`)
		handle := over.Get("structuredContent.error.handle").Str
		if !over.Get("isError").Bool() || handle == "" {
			t.Fatalf("%q: %.300s", principal, over.Raw)
		}
		part := call(c, "result_read", `{"handle":"`+handle+`","limit":100}`)
		if part.Get("isError").Bool() || len(part.Get("structuredContent.data").Str) != 100 || part.Get("structuredContent.next.offset").Int() != 100 {
			t.Errorf("%q: %.300s", principal, part.Raw)
		}
		for other, c := range clients {
			if answer := call(c, "result_read", `{"handle":"`+handle+`"}`); other != principal && answer.Get("structuredContent.error.code").Str != "not-found" {
				t.Errorf("%q reads what %q made: %.300s", other, principal, answer.Raw)
			}
		}
	}
	if wrong := call(clients[""], "result_read", `{"handle":"x","ofset":1}`); wrong.Get("structuredContent.error.code").Str != "invalid-arguments" {
		t.Errorf("%s", wrong.Raw)
	}
}

// Clients older than structuredContent get it as text, others as it was sent.
func TestOnlyStructured(t *testing.T) {
	f := open(t, small).Front()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := f.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	const sent = `{"structuredContent":{"answer":42}}`
	for version, want := range map[string]string{
		"2025-03-26": `{"content":[{"type":"text","text":"{\"answer\":42}"}],"structuredContent":{"answer":42}}`,
		"2025-06-18": sent, "2025-11-25": sent,
	} {
		in := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":{},"clientInfo":{"name":"c","version":"0"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"n__c_no_content","arguments":{}}}` + "\n"
		var out bytes.Buffer
		if err := f.ServeStdio(patient(t), strings.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), `"result":`+want) {
			t.Errorf("%s: %s, want %s", version, out.String(), want)
		}
	}
}

// Clients hold the structuredContent of an error, too, against the outputSchema
// they were shown, so that of a tool in the list it has none.
func TestFailureOfATypedTool(t *testing.T) {
	c := face(t, small+"validate_results = \"strict\"\n[servers.m]\ncommand = \"${BUILT}/faultserver\"\nexposure = \"deferred\"\nvalidate_results = \"strict\"\n", mcp.Options{})
	for _, call := range []struct{ tool, args, want string }{
		{"n__o_invalid", `{}`, `_meta.collet\.dev/error.code`},
		{"tool_call", `{"name":"m/o_invalid"}`, "structuredContent.error.code"},
	} {
		raw, err := c.CallTool(patient(t), call.tool, json.RawMessage(call.args), mcp.RequestOptions{})
		if err != nil || gjson.GetBytes(raw, call.want).Str != "invalid-result" {
			t.Errorf("%s: %s, %v", call.tool, raw, err)
		}
		if call.tool == "n__o_invalid" && gjson.GetBytes(raw, "structuredContent").Exists() {
			t.Errorf("%s", raw)
		}
	}
}
