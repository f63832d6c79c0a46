package host

import (
	"bytes"
	"context"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/logfile"
)

// The part of stderr that a diagnosis shows: what fits on a screen.
const (
	maxTailLines = 10
	maxTailLine  = 300 // bytes
)

// stamp is how the server's log begins each line.
const stamp = "2006-01-02T15:04:05.000Z "

// tailSince are the last lines that were written to a log since then. A log that
// cannot be read has none.
func tailSince(ctx context.Context, path string, since time.Time, redact func(string) string) []string {
	var b bytes.Buffer
	if err := logfile.Tail(ctx, path, maxTailLines, false, &b); err != nil {
		return nil
	}
	since = since.Truncate(time.Millisecond)
	var out []string
	for line := range strings.Lines(b.String()) {
		line = strings.TrimRight(line, "\r\n")
		if len(line) < len(stamp) {
			continue
		}
		if at, err := time.Parse(stamp, line[:len(stamp)]); err == nil && !at.Before(since) {
			out = append(out, line[len(stamp):])
		}
	}
	return bounded(out, redact)
}

// bounded keeps the last lines, and of each its beginning.
func bounded(lines []string, redact func(string) string) []string {
	var out []string
	for _, line := range lines[max(0, len(lines)-maxTailLines):] {
		line = redact(line) // whole: what is cut can no longer be recognised
		if len(line) > maxTailLine {
			line = strings.ToValidUTF8(line[:maxTailLine], "") + "..."
		}
		out = append(out, line)
	}
	return out
}
