package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// The exit codes. Scripts depend on them; docs and tests name each.
const (
	exitOK            = 0
	exitToolError     = 1   // the tool ran and says it failed (isError)
	exitUsage         = 2   // the command line, or arguments that break the tool's schema
	exitConfiguration = 3   // no usable configuration, or a server's entry is wrong
	exitUnreachable   = 4   // the server does not answer, or answers with an error
	exitAuth          = 5   // a credential or a consent is missing
	exitTimeout       = 6   // no answer in time
	exitResult        = 7   // the result is invalid under strict, or over its budget
	exitNotFound      = 8   // no such tool, server, or part of a result
	exitCanceled      = 130 // Ctrl-C
)

// exitOf is the exit code of each failure class.
var exitOf = map[failure.Class]int{
	failure.Unknown:           exitUnreachable,
	failure.ConnectionRefused: exitUnreachable,
	failure.DNSFailure:        exitUnreachable,
	failure.ServerError:       exitUnreachable,
	failure.RateLimited:       exitUnreachable,
	failure.Timeout:           exitTimeout,
	failure.AuthFailure:       exitAuth,
	failure.ConsentRequired:   exitAuth,
	failure.InvalidArguments:  exitUsage,
	failure.NotFound:          exitNotFound,
	failure.InvalidResult:     exitResult,
	failure.OverBudget:        exitResult,
	failure.Canceled:          exitCanceled,
}

// severity orders codes when several servers failed in different ways: what a
// person has to repair comes before what may pass by itself.
var severity = []int{exitTimeout, exitNotFound, exitResult, exitUnreachable, exitUsage, exitAuth, exitConfiguration, exitCanceled}

// usageError is a command line that cannot be understood.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// exitError ends a command with a code. What it says, if anything, is printed by
// nobody else.
type exitError struct {
	code    int
	message string // empty when everything has been said
}

func (e *exitError) Error() string { return e.message }

func exitf(code int, format string, args ...any) error {
	return &exitError{code, fmt.Sprintf(format, args...)}
}

// quiet ends a command that has said everything, with a code.
func quiet(code int) error {
	if code == exitOK {
		return nil
	}
	return &exitError{code: code}
}

// exitCode is the one place that maps an error to an exit code.
func exitCode(err error) int {
	var (
		usage *usageError
		exit  *exitError
		fail  *host.Failure
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &exit):
		return exit.code
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &fail):
		return failureCode(fail)
	case errors.Is(err, context.Canceled):
		return exitCanceled
	}
	return exitUnreachable
}

// failureCode is the exit code of a failure.
func failureCode(f *host.Failure) int {
	if f.Misconfigured {
		return exitConfiguration
	}
	if code, ok := exitOf[f.Class]; ok {
		return code
	}
	return exitUnreachable
}
