package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// maxRounds ends a call whose server asks for input for ever.
const maxRounds = 8

// session is a connection with what a host does on top of it.
type session struct{ *mcp.Client }

func (s *session) request(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	return s.Request(ctx, method, params, mcp.RequestOptions{})
}

// tool lists the tools and returns the definition of one.
func (s *session) tool(ctx context.Context, name string) (json.RawMessage, error) {
	all, err := s.ReadTools(ctx)
	if err != nil {
		return nil, err
	}
	for _, tool := range all.Tools {
		if gjson.GetBytes(tool, "name").String() == name {
			return tool, nil
		}
	}
	return nil, fmt.Errorf("the server has no tool %s", name)
}

// call calls a tool and answers what the server asks on the way (2026-07-28,
// input_required): the same call again with what was asked for, and with the state
// as it came.
func (s *session) call(ctx context.Context, tool, arguments string) error {
	result, err := s.CallTool(ctx, tool, json.RawMessage(arguments), mcp.RequestOptions{})
	for range maxRounds {
		if err != nil || gjson.GetBytes(result, "resultType").String() != "input_required" {
			return err
		}
		params := `{"name":` + strconv.Quote(tool) + `,"arguments":` + arguments
		asked := gjson.GetBytes(result, "inputRequests")
		if asked.Exists() {
			answers, err := answerAll(ctx, asked)
			if err != nil {
				return err
			}
			params += `,"inputResponses":` + answers
		}
		if state := gjson.GetBytes(result, "requestState"); state.Exists() {
			params += `,"requestState":` + state.Raw
		}
		result, err = s.request(ctx, "tools/call", json.RawMessage(params+"}"))
	}
	return fmt.Errorf("%s asked for input more than %d times", tool, maxRounds)
}

func answerAll(ctx context.Context, asked gjson.Result) (answers string, err error) {
	answers = "{"
	asked.ForEach(func(key, request gjson.Result) bool {
		var result json.RawMessage
		if result, err = answer(ctx, request.Get("method").String(), json.RawMessage(request.Get("params").Raw)); err != nil {
			return false
		}
		if len(answers) > 1 {
			answers += ","
		}
		answers += key.Raw + ":" + string(result)
		return true
	})
	return answers + "}", err
}

// answer accepts what the server wants to know from the user: with the defaults of
// the form (2025-11-25, SEP-1034), and yes to whatever has none.
func answer(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method != "elicitation/create" {
		f := failure.New(failure.ServerError, failure.Answered, "this client answers elicitation only")
		f.UpstreamCode = -32601
		return nil, f
	}
	content := map[string]json.RawMessage{}
	gjson.GetBytes(params, "requestedSchema.properties").ForEach(func(name, field gjson.Result) bool {
		if preset := field.Get("default"); preset.Exists() {
			content[name.String()] = json.RawMessage(preset.Raw)
		} else if field.Get("type").String() == "boolean" {
			content[name.String()] = json.RawMessage("true")
		}
		return true
	})
	return json.Marshal(map[string]any{"action": "accept", "content": content})
}
