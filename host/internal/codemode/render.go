package codemode

import (
	"fmt"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/rawjson"
)

// JSON is the outcome as one object: what the codemode tool has as structuredContent
// and `collet run --json` prints.
//
//	{"status": "completed" | "failed", "value", "output": [MCP content blocks],
//	 "console": [{"level", "text"}], "console_dropped",
//	 "error": {"kind", "name", "message", "line", "column", "stack", "tool", "code"},
//	 "calls": [{"id", "tool", "status", "duration_ms", "args_bytes", "result_bytes", "arguments", "error": {"code", "message"}}],
//	 "calls_left_out", "truncated": {"bytes", "resource", "value"}, "notices", "duration_ms", "cpu_ms"}
//
// What there is nothing to say of is left out, but for status, output, console and
// calls.
func (o *Outcome) JSON() []byte {
	var b rawjson.Object
	b.String("status", string(o.Status))
	if o.Value != nil {
		b.Raw("value", o.Value)
	}
	output := make([][]byte, 0, len(o.Output))
	for _, item := range o.Output {
		output = append(output, block(item))
	}
	b.Raw("output", rawjson.Array(output))
	console := make([][]byte, 0, len(o.Console))
	for _, line := range o.Console {
		var l rawjson.Object
		l.String("level", line.Level)
		l.String("text", line.Text)
		console = append(console, l.Bytes())
	}
	b.Raw("console", rawjson.Array(console))
	number(&b, "console_dropped", o.Dropped)
	if o.Error != nil {
		b.Raw("error", o.Error.json())
	}
	calls := make([][]byte, 0, len(o.Calls))
	for i := range o.Calls {
		calls = append(calls, o.Calls[i].json())
	}
	b.Raw("calls", rawjson.Array(calls))
	number(&b, "calls_left_out", o.CallsLeftOut)
	if t := o.Truncated; t != nil {
		var l rawjson.Object
		l.Int("bytes", t.Bytes)
		word(&l, "resource", t.Resource)
		if o.ValueLeftOut {
			l.Bool("value", true)
		}
		b.Raw("truncated", l.Bytes())
	}
	if len(o.Notices) > 0 {
		b.Strings("notices", o.Notices)
	}
	b.Int("duration_ms", o.Duration.Milliseconds())
	b.Int("cpu_ms", o.CPU.Milliseconds())
	return b.Bytes()
}

// Blocks are the output as MCP content blocks, behind a text block that says how the
// script ended.
func (o *Outcome) Blocks() [][]byte {
	blocks := make([][]byte, 0, len(o.Output)+1)
	text := o.heading()
	flush := func() {
		if text != "" {
			blocks = append(blocks, block(Item{Text: strings.TrimSuffix(text, "\n")}))
		}
		text = ""
	}
	for _, item := range o.Output {
		if item.Block != nil {
			flush()
			blocks = append(blocks, item.Block)
			continue
		}
		text += strings.TrimSuffix(item.Text, "\n") + "\n"
	}
	if o.Value != nil {
		text += "Returned: " + string(o.Value) + "\n"
	}
	text += o.footing()
	flush()
	return blocks
}

// heading is how the script ended: "Script completed in 1.2 s, 7 calls".
func (o *Outcome) heading() string {
	n := len(o.Calls) + o.CallsLeftOut
	text := fmt.Sprintf("Script %s in %s, %d call%s", o.Status, seconds(o.Duration), n, plural(n))
	if o.Error != nil {
		text += "\n" + o.Error.Error()
		if o.Error.Stack != "" {
			text += "\n" + o.Error.Stack
		}
	}
	return text + "\n"
}

// footing is what a reader has to know beside the output.
func (o *Outcome) footing() string {
	var b strings.Builder
	if len(o.Console) > 0 || o.Dropped > 0 {
		b.WriteString("Console:\n")
		for _, line := range o.Console {
			b.WriteString("[" + line.Level + "] " + line.Text + "\n")
		}
		if o.Dropped > 0 {
			fmt.Fprintf(&b, "[%d lines dropped]\n", o.Dropped)
		}
	}
	for _, c := range o.Calls {
		if c.Status == "not-made" {
			fmt.Fprintf(&b, "Not made: %s %s\n", c.Tool, c.Arguments)
		}
	}
	if t := o.Truncated; t != nil {
		fmt.Fprintf(&b, "The whole output has %d bytes", t.Bytes)
		if t.Resource != "" {
			b.WriteString("; result_read reads all of it by the handle " + t.Resource)
		}
		b.WriteString(".\n")
	}
	for _, n := range o.Notices {
		b.WriteString("Note: " + n + "\n")
	}
	return b.String()
}

// Error is the failure in a line: "script: TypeError: x is no function (line 3,
// column 5)".
func (e *Error) Error() string {
	text := string(e.Kind) + ": "
	if e.Name != "" {
		text += e.Name + ": "
	}
	text += e.Message
	if e.Line > 0 {
		text += fmt.Sprintf(" (line %d, column %d)", e.Line, e.Column)
	}
	return text
}

func (e *Error) json() []byte {
	var b rawjson.Object
	b.String("kind", string(e.Kind))
	word(&b, "name", e.Name)
	b.String("message", e.Message)
	number(&b, "line", e.Line)
	number(&b, "column", e.Column)
	word(&b, "stack", e.Stack)
	word(&b, "tool", e.Tool)
	word(&b, "code", string(e.Code))
	return b.Bytes()
}

func (c *CallRecord) json() []byte {
	var b rawjson.Object
	b.Int("id", int64(c.ID))
	b.String("tool", c.Tool)
	b.String("status", c.Status)
	b.Int("duration_ms", c.Duration.Milliseconds())
	b.Int("args_bytes", int64(c.ArgsBytes))
	b.Int("result_bytes", int64(c.ResultBytes))
	if c.Arguments != nil {
		b.Raw("arguments", c.Arguments)
	}
	if c.Code != "" {
		var e rawjson.Object
		e.String("code", string(c.Code))
		e.String("message", clip(c.Message, maxCallMessage))
		b.Raw("error", e.Bytes())
	}
	return b.Bytes()
}

// maxCallMessage of an error is in the record of a call, in bytes; the script had it
// whole.
const maxCallMessage = 300

// word and number write a member where there is something to say.
func word(o *rawjson.Object, key, value string) {
	if value != "" {
		o.String(key, value)
	}
}

func number(o *rawjson.Object, key string, n int) {
	if n != 0 {
		o.Int(key, int64(n))
	}
}

// block is a piece of output as an MCP content block.
func block(item Item) []byte {
	if item.Block != nil {
		return item.Block
	}
	var b rawjson.Object
	b.String("type", "text")
	b.String("text", item.Text)
	return b.Bytes()
}

func seconds(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}
