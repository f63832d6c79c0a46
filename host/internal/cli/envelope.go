package cli

import (
	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/rawjson"
)

// envelope is the --json answer of a call, and of every command that fails:
// exactly one of result and failure is there, the result byte for byte as it was
// received. tool is null where the command line names none.
func envelope(tool string, res *host.Result, fail *host.Failure) []byte {
	var o rawjson.Object
	o.OptionalString("tool", tool)
	if fail != nil {
		o.Bool("ok", false)
		o.Raw("failure", failureJSON(fail))
		o.Int("attempts", int64(fail.Attempts))
		o.Int("durationMs", fail.Duration.Milliseconds())
		o.Strings("notices", fail.Notices)
		return o.Bytes()
	}
	o.Bool("ok", !res.IsError)
	o.Raw("result", res.JSON)
	o.Int("attempts", int64(res.Attempts))
	o.Int("durationMs", res.Duration.Milliseconds())
	o.Strings("notices", res.Notices)
	return o.Bytes()
}

// failureJSON is the envelope's failure; what is not known is null.
func failureJSON(f *host.Failure) []byte {
	var o rawjson.Object
	o.String("class", f.Class.String())
	o.String("delivery", f.Delivery.String())
	o.String("message", f.Message)
	o.OptionalString("server", f.Server)
	o.OptionalString("tool", f.Tool)
	o.OptionalInt("retryAfterMs", f.RetryAfter.Milliseconds())
	o.OptionalInt("upstreamCode", int64(f.UpstreamCode))
	o.Strings("stderrTail", f.StderrTail)
	return o.Bytes()
}

// printJSON writes one JSON object and a newline to stdout.
func printJSON(s *terminal.Streams, object []byte) error {
	if s.OutTerminal {
		object = []byte(terminal.EscapeJSON(string(object)))
	}
	_, err := s.Out.Write(append(object, '\n'))
	return err
}
