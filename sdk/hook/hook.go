// Package hook is the author's side of the second kind of plugin. A hook offers no
// tools: it stands between the host and the servers of a configuration, and may
// edit the table of servers before anything starts, change or hide definitions of
// tools, and look at each call before it is sent and at each result before the
// caller gets it. A hook calls Main with an Info and a function that opens it.
//
// What becomes of a call when a hook does not work, takes too long or is not there
// is up to the configuration (on_error), not to the hook.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/collet-dev/collet/sdk/failure"
)

// Info says what a hook is. It is the source of its description, which
// `collet-plugin-x describe` prints and hosts cache.
type Info struct {
	Name     string // "ratelimit": the file is called collet-plugin-ratelimit
	Version  string // semver; a leading v is dropped
	Summary  string // one line
	Homepage string // URL
	License  string // SPDX identifier
	// Environment names the variables the hook would like to see. Its process sees a
	// short list of common ones and these, nothing else.
	Environment []string
}

// Env is what the host gives a hook besides its config.
type Env struct {
	Name        string // the entry's name in mcp.toml; for log lines only
	HostVersion string
	// Log writes to the plugin's stderr in the form hosts read. It is also
	// slog.Default.
	Log *slog.Logger
}

// A hook implements at least one of these. All of them may be called from many
// goroutines at once, each under the deadline that mcp.toml sets; an error is a hook
// that does not work.
type (
	// ServersEditor edits the table of servers of each configuration that is read,
	// before anything of it starts.
	ServersEditor interface {
		EditServers(ctx context.Context, servers *Servers) error
	}
	// ToolsEditor changes or hides definitions in each list of tools that a server
	// gives.
	ToolsEditor interface {
		EditTools(ctx context.Context, tools *Tools) error
	}
	// CallEditor decides about each call before it is sent; nil lets it pass. Whether
	// the arguments are valid is checked behind it.
	CallEditor interface {
		Before(ctx context.Context, call *Call) (*Verdict, error)
	}
	// ResultEditor decides about each result; nil lets it pass. Answers of a
	// CallEditor are results too.
	ResultEditor interface {
		After(ctx context.Context, call *Call, result json.RawMessage) (*Verdict, error)
	}
)

// Call is one call of one tool.
type Call struct {
	ID           string // the host's; put it in log lines
	Server, Tool string
	Caller       string          // "model", "script", "cli" or "program"
	Arguments    json.RawMessage // a JSON object, as written
}

// Verdict is what becomes of a call or of a result; nil lets it pass.
type Verdict struct {
	replacement json.RawMessage
	answer      json.RawMessage
	refusal     *failure.Failure
}

// Arguments has the call go on with other arguments, a JSON object. It is for
// Before.
func Arguments(arguments json.RawMessage) *Verdict { return &Verdict{replacement: arguments} }

// Result puts another result, an MCP result object, in the place of the tool's. It
// is for After.
func Result(result json.RawMessage) *Verdict { return &Verdict{replacement: result} }

// Answer answers the call with an MCP result object; nothing is sent. It is for
// Before.
func Answer(result json.RawMessage) *Verdict { return &Verdict{answer: result} }

// Text is an MCP result of one text, for Answer and Result.
func Text(text string, isError bool) json.RawMessage {
	raw, err := json.Marshal(struct {
		Content []map[string]string `json:"content"`
		IsError bool                `json:"isError,omitempty"`
	}{[]map[string]string{{"type": "text", "text": text}}, isError})
	if err != nil {
		panic(err) // strings always encode
	}
	return raw
}

// Refuse fails the call: before it is sent, or, in After, instead of giving the
// result to the caller. The message says why and what to do instead.
func Refuse(class failure.Class, format string, args ...any) *Verdict {
	return RefuseWith(&failure.Failure{Class: class, Message: fmt.Sprintf(format, args...)})
}

// RefuseWith is Refuse with all that a failure can say. Its delivery is the host's
// to say.
func RefuseWith(f *failure.Failure) *Verdict { return &Verdict{refusal: f} }
