package server

import (
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/logfile"
	"github.com/collet-dev/collet/host/internal/redact"
)

// log keeps what one adapter process writes to stderr.
type log struct {
	file    *logfile.Writer
	secrets *redact.Set
	taken   atomic.Int64 // bytes of the lines so far
}

// openLog opens the server's log file. A file that cannot be had must not keep
// the server from starting: then nothing is kept but the tail in failures.
func openLog(path string, host *slog.Logger, secrets *redact.Set) *log {
	file, err := logfile.Open(path)
	if err != nil {
		host.Warn("the server's log is not kept", "error", err)
		return &log{}
	}
	return &log{file: file, secrets: secrets}
}

// KeepLog keeps what a process writes to stderr in a file, as the servers' logs are
// kept. The function that it returns first takes a line, the second ends it.
func KeepLog(path string, host *slog.Logger, secrets *redact.Set) (line func([]byte), end func()) {
	l := openLog(path, host, secrets)
	return l.line, l.close
}

// line keeps one line of stderr, in its readable form, with its time and without
// secrets.
func (l *log) line(line []byte) {
	l.taken.Add(int64(len(line)))
	if l.file != nil {
		_ = l.file.Line([]byte(time.Now().UTC().Format("2006-01-02T15:04:05.000Z ") + l.secrets.Text(plain(line))))
	}
}

func (l *log) close() {
	if l.file != nil {
		_ = l.file.Close() // what could not be kept is gone either way
	}
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
