package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"
)

const (
	// A !command fetches one secret; ten seconds is long for that, and short
	// enough for a person who waits for the server it belongs to.
	valueWait = 10 * time.Second
	// maxValue bounds what a !command may print, in bytes.
	maxValue = 64 << 10
	// drainWait is how long a finished !command's children may hold its output.
	drainWait = time.Second
)

// valueCommand runs the command of a "!command" value and returns what it
// printed. Its stderr is not shown: it may hold what the command was to keep.
func valueCommand(environ []string) func(ctx context.Context, script, dir string) (string, error) {
	return func(ctx context.Context, script, dir string) (string, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, valueWait, fmt.Errorf("the command did not finish within %s", valueWait))
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", script)
		cmd.Env, cmd.Dir, cmd.WaitDelay = environ, dir, drainWait
		var out bytes.Buffer
		cmd.Stdout = &limitedWriter{w: &out, left: maxValue}
		err := cmd.Run()
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil:
			return "", err
		}
		return out.String(), nil
	}
}

// limitedWriter refuses what goes beyond left bytes.
type limitedWriter struct {
	w    io.Writer
	left int
}

func (l *limitedWriter) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, fmt.Errorf("more than %d bytes of output", maxValue)
	}
	l.left -= len(p)
	return l.w.Write(p)
}
