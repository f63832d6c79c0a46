package cli

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/failure"
)

// The codes as numbers: scripts know no names.
var codes = map[failure.Class]int{
	failure.Unknown: 4, failure.ConnectionRefused: 4, failure.Timeout: 6, failure.DNSFailure: 4, failure.AuthFailure: 5,
	failure.InvalidArguments: 2, failure.ServerError: 4, failure.NotFound: 8, failure.RateLimited: 4,
	failure.ConsentRequired: 5, failure.InvalidResult: 7, failure.OverBudget: 7, failure.Canceled: 130,
}

func TestExitCodeOfEveryClass(t *testing.T) {
	// Past the last class every name is that of Unknown.
	for class := failure.Unknown; class == failure.Unknown || class.String() != failure.Unknown.String(); class++ {
		want, ok := codes[class]
		if !ok {
			t.Errorf("no code is decided for %s", class)
		}
		if _, ok := exitOf[class]; !ok {
			t.Errorf("the table lacks %s", class)
		}
		for _, args := range [][]string{{"tools", "call", "s/t"}, {"tools", "call", "s/t", "--json"}, {"tools", "show", "s/t"}, {"tools", "call", "s/t", "a=b"}} {
			c := command{host: &fakeHost{err: failed(class)}}
			if code := c.run(t, append(args, "--config", "x")...); code != want {
				t.Errorf("%s, %v: exit code %d, want %d", class, args, code, want)
			}
		}
	}
}

func TestExitCode(t *testing.T) {
	wrong := failed(failure.NotFound)
	wrong.Misconfigured = true
	for _, test := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{usagef("x"), 2},
		{exitf(3, "x"), 3},
		{quiet(1), 1},
		{quiet(0), 0},
		{wrong, 3},
		{fmt.Errorf("reading: %w", context.Canceled), 130},
		{fmt.Errorf("call: %w", failed(failure.Timeout)), 6},
		{errors.New("disk full"), 4},
		{&host.Failure{Failure: failure.Failure{Class: 200}}, 4},
	} {
		if got := exitCode(test.err); got != test.want {
			t.Errorf("%v: %d, want %d", test.err, got, test.want)
		}
	}
}

func TestEnvelopeOfAnyError(t *testing.T) {
	for _, test := range []struct {
		err  error
		want failure.Class
	}{
		{usagef("x"), failure.InvalidArguments},
		{exitf(exitConfiguration, "x"), failure.InvalidArguments},
		{exitf(exitAuth, "x"), failure.ConsentRequired},
		{exitf(exitNotFound, "x"), failure.NotFound},
		{fmt.Errorf("reading: %w", context.Canceled), failure.Canceled},
		{fmt.Errorf("call: %w", failed(failure.Timeout)), failure.Timeout},
		{errors.New("disk full"), failure.Unknown},
	} {
		if got := failureOf(test.err).Class; got != test.want {
			t.Errorf("%v: %s, want %s", test.err, got, test.want)
		}
	}
}

func TestSeverityOrdersEveryFailure(t *testing.T) {
	for class, code := range exitOf {
		if worse(exitOK, code) != code {
			t.Errorf("%s (%d) is no worse than ok", class, code)
		}
	}
	if worse(exitConfiguration, exitTimeout) != exitConfiguration || worse(exitTimeout, exitAuth) != exitAuth {
		t.Error("what a person has to repair comes first")
	}
}
