package call

import (
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

// Request is one call of one tool.
type Request struct {
	Tool       string          // the canonical name, "<server>/<tool>"
	Arguments  json.RawMessage // a JSON object, passed on as it is; nil is {}
	Caller     exposure.Caller // default: program
	Timeout    time.Duration   // one attempt; 0 means the server's own
	Retry      Retry           // empty means the server's own
	OnProgress func(Progress)  // called in order while the call runs; must not block
}

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
	Postponed  bool
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

// Event tells of one call.
type Event struct {
	Server, Tool string
	Caller       exposure.Caller
	Duration     time.Duration // 0 at the start
	Class        string        // of the failure; empty when the tool answered
	Attempts     int
}
