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
		var out limitedBuffer
		cmd.Stdout = &out
		err := cmd.Run()
		switch {
		case out.over:
			// The command may have ended by the pipe that was closed on it: that says less.
			return "", fmt.Errorf("it printed more than %d bytes", maxValue)
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil:
			return "", err
		}
		return out.text.String(), nil
	}
}

// limitedBuffer keeps what is written, up to maxValue.
type limitedBuffer struct {
	text bytes.Buffer
	over bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.over = b.over || b.text.Len()+len(p) > maxValue; b.over {
		return 0, io.ErrShortWrite
	}
	return b.text.Write(p)
}
