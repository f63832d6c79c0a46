package main

import (
	"testing"

	"github.com/tidwall/gjson"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// The two tools of GitHub's that are offered by default stay cheap to list.
func TestDefaultToolsAreCheap(t *testing.T) {
	const (
		limit         = 400 // tokens of name, description and input schema, which a model sees
		bytesPerToken = 4.6 // as collet estimates
	)
	p := serve(t, config{URL: fake(t).URL})
	tools, err := p.tools(t)
	if err != nil {
		t.Fatal(err)
	}
	cost := func(tool *adapterpb.Tool) int {
		size := 0
		for _, part := range []string{"name", "description", "inputSchema"} {
			size += len(gjson.GetBytes(tool.GetDefinition(), part).Raw)
		}
		return int(float64(size) / bytesPerToken)
	}
	if n := cost(tools["create_repository"]) + cost(tools["push_files"]); n > limit {
		t.Errorf("create_repository and push_files are %d tokens, at most %d", n, limit)
	} else {
		t.Logf("%d tokens, push_directory %d more", n, cost(tools[pushDirectory]))
	}
}
