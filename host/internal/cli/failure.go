package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/cli/terminal"
	"github.com/collet-dev/collet/host/internal/hook"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/sdk/failure"
)

// printFailure tells a failure on stderr: what, which rules were broken, what
// the server's process said last, and what to do.
func printFailure(s *terminal.Streams, f *host.Failure) {
	var b strings.Builder
	fmt.Fprintf(&b, "collet: %v", f)
	for _, p := range f.Problems {
		if strings.Contains(f.Message, p.Message) {
			continue // said already
		}
		fmt.Fprintf(&b, "\n  %s", problemLine(p))
	}
	if len(f.StderrTail) > 0 {
		fmt.Fprintf(&b, "\n  the end of its stderr:")
		for _, line := range f.StderrTail {
			fmt.Fprintf(&b, "\n    %s", line)
		}
	}
	for _, n := range f.Notices {
		fmt.Fprintf(&b, "\n  note: %s", n)
	}
	if next := nextStep(f); next != "" {
		fmt.Fprintf(&b, "\n  %s", next)
	}
	s.Note("%s", b.String())
}

// problemLine is one broken rule: "/head: type: "x" is no integer".
func problemLine(p failure.Problem) string {
	path := p.Path
	if path == "" {
		path = "(the whole object)"
	}
	return fmt.Sprintf("%s: %s: %s", path, p.Rule, p.Message)
}

// nextStep says what a person can do about a failure.
func nextStep(f *host.Failure) string {
	if f.Misconfigured {
		return "'collet config check' lists what is wrong with the configuration"
	}
	switch f.Class {
	case failure.InvalidArguments:
		if f.Tool != "" {
			return fmt.Sprintf("'collet tools show %s' lists its arguments", toolName(f))
		}
	case failure.ConnectionRefused, failure.ServerError, failure.Unknown:
		if h := hook.Blamed(&f.Failure); h != "" {
			return fmt.Sprintf("'collet servers logs %s' shows what it said", hookPrefix+h)
		}
		if f.Server != "" && !f.Remote && !f.Unlogged {
			return fmt.Sprintf("'collet servers logs %s' shows what it said", f.Server)
		}
	case failure.Timeout:
		if f.Remote || f.Unlogged {
			return ""
		}
		if f.Delivery == failure.NotSent { // it was the start that took too long
			return fmt.Sprintf("'collet servers logs %s' shows what it said", f.Server)
		}
		return "--timeout gives it longer"
	case failure.NotFound:
		return "'collet tools list' shows the tools there are, 'collet servers list' the servers"
	case failure.RateLimited:
		if f.RetryAfter > 0 {
			return fmt.Sprintf("it asks to wait %s", f.RetryAfter.Round(time.Second))
		}
	}
	return ""
}

// toolName is the failure's canonical tool name.
func toolName(f *host.Failure) string { return name.Join(f.Server, f.Tool) }

// problemText is a configuration problem on one line.
func problemText(p host.Problem) string { return p.Error() }
