package server

import (
	"context"
	"errors"

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
	// Postponed: the server failed before and was not tried again for this;
	// RetryAfter says when it may be.
	Postponed bool
	// Remote: a start failed of a server that is reached by url, whose own words are
	// in no log of ours.
	Remote bool
	// Unlogged: a start failed before there was a process that writes to the log.
	Unlogged bool
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

// waitFailure says why ctx ended, or is about to, while something was being waited for.
func waitFailure(ctx context.Context, what string) *Failure {
	if errors.Is(ctx.Err(), context.Canceled) {
		return notSent(failure.Canceled, "canceled: %s", what)
	}
	return notSent(failure.Timeout, "%s", what)
}
