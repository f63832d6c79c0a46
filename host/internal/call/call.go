// Package call is the one way to a tool, for every caller: the pipeline of
// steps from a name and arguments to a result or a failure.
package call

import (
	"encoding/json"
	"time"

	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/sdk/failure"
)

// Retry says when a failed call is made a second time.
type Retry string

const (
	RetrySafe   Retry = "safe"
	RetryAlways Retry = "always"
	RetryNever  Retry = "never"
)

// Request is one call of one tool.
type Request struct {
	Tool       string
	Arguments  json.RawMessage
	Caller     exposure.Caller
	Timeout    time.Duration
	Retry      Retry
	OnProgress func(Progress)
}

// Progress is one progress report of a running call.
type Progress struct {
	Done, Total float64
	Message     string
}

// Result is what the tool answered.
type Result struct {
	Tool     string
	JSON     json.RawMessage
	IsError  bool
	Attempts int
	Duration time.Duration
	Notices  []string
}

// Failure is why a call could not be carried out.
type Failure struct {
	failure.Failure
	Server, Tool string
	StderrTail   []string
	Attempts     int
	Duration     time.Duration
	Notices      []string
}

func (f *Failure) Error() string { return f.Message }

// Event tells of one call.
type Event struct {
	Server, Tool string
	Caller       exposure.Caller
	Duration     time.Duration
	Class        string
	Attempts     int
}
