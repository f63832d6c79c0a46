package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// Failure is why a server could not be started or a call to it not be carried
// out, with what is known about its process.
type Failure struct {
	failure.Failure
	// Misconfigured: the server's entry in mcp.toml is at fault, so that trying
	// again is pointless until a person changed something.
	Misconfigured bool
	// StderrTail holds the last lines of a process that ended, oldest first.
	StderrTail []string
}

// Error returns the message.
func (f *Failure) Error() string { return f.Failure.Error() }

// Unwrap returns the plain failure, for errors.As.
func (f *Failure) Unwrap() error { return &f.Failure }

// AsFailure returns err as a Failure of this package, classifying it if need be.
func AsFailure(err error) *Failure {
	var f *Failure
	if errors.As(err, &f) {
		return f
	}
	return &Failure{Failure: *failure.Classify(err)}
}

func misconfigured(err error) *Failure {
	f := AsFailure(err)
	f.Class, f.Delivery, f.Misconfigured = failure.InvalidArguments, failure.NotSent, true
	return f
}

func notSent(class failure.Class, format string, args ...any) *Failure {
	f := failure.New(class, failure.NotSent, format, args...)
	f.Origin = failure.OriginHost
	return &Failure{Failure: *f}
}

// exited says that the adapter process is gone. sent tells whether a request
// may have reached the upstream before.
func exited(e launch.Exit, sent bool) *Failure {
	f := notSent(failure.ConnectionRefused, "the adapter process ended: %s", e.Reason)
	if sent {
		f.Delivery = failure.DeliveryUnknown
	}
	f.StderrTail = plainLines(e.Tail)
	return f
}

// waitFailure says why ctx ended while something was being waited for.
func waitFailure(ctx context.Context, what string) *Failure {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return notSent(failure.Timeout, "%s", what)
	}
	return notSent(failure.Canceled, "canceled: %s", what)
}

// plainLines turns an adapter's log records into lines for a person.
func plainLines(lines []string) []string {
	out := make([]string, 0, len(lines))
	for _, l := range lines {
		out = append(out, plain([]byte(l)))
	}
	return out
}

// plain is the readable form of one stderr line: hclog's JSON becomes
// "LEVEL message key=value", anything else, a panic's stack above all, stays.
func plain(line []byte) string {
	// Without the backslash gjson takes @ for a modifier.
	msg := gjson.GetBytes(line, `\@message`)
	if !msg.Exists() {
		return string(line)
	}
	var b strings.Builder
	b.WriteString(strings.ToUpper(gjson.GetBytes(line, `\@level`).String()))
	b.WriteByte(' ')
	b.WriteString(msg.String())
	gjson.ParseBytes(line).ForEach(func(k, v gjson.Result) bool {
		if !strings.HasPrefix(k.String(), "@") {
			b.WriteString(" " + k.String() + "=" + v.String())
		}
		return true
	})
	return b.String()
}

// logLine is what the server's log file keeps of one stderr line.
func logLine(now time.Time, line []byte) []byte {
	return []byte(now.UTC().Format("2006-01-02T15:04:05.000Z ") + plain(line))
}

// Answer is what a tool answered.
type Answer struct {
	JSON    []byte // the whole MCP result object, byte for byte
	IsError bool
	// Input is set instead of JSON when the upstream needs something first.
	Input *InputRequired
}

// InputRequired is an upstream's question, raw.
type InputRequired struct {
	Requests []byte
	State    string
}

// Request is one call to the adapter.
type Request struct {
	Tool       *catalog.Tool
	Arguments  []byte // a JSON object
	ID         string
	Meta       []byte
	OnProgress func(done, total float64, message string)
}
