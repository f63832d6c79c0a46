package results

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/collet-dev/collet/sdk/failure"
)

// ToolName is the tool by which a model reads results, ToolDefinition what its
// list says of it: a constant, whatever has been kept. It has no outputSchema,
// because clients hold the structuredContent of errors against that, too.
const (
	ToolName       = "result_read"
	ToolDefinition = `{"name":"result_read","title":"Read a large result",` +
		`"description":"Reads a tool's result that was over the budget, in parts, by the handle that the over-budget answer names; the tool is not called again. Without more it begins at the start of the text. next in the answer says how to go on; it is missing at the end.",` +
		`"inputSchema":{"type":"object","properties":{` +
		`"handle":{"type":"string","description":"The handle of the over-budget answer."},` +
		`"lines":{"type":"string","description":"Lines of the text: \"A-B\", \"A-\" or \"A\"; the first is 1. Not together with offset and limit.","pattern":"^[0-9]+(-[0-9]*)?$"},` +
		`"offset":{"type":"integer","minimum":0,"description":"The byte to begin at."},` +
		`"limit":{"type":"integer","minimum":1,"description":"The most bytes to read; default: as many as fit the budget."},` +
		`"path":{"type":"string","description":"A GJSON path into the MCP result, to read a value instead of the text: structuredContent.items.#.name, structuredContent.items.#(id==7), content.0.text|@fromstr|items.0 for JSON inside a text, @this for all of it."}},` +
		`"required":["handle"],"additionalProperties":false},` +
		`"annotations":{"readOnlyHint":true,"openWorldHint":false}}`
)

// Call answers a call of the tool for owner, in an MCP result of at most fit bytes.
// The error is a *failure.Failure.
func (s *Store) Call(owner string, arguments json.RawMessage, fit int64) (json.RawMessage, error) {
	a, err := ParseArguments(arguments)
	if err != nil {
		return nil, err
	}
	page, err := s.Read(owner, a.Handle, a.Slice, fit)
	if err != nil {
		return nil, err
	}
	return page.Result(), nil
}

// Arguments are those of the tool result_read.
type Arguments struct {
	Handle string
	Slice
}

// ParseArguments reads the arguments of result_read, {handle, offset?, limit?,
// lines?, path?}. The error is a *failure.Failure that says what is wrong.
func ParseArguments(raw json.RawMessage) (Arguments, error) {
	var in struct {
		Handle *string
		Offset *int64
		Limit  *int64
		Lines  *string
		Path   *string
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&in); err != nil {
		return Arguments{}, refused(failure.InvalidArguments, "result_read takes {handle, offset?, limit?, lines?, path?}: %v", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return Arguments{}, refused(failure.InvalidArguments, "result_read takes one JSON object")
	}
	if in.Handle == nil {
		return Arguments{}, refused(failure.InvalidArguments, "result_read needs the handle that the over-budget answer names")
	}
	a := Arguments{Handle: *in.Handle}
	if in.Offset != nil {
		a.Offset = *in.Offset
	}
	if in.Limit != nil {
		if a.Limit = *in.Limit; a.Limit < 1 {
			return Arguments{}, refused(failure.InvalidArguments, "limit %d: it must be at least 1", a.Limit)
		}
	}
	if in.Path != nil {
		a.Path = *in.Path
	}
	if in.Lines != nil {
		lines, err := ParseLines(*in.Lines)
		if err != nil {
			return Arguments{}, err
		}
		a.Lines = lines
	}
	return a, a.Check()
}
