package mcp

import (
	"encoding/json"

	"github.com/collet-dev/collet/host/internal/call"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// failureResult tells a model of a call that could not be carried out: as a
// result with isError, because that is what a model gets to read.
func failureResult(tool string, f *call.Failure) json.RawMessage {
	var e rawjson.Object
	e.String("code", f.Class.String())
	e.String("tool", tool)
	e.String("delivery", f.Delivery.String())
	e.String("message", f.Failure.Error())
	if f.RetryAfter > 0 {
		e.Int("retryAfterMs", f.RetryAfter.Milliseconds())
	}
	return errorResult(tool+": "+f.Failure.Error(), e.Bytes())
}

// toolError is the same for a fault that needed no call.
func toolError(tool, code, message string) json.RawMessage {
	var e rawjson.Object
	e.String("code", code)
	e.String("tool", tool)
	e.String("delivery", "not-sent")
	e.String("message", message)
	return errorResult(message, e.Bytes())
}

func errorResult(text string, e []byte) json.RawMessage {
	out := rawjson.AppendString([]byte(`{"content":[{"type":"text","text":`), text)
	out = append(append(out, `}],"isError":true,"structuredContent":{"error":`...), e...)
	return append(out, `}}`...)
}
