package main

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/plugins/github/internal/reach"
	"github.com/collet-dev/collet/plugins/github/internal/token"
	"github.com/collet-dev/collet/plugins/github/internal/truth"
	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcpadapter"
)

// contracts are the schemas of what tools return as structured content. The
// server's newest versions declare the same, older ones and the text alone do not.
var contracts = map[string]contract{
	"create_repository": {
		schema: `{"type":"object","properties":{"id":{"type":"string"},"url":{"type":"string","description":"where the repository is"}},"required":["id","url"]}`,
		needs:  []string{"url", "id"},
	},
	"push_files": {
		schema: `{"type":"object","properties":{"ref":{"type":"string","description":"refs/heads/main"},"object":{"type":"object","properties":{"type":{"type":"string"},"sha":{"type":"string","description":"the new commit"}},"required":["sha"]}},"required":["ref","object"]}`,
		needs:  []string{"ref", "object.sha"},
	},
}

type contract struct {
	schema string
	needs  []string // strings that have to be there
}

// shape is what is known of GitHub's server.
func shape(cfg config, tokens *token.Source) mcpadapter.Shape {
	rules := cfg.rules()
	return mcpadapter.Shape{
		Edit: func(t adapter.Tool) (adapter.Tool, bool) {
			if !cfg.offers(t.Name) || rules.ReadOnly && !reach.Reads(t.Name) {
				return t, false
			}
			t.Definition = mcpadapter.Without(t.Definition, "icons", "_meta")
			t.ReadOnly = new(reach.Reads(t.Name))
			if c, ok := contracts[t.Name]; ok {
				t.Definition = mcpadapter.Without(t.Definition, "outputSchema")
				t.OutputSchema = json.RawMessage(c.schema)
			}
			return t, true
		},
		Admit: func(_ context.Context, call *adapter.Call) error {
			if !cfg.offers(call.Tool) {
				return failure.New(failure.NotFound, failure.NotSent, "%s is not offered; see tools, toolsets and exclude in the config of this server", call.Tool)
			}
			return rules.Admit(call.Tool, call.Args)
		},
		Judge: judge,
		Own:   own(cfg),
		Explain: func(f *failure.Failure) {
			if f.Class == failure.AuthFailure && f.Delivery == failure.Answered {
				tokens.Refused()
			}
			if f.Class == failure.AuthFailure && f.Delivery == failure.NotSent {
				f.Message = strings.TrimPrefix(f.Message, "connect to "+cfg.endpoint()+": ") // it was not even tried
			}
			truth.Explain(f)
		},
	}
}

// judge reads an answer of GitHub's server.
func judge(call *adapter.Call, res *adapter.Result) (*adapter.Result, error) {
	text := mcpadapter.Text(res.JSON)
	if res.IsError {
		if f := truth.Of(text); f != nil {
			return nil, f
		}
		return res, nil
	}
	if c, ok := contracts[call.Tool]; ok {
		return c.keep(call.Tool, res, text)
	}
	if reach.Reads(call.Tool) {
		res.JSON = mcpadapter.Untrusted(res.JSON)
	}
	return res, nil
}

// keep adds the structured content, which is the JSON that the text consists of.
func (c contract) keep(tool string, res *adapter.Result, text string) (*adapter.Result, error) {
	if !gjson.Valid(text) {
		return nil, c.broken(tool, text)
	}
	for _, path := range c.needs {
		if v := gjson.Get(text, path); v.Type != gjson.String || v.Str == "" {
			return nil, c.broken(tool, text)
		}
	}
	res.JSON = mcpadapter.With(res.JSON, "structuredContent", json.RawMessage(text))
	return res, nil
}

func (c contract) broken(tool, text string) error {
	f := failure.New(failure.InvalidResult, failure.Answered,
		"GitHub answered %s as done, but not with what it promises (%s); look at GitHub before you call again", tool, c.needs[0])
	f.Origin, f.UpstreamData = failure.OriginUpstream, []byte(text[:min(len(text), 1000)])
	return f
}
