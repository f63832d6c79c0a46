// Package codemode runs scripts that call tools. Each runs in a process of its own
// (package child), which this package starts, limits, feeds and ends; a script takes
// down nothing else. It makes no calls itself: a Host does, for whom it counts and
// orders them. It knows no MCP client and decides nothing about which tools there are.
package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

// ChildArgument is the only argument of a script's process: the program that starts
// it is started again with it, and has to call child.Main then.
const ChildArgument = "__script"

// Script is one script to run.
type Script struct {
	// Source is JavaScript or TypeScript, at most MaxSource bytes: the body of an async
	// function, or one expression, which is called when it is a function. It may be
	// in a Markdown fence.
	Source string
	// Args is what the script sees as args, any JSON value. Nil is undefined.
	Args json.RawMessage
	// ID names the script in the audit trail of its calls, and seeds Math.random.
	// Default: a random one.
	ID string
	// Owner is whose script it is: while several wait for a process, those go first who
	// have the fewest running.
	Owner string
	// Limits of this script; see Limits for the defaults.
	Limits Limits
	// Store keeps values between scripts. Nil: store and load reach no further than
	// this script.
	Store *Store
	// Deterministic has the clock of the script stand still: at Now, or where that is
	// zero, at the start of 2026.
	Deterministic bool
	Now           time.Time
	// OnCall is told of every call, when it begins and when it has ended, in order. It
	// must not block.
	OnCall func(CallEvent)
}

// Host makes the calls of scripts.
type Host interface {
	// Servers are the servers and tools that a script sees. They are asked for once,
	// when it begins.
	Servers(ctx context.Context) []Server
	// Call calls a tool and returns its whole MCP result, isError included. The error
	// is best a *ToolError; of any other the script sees the text.
	Call(ctx context.Context, c Call) (json.RawMessage, error)
	Guide
}

// Guide answers what a script asks about tools.
type Guide interface {
	// Search returns a JSON array of {name, description, exposure, ...}, best first.
	// Server and limit are "" and 0 when the script does not say.
	Search(ctx context.Context, query, server string, limit int) (json.RawMessage, error)
	// Describe returns TypeScript declarations of the tools.
	Describe(ctx context.Context, tools []string) (string, error)
	// Server returns {name, description, instructions, tools: [names]}.
	Server(ctx context.Context, name string) (json.RawMessage, error)
}

// Server is one server that a script sees, Tool one tool of it. Identifiers are the
// names that a script can write after a dot; the raw names work in brackets.
type (
	Server = wire.Server
	Tool   = wire.Tool
)

// Call is one call that a script makes.
type Call struct {
	Server, Tool string
	Arguments    json.RawMessage // an object
	Timeout      time.Duration   // of one attempt; 0 is the server's own
	Parent       string          // Script.ID
	ID           int             // from 1, in the order of the script
	// Rest is called when the call begins to wait for a person, and what it returns when
	// it goes on: the script's time stands still in between.
	Rest func() (resume func())
	// Admit waits until there is room for a result of that many bytes, or ctx ends; it is
	// called before a large result is received. Leave is called when it could not be
	// received after all. Another call of it gives back the room of the one before.
	Admit func(ctx context.Context, bytes int) (leave func(), err error)
}

// ToolError is a call that failed, as the script sees it.
type ToolError struct {
	Code      Code
	Message   string
	Details   json.RawMessage // any JSON value; nil is undefined
	Retryable bool            // the same call may well succeed later, and does no harm
}

// ErrNotMade is the error of a Host that would have made the call, but is only to say
// so. The script gets {} for an answer.
var ErrNotMade = errors.New("not made")

// Error implements error.
func (e *ToolError) Error() string { return e.Message }

// Code says why a call failed.
type Code string

// The codes of ToolError.
const (
	CodeTool         Code = "tool_error"        // the tool ran and says that it failed
	CodeArguments    Code = "invalid_arguments" // they break the tool's schema; nothing was sent
	CodeNotFound     Code = "not_found"
	CodeDenied       Code = "denied" // by a person, a policy or for want of a credential
	CodeTimeout      Code = "timeout"
	CodeCancelled    Code = "cancelled"
	CodeDisconnected Code = "disconnected" // the server is down, crashed or cannot be reached
	CodeProtocol     Code = "protocol"     // the server answered with an error, or with what is no result
	CodeTooLarge     Code = "result_too_large"
	CodeLimit        Code = "limit" // of the script: calls, bytes
)

// CallEvent tells that a call has begun or ended.
type CallEvent struct {
	CallRecord
	Ended    bool
	InFlight int // calls that run now
	Made     int // calls so far
}

// Status says whether a script did what it is there for.
type Status string

// The statuses.
const (
	Completed Status = "completed"
	Failed    Status = "failed"
)

// Kind says why a script failed.
type Kind string

// The kinds of failures.
const (
	KindSyntax  Kind = "syntax"       // it is neither JavaScript nor TypeScript
	KindScript  Kind = "script"       // it threw
	KindTimeout Kind = "timeout"      // its time, or its processor time, is over
	KindMemory  Kind = "memory"       // it used up its memory
	KindOutput  Kind = "output_limit" // it put out too much
	KindStalled Kind = "stalled"      // it awaits what nothing can settle
	KindAborted Kind = "aborted"      // whoever ran it gave up
	KindSandbox Kind = "sandbox"      // its process ended by itself
)

// Outcome is what came of a script.
type Outcome struct {
	Status    Status
	Value     json.RawMessage // what it returned; nil is undefined
	Output    []Item          // what it put out with text and image, in order
	Console   []Line
	Dropped   int    // lines that the console had no room for
	Error     *Error // why it failed
	Calls     []CallRecord
	Notices   []string    // what a person should know although it went well
	Truncated *Truncation // set by Fit
	// Of Fit, too: how many of Calls are left out of their middle, and that Value was
	// too long, so that its ends are the last of Output.
	CallsLeftOut int
	ValueLeftOut bool
	Duration     time.Duration
	CPU          time.Duration // of its process, start included
}

// Item is a piece of output, Line one line of the console.
type (
	Item = wire.Item
	Line = wire.Line
)

// Error is why a script failed. Line and Column are those of the script as it was
// written, from 1; 0 is unknown.
type Error struct {
	Kind          Kind
	Name, Message string // of the thrown error; Name is empty where none was thrown
	Line, Column  int
	Stack         string
	Tool          string // of a ToolError that the script did not catch
	Code          Code
}

// CallRecord is one call that a script made.
type CallRecord struct {
	ID          int
	Tool        string // "server/tool"
	Status      string // "ok", "error", "not-made" (a dry run), or "running" when the script ended before it
	Duration    time.Duration
	ArgsBytes   int
	ResultBytes int
	Code        Code            // of the error
	Message     string          // of the error; of a long one the first 4 KiB
	Arguments   json.RawMessage // of a call that was not made
}

// Truncation says that output was left out, and where all of it is.
type Truncation struct {
	Bytes    int64  // of everything
	Resource string // what the sink called it; empty when it was not kept
}
