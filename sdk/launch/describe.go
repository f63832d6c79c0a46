package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
)

const (
	// describeTimeout bounds `plugin describe`, which touches no network.
	describeTimeout = 10 * time.Second
	// maxDescription bounds what it prints, in bytes; a config schema of a
	// hundred settings is about 20 KiB.
	maxDescription = 1 << 20
)

// Describe runs `path describe` in the environment env, complete as for Start,
// and returns what it prints. It takes at most 10 s and 1 MiB. Whatever the
// command started is killed with it.
//
// The error is a *failure.Failure: ConnectionRefused when the file cannot be
// started or fails, InvalidResult when it prints no description, Timeout and
// Canceled as for Start. Delivery is NotSent.
func Describe(ctx context.Context, path string, env []string) (*describe.Description, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, describeTimeout, errStartTimeout)
	defer cancel()
	fail := func(class failure.Class, format string, args ...any) error {
		f := failure.New(class, failure.NotSent, format, args...)
		f.Origin, f.Target = failure.OriginHost, path
		return f
	}
	cmd := &exec.Cmd{Path: path, Args: []string{path, "describe"}, Env: append([]string{}, env...)}
	var printed capture
	out := newOutput(nil)
	c, err := spawn(cmd, &printed, &lines{emit: out.line})
	if err != nil {
		if why := diagnose(path); why != "" {
			return nil, fail(failure.ConnectionRefused, "cannot run %s describe: %s", path, why)
		}
		return nil, fail(failure.ConnectionRefused, "cannot run %s describe: %w", path, err)
	}
	stop := context.AfterFunc(ctx, c.kill)
	<-c.exited.Done()
	stop()
	evidence := evidence("", out.tail())
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStartTimeout):
		return nil, fail(failure.Timeout, "%s describe did not end within %s%s", path, describeTimeout, evidence)
	case errors.Is(cause, context.DeadlineExceeded):
		return nil, fail(failure.Timeout, "%s describe had not ended when the caller's time was up%s", path, evidence)
	case cause != nil:
		return nil, fail(failure.Canceled, "running %s describe was canceled", path)
	case !c.cmd.ProcessState.Success():
		return nil, fail(failure.ConnectionRefused, "%s describe failed (%s)%s", path, c.reason(), evidence)
	case printed.over:
		return nil, fail(failure.InvalidResult, "%s describe printed more than %d bytes", path, maxDescription)
	}
	var d describe.Description
	if err := json.Unmarshal(printed.kept, &d); err != nil {
		return nil, fail(failure.InvalidResult, "%s describe did not print a description: %w; it printed %q", path, err, excerpt.Of(string(printed.kept), maxJunkBytes))
	}
	if d.Name == "" {
		return nil, fail(failure.InvalidResult, "%s describe printed a description without a name: %q", path, excerpt.Of(string(printed.kept), maxJunkBytes))
	}
	return &d, nil
}

// capture keeps what a command prints, up to maxDescription.
type capture struct {
	kept []byte
	over bool
}

func (c *capture) write(chunk []byte) {
	if len(c.kept)+len(chunk) > maxDescription {
		c.over = true
		return
	}
	c.kept = append(c.kept, chunk...)
}

func (c *capture) end() {}

// Evidence in a message is bounded: the whole tail is in the log.
const (
	maxEvidenceLines = 8
	maxEvidenceBytes = 400
)

// evidence is what a plugin printed, as the end of a sentence: first what the
// caller says of its stdout, then the last lines of stderr.
func evidence(stdout string, tail []string) string {
	if len(tail) == 0 {
		return stdout
	}
	text := stdout + "; its stderr ends:"
	for _, line := range tail[max(0, len(tail)-maxEvidenceLines):] {
		text += fmt.Sprintf("\n  %s", excerpt.Of(line, maxEvidenceBytes))
	}
	return text
}
