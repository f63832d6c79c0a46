// Package logfile keeps one server's log in a file of bounded size, and shows its
// end. Several hosts may write the same file at once: each line is one appending
// write.
//
// It never looks into lines, never adds a time or a level, and starts no goroutine.
package logfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/lockfile"
)

// MaxSize is the size in bytes at which a log is rotated: it becomes PATH.1, in
// place of the one before, so that a server never keeps much more than twice this.
const MaxSize = 5 << 20

// maxLine is the longest line written, in bytes; the rest of a longer one is cut.
// It is what a reader of standard error passes on, with room for a prefix.
const maxLine = 128 << 10

// lockWait bounds the wait for another process that rotates the log, which takes
// it microseconds; one that was stopped meanwhile must not stop this one.
const lockWait = time.Second

// Writer appends lines to a log. It is safe for concurrent use.
type Writer struct {
	path string

	mu      sync.Mutex
	file    *os.File // nil when closed
	limit   int64    // the size at which to rotate
	failure error    // of the last write that failed
}

// Open opens the log at path for appending. It makes the file with mode 0600 and
// missing directories with 0700: servers log what they please, secrets included.
func Open(path string) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the log %s: %w", path, err)
	}
	file, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return &Writer{path: path, file: file, limit: MaxSize}, nil
}

func open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// Line appends one line; it adds the newline, and writes a space for a newline
// inside. A log that cannot be written must not stop the server that logs, so there
// is no error here: Close returns it.
func (w *Writer) Line(line []byte) {
	line = bytes.TrimRight(line, "\r\n")
	line = line[:min(len(line), maxLine)]
	whole := append(bytes.ReplaceAll(line, []byte("\n"), []byte(" ")), '\n') // ReplaceAll copies

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return
	}
	if info, err := w.file.Stat(); err == nil && info.Size() >= w.limit {
		w.rotate(info)
		if w.file == nil {
			return
		}
	}
	if _, err := w.file.Write(whole); err != nil {
		w.failure = err
	}
}

// rotate moves the full file away and opens a new one. When another process has
// done so already, it opens that process's new file.
func (w *Writer) rotate(full fs.FileInfo) {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := lockfile.Lock(ctx, w.path+".lock")
	if err != nil {
		w.postpone(err)
		return
	}
	defer unlock()
	w.file.Close() // Windows renames no open file
	w.limit = MaxSize
	if now, err := os.Stat(w.path); err == nil && os.SameFile(now, full) {
		if err := os.Rename(w.path, w.path+".1"); err != nil {
			w.postpone(err) // on Windows, another process has it open
		}
	}
	if w.file, err = open(w.path); err != nil {
		w.file, w.failure = nil, err
	}
}

// postpone lets the file grow a little before the next attempt, so that a rotation
// that cannot succeed is not tried for every line.
func (w *Writer) postpone(err error) {
	w.failure = err
	if info, err := os.Stat(w.path); err == nil {
		w.limit = max(w.limit, info.Size()) + MaxSize/10
	}
}

// Close closes the log. It returns what kept a line from being written or the file
// from being rotated, if anything did. Lines after it are dropped.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return w.failure
	}
	err := errors.Join(w.failure, w.file.Close())
	w.file, w.failure = nil, nil
	return err
}
