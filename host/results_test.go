package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
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
