package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/results"
	"github.com/collet-dev/collet/sdk/failure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// resultRead reads what was too large to be answered. Any tool's result can be, so
// that it is offered with whatever there is.
var resultRead = bridge{results.ToolName, strings.TrimSuffix(results.ToolDefinition, "}") + "," + always + "}"}

// readResult is result_read. A client reads what its own credential has made.
func (f *Front) readResult(_ context.Context, r *protocol.Incoming, arguments json.RawMessage) (json.RawMessage, error) {
	answer, err := f.host.ReadResult(f.host.Owner(r.Caller.Principal), arguments)
	var fail *failure.Failure
	if errors.As(err, &fail) {
		return (&call.Failure{Failure: *fail}).Answer(true), nil
	}
	return answer, err
}
