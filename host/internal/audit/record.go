package audit

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// The kinds of records.
const (
	Call    = "call"    // of a tool
	Request = "request" // that is passed on: resources, prompts, completion
	Denial  = "denial"  // of a request over HTTP
)

// The outcomes.
const (
	OK            = "ok"
	ToolError     = "tool-error"     // the tool ran and says that it failed
	InputRequired = "input-required" // the server wants to know something first
	Failed        = "failed"         // see Class and Delivery
	Denied        = "denied"         // see Reason
)

// Record is one line. What is empty or zero is left out, but for the sizes of a call.
type Record struct {
	Time time.Time
	Kind string
	ID   string
	// Parent is the ID of the call that this one is a part of.
	Parent string
	// Caller is what kind of caller it is, Principal whose credential it shows.
	Caller, Principal string
	Method            string // MCP's; of a denial HTTP's
	Server, Tool      string
	Outcome           string
	Class, Delivery   string // of a failure
	// Consent is what became of the question whether the call may be made; empty: nobody
	// had to be asked.
	Consent       string
	Attempts      int
	Duration      time.Duration
	ArgumentBytes int
	ResultBytes   int
	// Arguments are written only by a Log that was told to.
	Arguments json.RawMessage
	Trace     string // the trace's ID, in hex

	Reason     string // of a denial; so is the rest
	Status     int    // of HTTP
	Path, From string
}

const (
	// maxText bounds a text that a stranger may have written, in bytes.
	maxText = 256
	// maxArguments bounds the arguments of one line, in bytes.
	maxArguments = 64 << 10
)

// line is the record as JSON. Lost is how many lines could not be written since
// the one before, leftOut how many denials were not.
func (r *Record) line(arguments bool, lost, leftOut int) []byte {
	var o rawjson.Object
	text := func(key, s string) {
		if s != "" {
			o.String(key, excerpt(s))
		}
	}
	number := func(key string, n int) {
		if n != 0 {
			o.Int(key, int64(n))
		}
	}
	o.String("time", r.Time.UTC().Format(time.RFC3339Nano))
	text("event", r.Kind)
	text("id", r.ID)
	text("parent", r.Parent)
	text("caller", r.Caller)
	text("principal", r.Principal)
	text("method", r.Method)
	text("server", r.Server)
	text("tool", r.Tool)
	text("outcome", r.Outcome)
	text("class", r.Class)
	text("delivery", r.Delivery)
	text("consent", r.Consent)
	if r.Kind == Denial {
		text("reason", r.Reason)
		number("status", r.Status)
		text("path", r.Path)
		text("from", r.From)
	} else {
		o.Int("attempts", int64(r.Attempts))
		o.Raw("duration_ms", strconv.AppendFloat(nil, float64(r.Duration.Microseconds())/1000, 'f', -1, 64))
		o.Int("argument_bytes", int64(r.ArgumentBytes))
		o.Int("result_bytes", int64(r.ResultBytes))
	}
	text("trace", r.Trace)
	if arguments && len(r.Arguments) > 0 {
		writeArguments(&o, r.Arguments)
	}
	number("left_out", leftOut)
	number("lost", lost)
	return o.Bytes()
}

// writeArguments writes them on one line, their tokens as they are. What is no JSON
// was refused, and is somebody's text that would break the line.
func writeArguments(o *rawjson.Object, arguments json.RawMessage) {
	var b bytes.Buffer
	if len(arguments) > maxArguments || json.Compact(&b, arguments) != nil {
		o.Bool("arguments_left_out", true)
		return
	}
	o.Raw("arguments", b.Bytes())
}

// excerpt is the beginning of a text.
func excerpt(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "") + "..."
}
