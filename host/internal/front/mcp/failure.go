package mcp

import (
	"encoding/json"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// toolError tells a model of a fault that needed no call, as call.Failure.Answer
// does of one that a call had.
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
