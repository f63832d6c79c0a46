package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/content"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// outcomeCodes are the exit codes of scripts that failed; others are 1.
var outcomeCodes = map[host.ScriptKind]int{
	host.ScriptSyntax:  exitUsage,
	host.ScriptTimeout: exitTimeout,
	host.ScriptMemory:  exitResult,
	host.ScriptOutput:  exitResult,
	host.ScriptAborted: exitCanceled,
}

func outcomeCode(o *host.ScriptOutcome) int {
	if o.Error == nil {
		return exitOK
	}
	if code, ok := outcomeCodes[o.Error.Kind]; ok {
		return code
	}
	return exitToolError
}

// print prints what the script put out and returned, and on stderr the rest.
func (opts *runOptions) print(o *host.ScriptOutcome) error {
	s := opts.Streams
	var out io.Writer = s.Out
	if s.OutTerminal {
		out = terminal.Escaper(out)
	}
	shown := gjson.ParseBytes(o.JSON())
	var result rawjson.Object
	result.Raw("content", []byte(shown.Get("output").Raw))
	if err := content.Print(out, result.Bytes(), nil); err != nil {
		return err
	}
	if o.Value != nil {
		value := gjson.ParseBytes(o.Value)
		text := value.Raw
		if value.Type == gjson.String {
			text = value.String()
		}
		if _, err := fmt.Fprintln(out, strings.TrimSuffix(text, "\n")); err != nil {
			return err
		}
	}
	for _, c := range o.Calls {
		if c.Status != host.ScriptNotMade {
			continue
		}
		if _, err := fmt.Fprintf(out, "not called: %s %s\n", c.Tool, c.Arguments); err != nil {
			return err
		}
	}
	for _, line := range o.Console {
		s.Note("%s", line.Text)
	}
	if o.Dropped > 0 {
		s.Note("collet: note: %d more lines of the console were dropped", o.Dropped)
	}
	for _, n := range o.Notices {
		s.Note("collet: note: %s", n)
	}
	if o.Error == nil {
		return nil
	}
	return exitf(outcomeCode(o), "%s", opts.fault(o.Error))
}

// fault is why the script failed: "report.ts:3:5: TypeError: x is no function", and
// below that where it was called.
func (opts *runOptions) fault(e *host.ScriptError) string {
	text := opts.name() + ": "
	if e.Line > 0 {
		text = fmt.Sprintf("%s:%d:%d: ", opts.name(), e.Line, e.Column)
	}
	if e.Kind != host.ScriptThrew && e.Kind != host.ScriptSyntax {
		text += string(e.Kind) + ": "
	}
	if e.Name != "" {
		text += e.Name + ": "
	}
	text += e.Message
	if stack := strings.TrimSpace(e.Stack); strings.Contains(stack, "\n") {
		text += "\n  " + strings.ReplaceAll(stack, "\n", "\n  ")
	}
	return text
}
