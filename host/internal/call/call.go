package call

import (
	"context"
	"encoding/json"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/sdk/failure"
)

// Retry says when a failed call is made a second time.
type Retry string

// The modes of mcp.toml; retry.go has the rule.
const (
	RetrySafe   Retry = "safe"   // when it cannot have happened, or happening twice is harmless
	RetryAlways Retry = "always" // whenever the failure's class allows it
	RetryNever  Retry = "never"
)

// Request is one call of one tool. Its functions are called while Do runs and
// never after; each but Admit, Ask and Consent must not block.
type Request struct {
	Tool       string          // the canonical name, "<server>/<tool>"
	Arguments  json.RawMessage // a JSON object, passed on as it is; nil is {}
	Caller     exposure.Caller // default: program
	Owner      string          // whose result it is, should it have to be kept: one string per credential; default: "local"
	Via        exposure.Via    // how a model calls; default: by name
	Timeout    time.Duration   // one attempt; 0 means the server's own
	Retry      Retry           // empty means the server's own
	OnProgress func(Progress)  // called in order while the call runs
	Parent     string          // the ID of the call that this one is a part of, as its Event has it; empty: of none
	Session    string          // the client's MCP session, for traces; empty: there is none
	// MaxResult is the most bytes that the caller takes. A larger result is not
	// received: it is an over-budget failure, answered. 0: whatever the contract carries.
	MaxResult int
	// Admit, where there is one, is asked before a result is received whose size the
	// adapter announces, which it does above 128 KiB. It may wait until ctx ends: the
	// call's timeout rests meanwhile, its max_timeout does not. Its error ends the call.
	// Leave is called when the result could not be received; whoever has the result
	// knows by itself when it is done with it.
	Admit func(ctx context.Context, bytes int) (leave func(), err error)
	// OnLog takes the log records that belong to this call, in order. Level is one
	// of MCP's: debug, info, warning, error. Nil: they are logged as the host's own.
	OnLog Logger

	// Meta is an MCP _meta object to pass on to the upstream: trace context, log
	// level, and what the caller can be asked for
	// ("io.modelcontextprotocol/clientCapabilities", 2026-07-28). Nil is none.
	Meta json.RawMessage
	// Ask answers what an upstream asks the caller's side in the middle of the call;
	// nil when the caller cannot be asked. While a question is open the call's
	// timeout and max_timeout rest.
	Ask Asker
	// Consent asks a person before the call where its tool needs that. Nil: Ask is, with
	// a form, and where that is nil too, the call fails with consent-required. Neither
	// timeout nor max_timeout runs meanwhile.
	Consent Consenter
	// AcceptInput: an upstream that needs something first (input_required,
	// 2026-07-28) is answered by the caller, with a call of its own. Without it the
	// questions go to Ask, and without that they are a consent-required failure.
	AcceptInput bool
	// InputResponses and RequestState answer a Result with Input: the MCP
	// inputResponses object, and the State of that Input. The rest of the request is
	// as it was the first time.
	InputResponses json.RawMessage
	RequestState   string
}

// Logger takes one log record of a call; data is any JSON value.
type Logger func(level, logger string, data json.RawMessage)

// Asker answers one MCP request of an upstream to its client: elicitation/create,
// sampling/createMessage, roots/list. It returns the MCP result object, and soon
// after ctx has ended. An error that is a *failure.Failure with an UpstreamCode
// reaches the upstream as that JSON-RPC error. Several may run at once.
type Asker func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// Progress is one progress report of a running call. Total is 0 when unknown.
type Progress struct {
	Done, Total float64
	Message     string
}

// Result is what the tool answered.
type Result struct {
	Tool     string          // the canonical name
	JSON     json.RawMessage // the whole MCP result object, byte for byte as received
	IsError  bool            // the tool ran and says it failed
	Attempts int             // 1, or 2 after a retry
	Duration time.Duration   // from the request to the answer, starts and waits included
	Notices  []string        // what a person should know although the call went well
	// Input, set instead of JSON and only when the request accepts it, is what the
	// upstream needs before it goes on.
	Input *InputRequired
}

// InputRequired is MCP's input_required result (2026-07-28, MRTR): the same call
// with what it asks for goes on.
type InputRequired struct {
	Requests json.RawMessage // the inputRequests object; nil when there are none
	State    string          // requestState, opaque
}

// Failure is why a call could not be carried out.
type Failure struct {
	failure.Failure
	Server string
	Tool   string // without the server's name; empty when the server itself failed
	// Misconfigured: the server's entry in mcp.toml is at fault, so that trying
	// again is pointless until a person changed something.
	Misconfigured bool
	// Postponed: the server failed before and was not tried again for this call;
	// RetryAfter says when it may be.
	Postponed bool
	// Remote: a start failed of a server that is reached by url, whose own words are
	// in no log of the host's.
	Remote bool
	// Unlogged: a start failed before there was a process that writes to the server's log.
	Unlogged   bool
	StderrTail []string // the last lines of an adapter process that ended, oldest first
	Attempts   int      // 0 when nothing was sent to the adapter
	Duration   time.Duration
	Notices    []string
}

// Error is "server/tool: message".
func (f *Failure) Error() string {
	switch {
	case f.Server == "":
		return f.Failure.Error()
	case f.Tool == "":
		return f.Server + ": " + f.Failure.Error()
	default:
		return f.Server + "/" + f.Tool + ": " + f.Failure.Error()
	}
}

// Unwrap returns the plain failure, for errors.As.
func (f *Failure) Unwrap() error { return &f.Failure }

// Event tells of one call, or of one request that Forward passes on. What it says
// of the end is zero at the start.
type Event struct {
	ID           string // random; the adapter's log lines of the call have it too
	Parent       string // of the Request
	Method       string // MCP's: "tools/call", or the one that Forward passes on
	Server, Tool string // as the request names them, Tool only for tools/call; see Known
	Caller       exposure.Caller
	Owner        string // whose credential; "local" for none
	Session      string
	Trace        string // the trace's ID in hex; empty: it is not traced
	// Arguments are those of the call, or the params of the request; they may hold
	// secrets. Not to be changed.
	Arguments json.RawMessage

	// Known: there is such a tool, and with Forward such a server. Only then Server and
	// Tool are more than what somebody wrote.
	Known       bool
	Duration    time.Duration
	Class       string // of the failure; empty when there is an answer
	Delivery    string // of the failure
	IsError     bool   // the tool ran and says it failed
	Asked       bool   // the answer is what the server wants to know first
	Consent     string // one of the Consent words; empty: none was needed
	Attempts    int    // 0 when nothing was sent to the adapter
	ResultBytes int    // of the server's answer, before a budget
}
