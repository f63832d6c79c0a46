package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

const (
	// A !command fetches one secret; ten seconds is long for that, and short
	// enough for a person who waits for the server it belongs to.
	valueWait = 10 * time.Second
	// maxValue bounds what a !command may print, in bytes.
	maxValue = 64 << 10
	// maxComplaint bounds how many lines and bytes of its stderr a failed !command
	// is quoted with: the beginning says what is wrong.
	maxComplaintLines, maxComplaint = 3, 300
	// drainWait is how long a finished !command's children may hold its output.
	drainWait = time.Second
)

// valueCommand runs the command of a "!command" value and returns what it
// printed. When it fails, the beginning of its stderr says why; its stdout, which
// may be the secret, is never told.
func valueCommand(environ []string) func(ctx context.Context, script, dir string) (string, error) {
	return func(ctx context.Context, script, dir string) (string, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, valueWait, fmt.Errorf("the command did not finish within %s", valueWait))
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", script)
		cmd.Env, cmd.Dir, cmd.WaitDelay = environ, dir, drainWait
		out, complaint := limitedBuffer{most: maxValue}, beginning{most: maxComplaint}
		cmd.Stdout, cmd.Stderr = &out, &complaint
		err := cmd.Run()
		switch {
		case out.over:
			// The command may have ended by the pipe that was closed on it: that says less.
			return "", fmt.Errorf("it printed more than %d bytes", maxValue)
		case ctx.Err() != nil:
			return "", complaint.with(context.Cause(ctx))
		case err != nil:
			return "", complaint.with(err)
		}
		return out.text.String(), nil
	}
}

// limitedBuffer keeps what is written, and fails when that is too much.
type limitedBuffer struct {
	text bytes.Buffer
	most int
	over bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.over = b.over || b.text.Len()+len(p) > b.most; b.over {
		return 0, io.ErrShortWrite
	}
	return b.text.Write(p)
}

// beginning keeps the first bytes of what is written, and lets the rest go.
type beginning struct {
	text bytes.Buffer
	most int
}

func (b *beginning) Write(p []byte) (int, error) {
	b.text.Write(p[:min(len(p), b.most-b.text.Len())])
	return len(p), nil
}

// with adds the first lines of what was written to err.
func (b *beginning) with(err error) error {
	text := strings.ToValidUTF8(strings.TrimSpace(b.text.String()), "")
	if text == "" {
		return err
	}
	lines := strings.SplitN(text, "\n", maxComplaintLines+1)
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return fmt.Errorf("%w: %s", err, strings.Join(lines[:min(len(lines), maxComplaintLines)], "; "))
}
