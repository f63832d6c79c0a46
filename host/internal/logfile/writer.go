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
	"github.com/collet-dev/collet/host/internal/sharedfile"
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
	closed  bool
	file    *os.File    // nil when it could not be opened again
	is      fs.FileInfo // which file that is
	size    int64       // the size at which to rotate
	limit   int64       // the same, but for a rotation that has been put off
	failure error       // of the last write that failed
	torn    bool        // a write failed: the file may end in a part of a line
}

// Open opens the log at path for appending. It makes the file with mode 0600 and
// missing directories with 0700: servers log what they please, secrets included.
func Open(path string) (*Writer, error) { return OpenSized(path, MaxSize) }

// OpenSized is Open for a log that is rotated at size bytes.
func OpenSized(path string, size int64) (*Writer, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of the log %s: %w", path, err)
	}
	file, is, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the log: %w", err)
	}
	return &Writer{path: path, file: file, is: is, size: size, limit: size}, nil
}

func open(path string) (*os.File, fs.FileInfo, error) {
	file, err := sharedfile.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	is, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, is, nil
}

// Line appends one line; it adds the newline, and writes a space for a newline
// inside. The error says that the line is lost. A log that cannot be written must
// not stop the server that logs: who has nobody to tell leaves it to Close.
func (w *Writer) Line(line []byte) error {
	line = bytes.TrimRight(line, "\r\n")
	line = line[:min(len(line), maxLine)]
	whole := append(bytes.ReplaceAll(line, []byte("\n"), []byte(" ")), '\n') // ReplaceAll copies

	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return fs.ErrClosed
	}
	if err := w.ready(); err != nil {
		w.failure = err
		return err
	}
	if w.torn {
		whole = append([]byte{'\n'}, whole...)
	}
	_, err := w.file.Write(whole)
	if w.torn = err != nil; w.torn {
		w.failure = err
	}
	return err
}

// ready sees to it that the file at path is the one that is open, and has room. It
// is another when somebody removed it or moved it away, as a process does that
// rotates.
func (w *Writer) ready() error {
	now, err := os.Stat(w.path)
	switch {
	case w.file == nil || err != nil || !os.SameFile(now, w.is):
		return w.reopen()
	case now.Size() >= w.limit:
		return w.rotate(now)
	}
	return nil
}

func (w *Writer) reopen() error {
	if w.file != nil {
		w.file.Close() // what was lost with it has been said
	}
	w.limit, w.torn = w.size, false
	var err error
	w.file, w.is, err = open(w.path)
	return err
}

// rotate moves the full file away and opens a new one. When another process has
// done so already, it opens that process's new file.
func (w *Writer) rotate(full fs.FileInfo) error {
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	unlock, err := lockfile.Lock(ctx, w.path+".lock")
	if err != nil {
		w.postpone(err)
		return nil
	}
	defer unlock()
	w.file.Close() // Windows renames no open file
	w.file = nil
	var failed error
	if now, err := os.Stat(w.path); err == nil && os.SameFile(now, full) {
		failed = sharedfile.Rename(os.Rename, w.path, w.path+".1")
	}
	err = w.reopen()
	if failed != nil {
		w.postpone(failed) // on Windows, another process has it open
	}
	return err
}

// postpone lets the file grow a little before the next attempt, so that a rotation
// that cannot succeed is not tried for every line.
func (w *Writer) postpone(err error) {
	w.failure = err
	if info, err := os.Stat(w.path); err == nil {
		w.limit = max(w.limit, info.Size()) + w.size/10
	}
}

// Close closes the log. It returns what kept a line from being written or the file
// from being rotated, if anything did. Lines after it are dropped.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.failure
	if w.file != nil {
		err = errors.Join(err, w.file.Close())
	}
	w.closed, w.file, w.failure = true, nil, nil
	return err
}
