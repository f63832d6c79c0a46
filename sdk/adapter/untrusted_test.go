package adapter

import (
	"context"
	"testing"

	"github.com/tidwall/gjson"
)

type page struct {
	Title string   `json:"title"`
	Links []string `json:"links"`
}

func TestUntrusted(t *testing.T) {
	var tools Tools
	Add(&tools, "read", "", func(context.Context, *Call, struct{}) (*Result, error) {
		return Untrusted("# A <page>", page{Title: "A"})
	}, Output[page]())
	list, err := tools.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := gjson.GetBytes(list[0].Definition, "outputSchema.properties.links.type").Str; got != "array" {
		t.Errorf("outputSchema: links is %q in %s", got, list[0].Definition)
	}
	res, err := tools.Call(t.Context(), &Call{Tool: "read", Args: []byte("{}")})
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"content":[{"type":"text","text":"# A <page>"}],"structuredContent":{"title":"A","links":[]},"_meta":{"collet.dev/untrusted":true}}`
	if string(res.JSON) != want {
		t.Errorf("got  %s\nwant %s", res.JSON, want)
	}
	if _, err := Untrusted("text", nil); err == nil {
		t.Error("no structuredContent is no error")
	}

	var wrong Tools
	Add(&wrong, "read", "", func(context.Context, *Call, struct{}) (*Result, error) { return nil, nil }, Output[[]page]())
	if _, err := wrong.Tools(t.Context()); err == nil {
		t.Error("a list passes for structuredContent")
	}
}
