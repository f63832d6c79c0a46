package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/tidwall/gjson"
)

// plays are the client's parts, by scenario. given is the scenario's context.
var plays = map[string]func(ctx context.Context, s *session, given []byte) error{
	"initialize":               list,
	"request-metadata":         list,
	"json-schema-ref-no-deref": list,

	"tools_call":                          one("add_numbers", `{"a":5,"b":3}`),
	"sse-retry":                           one("test_reconnection", `{}`),
	"elicitation-sep1034-client-defaults": one("test_client_elicitation_defaults", `{}`),

	"sep-2322-client-request-state": func(ctx context.Context, s *session, _ []byte) error {
		for _, tool := range []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"} {
			if err := s.call(ctx, tool, `{}`); err != nil {
				return err
			}
		}
		return nil
	},
	"json-schema-2020-12-preservation": echoSchema,
	"http-standard-headers":            everyMethod,
	"http-custom-headers":              callAsTold,
	"http-invalid-tool-headers":        callAll,
}

func list(ctx context.Context, s *session, _ []byte) error {
	_, err := s.ReadTools(ctx)
	return err
}

// one lists the tools and calls one of them.
func one(tool, arguments string) func(context.Context, *session, []byte) error {
	return func(ctx context.Context, s *session, _ []byte) error {
		if _, err := s.tool(ctx, tool); err != nil {
			return err
		}
		return s.call(ctx, tool, arguments)
	}
}

// callTestTool is the part in all scenarios of authorization.
func callTestTool(ctx context.Context, s *session, _ []byte) error {
	return s.call(ctx, "test-tool", `{}`)
}

// echoSchema hands a tool's schema back to the suite, which looks what became of it.
func echoSchema(ctx context.Context, s *session, _ []byte) error {
	tool, err := s.tool(ctx, "json_schema_2020_12_tool")
	if err != nil {
		return err
	}
	return s.call(ctx, "json_schema_echo", `{"schema":`+gjson.GetBytes(tool, "inputSchema").Raw+`}`)
}

// everyMethod uses each method whose name or subject goes into a header.
func everyMethod(ctx context.Context, s *session, _ []byte) error {
	tools, err := s.ReadTools(ctx)
	if err != nil || len(tools.Tools) == 0 {
		return errors.Join(err, errors.New("no tool to call"))
	}
	if err := s.call(ctx, gjson.GetBytes(tools.Tools[0], "name").String(), `{}`); err != nil {
		return err
	}
	for _, m := range []struct{ list, first, use, key string }{
		{"resources/list", "resources.0.uri", "resources/read", "uri"},
		{"prompts/list", "prompts.0.name", "prompts/get", "name"},
	} {
		all, err := s.request(ctx, m.list, nil)
		if err != nil {
			return err
		}
		if _, err := s.request(ctx, m.use, []byte(`{"`+m.key+`":`+gjson.GetBytes(all, m.first).Raw+`}`)); err != nil {
			return err
		}
	}
	return nil
}

// callAsTold makes the calls that the scenario lists in its context.
func callAsTold(ctx context.Context, s *session, given []byte) error {
	if err := list(ctx, s, nil); err != nil {
		return err
	}
	var told struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal(given, &told); err != nil || len(told.ToolCalls) == 0 {
		return fmt.Errorf("the scenario's context has no toolCalls: %w", err)
	}
	for _, call := range told.ToolCalls {
		if err := s.call(ctx, call.Name, string(call.Arguments)); err != nil {
			fmt.Fprintf(os.Stderr, "call %s: %v\n", call.Name, err) // the next one shows something else
		}
	}
	return nil
}

// callAll calls every tool that is left of a list with bad ones in it.
func callAll(ctx context.Context, s *session, _ []byte) error {
	tools, err := s.ReadTools(ctx)
	if err != nil {
		return err
	}
	for _, tool := range tools.Tools {
		if err := s.call(ctx, gjson.GetBytes(tool, "name").String(), `{"region":"us-west1"}`); err != nil {
			return err
		}
	}
	return nil
}
