package call

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
)

// maxArguments is the longest argument object, in bytes: as long as an upstream's
// line may be, and within what one message to the adapter holds.
const maxArguments = 64 << 20

// checkForm refuses what is no JSON object, before anybody is shown it.
func (p *Pipeline) checkForm(_ context.Context, w *work) *Failure {
	if len(w.req.Arguments) > maxArguments {
		return refused(failure.InvalidArguments, "the arguments are %d bytes long, and the limit is 64 MiB", len(w.req.Arguments))
	}
	// Not gjson.Valid: it descends with the nesting, and a megabyte of brackets
	// overflows the stack, which no recover stops.
	if !json.Valid(w.req.Arguments) {
		return refused(failure.InvalidArguments, "the arguments are not valid JSON, or nested too deeply")
	}
	if bytes.TrimLeft(w.req.Arguments, " \t\r\n")[0] != '{' {
		return refused(failure.InvalidArguments, "the arguments must be a JSON object")
	}
	if f := notObject("_meta", w.req.Meta); f != nil {
		return f
	}
	return notObject("inputResponses", w.req.InputResponses)
}

// checkArguments refuses what the tool's input schema refuses, before the
// adapter is reached. The adapter gets the arguments as they were written, by the
// caller or by a hook.
func (p *Pipeline) checkArguments(_ context.Context, w *work) *Failure {
	if w.answered {
		return nil
	}
	problems := w.tool.Input().Validate(w.req.Arguments)
	problems = append(problems, doubled(w.req.Arguments)...)
	if len(problems) == 0 {
		return nil
	}
	f := refused(failure.InvalidArguments, "the arguments do not fit the tool's input schema: %s", sentence(problems))
	f.Problems = problems
	return f
}

// notObject refuses what comes with the arguments and is neither empty nor a
// JSON object.
func notObject(what string, raw json.RawMessage) *Failure {
	if len(raw) == 0 || json.Valid(raw) && bytes.TrimLeft(raw, " \t\r\n")[0] == '{' {
		return nil
	}
	return refused(failure.InvalidArguments, "%s must be a JSON object", what)
}

// checkResult holds a result against the tool's output schema. A result that
// says it is an error answers to no schema (MCP 2026-07-28, server/tools, Error
// Handling), and a question is no result.
func (p *Pipeline) checkResult(_ context.Context, w *work) *Failure {
	out := w.tool.Output()
	mode := w.set.ValidateResults
	if out == nil || mode == "off" || w.answer.IsError || w.answer.Input != nil {
		return nil
	}
	var problems []failure.Problem
	if sc := gjson.GetBytes(w.answer.JSON, "structuredContent"); sc.Exists() {
		problems = out.Validate([]byte(sc.Raw))
		if len(problems) == 0 && json.Valid([]byte(sc.Raw)) { // unchecked schemas say nothing of that
			problems = doubled([]byte(sc.Raw))
		}
	} else {
		problems = []failure.Problem{{Rule: "structuredContent", Message: "the tool declares an output schema, but the result has no structuredContent"}}
	}
	if len(problems) == 0 {
		return nil
	}
	text := "the result does not fit the tool's output schema: " + sentence(problems)
	if mode != "strict" {
		w.notices = append(w.notices, text)
		return nil
	}
	f := refused(failure.InvalidResult, "%s", text)
	f.Delivery, f.Origin, f.Problems = failure.Answered, failure.OriginUpstream, problems
	return f
}

// doubled is the problem of a member that an object has twice, if one has.
func doubled(text []byte) []failure.Problem {
	path, found := rawjson.Twice(text)
	if !found {
		return nil
	}
	return []failure.Problem{{Path: path, Rule: "repeated", Message: "is there twice"}}
}

// maxSpoken bounds how many problems a message spells out; the rest is in
// Problems.
const maxSpoken = 3

func sentence(problems []failure.Problem) string {
	var b strings.Builder
	for i, q := range problems {
		if i == maxSpoken {
			fmt.Fprintf(&b, "; and %d more", len(problems)-i)
			break
		}
		if i > 0 {
			b.WriteString("; ")
		}
		if q.Path != "" {
			b.WriteString(q.Path + ": ")
		}
		b.WriteString(q.Message)
		if q.Rule != "" {
			b.WriteString(" (" + q.Rule + ")")
		}
	}
	return b.String()
}
