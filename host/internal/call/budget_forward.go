package call

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/sdk/failure"
)

// fitForwarded is fitBudget for what is only passed on: a resource that was read and
// a prompt. Their results have no place for an error, so that over budget is a
// failure, over-budget and answered, whose UpstreamData tells what a tool's
// structuredContent would.
func (p *Pipeline) fitForwarded(ctx context.Context, req *ForwardRequest, raw json.RawMessage) *Failure {
	about := readByModels(req)
	if req.Caller != exposure.Model || p.Budget == nil || about == "" {
		return nil
	}
	budget := p.Budget()
	if int64(len(raw)) <= budget || gjson.GetBytes(raw, "resultType").String() == "input_required" {
		return nil
	}
	over := overBudget{tool: req.Server + " " + req.Method + " " + about, result: raw, budget: budget}
	if p.Results != nil {
		var err error
		if over.handle, err = p.Results.Put(ctx, cmp.Or(req.Owner, results.Local), over.tool, raw); err != nil {
			p.Log.Error("an over-budget result is lost", "server", req.Server, "method", req.Method, "bytes", len(raw), "error", err)
		}
	}
	var e rawjson.Object
	e.String("code", failure.OverBudget.String())
	e.String("server", req.Server)
	e.String("method", req.Method)
	f := failure.New(failure.OverBudget, failure.Answered, "%s", over.text(""))
	f.Origin, f.UpstreamData = failure.OriginHost, over.describe(&e)
	return &Failure{Failure: *f}
}

// readByModels is what a request is about, "" for one whose answer no model reads. A page
// for the client to show (MCP Apps, ui://) is none; lists and completions are the
// client's to handle.
func readByModels(req *ForwardRequest) string {
	switch req.Method {
	case "prompts/get":
		return gjson.GetBytes(req.Params, "name").String()
	case "resources/read":
		if uri := gjson.GetBytes(req.Params, "uri").String(); !strings.HasPrefix(uri, "ui://") {
			return uri
		}
	}
	return ""
}
