// Package audit keeps a record of who called what, and how it went: one JSON line
// in a file for each call, each request that is passed on and each HTTP request that
// was denied. Several processes may write the same file.
//
// It knows neither results nor credentials, and arguments only when it was told to
// keep them. It never fails a call: a line that cannot be written is counted, said
// once, and the next line that can be says how many are missing.
package audit

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/collet-dev/collet/host/internal/logfile"
)

const (
	// maxSize is the size in bytes at which the file becomes PATH.1: months of a
	// person's calls, days of a busy server's.
	maxSize = 64 << 20
	// openAgain is how long a file that cannot be opened is left alone: calls must not
	// wait for it each time.
	openAgain = 5 * time.Second
	// Strangers can be denied as often as they like. Ten lines at once and one in ten
	// seconds say that it happens, and do not push the calls out of the file.
	denialsBurst = 10
	denialPace   = 10 * time.Second
)

// Options configure a Log.
type Options struct {
	Path      string       // of the file; missing directories are made
	Arguments bool         // records have arguments
	Log       *slog.Logger // is told when the file cannot be written; default: discarded
}

// Log writes records. Its methods may be called from any goroutine.
type Log struct {
	opt     Options
	denials *rate.Limiter

	mu      sync.Mutex
	closed  bool
	file    *logfile.Writer // nil until the first record, and when it cannot be opened
	next    time.Time       // no attempt to open it before
	failing bool            // it has been said
	lost    int             // lines since the last one that was written
	total   int64           // lines that were lost
	leftOut int             // denials since the last one that was written
}

// New returns a log. The file is made with the first record.
func New(opt Options) *Log {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Log{opt: opt, denials: rate.NewLimiter(rate.Every(denialPace), denialsBurst)}
}

// Write adds one line. Of many denials not every one gets a line.
func (l *Log) Write(r *Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if r.Kind == Denial && !l.denials.Allow() {
		l.leftOut++
		return
	}
	if err := l.write(r); err != nil {
		l.lost++
		l.total++
		if !l.failing {
			l.failing = true
			l.opt.Log.Error("audit records are being lost", "file", l.opt.Path, "error", err)
		}
		return
	}
	if l.failing {
		l.failing = false
		l.opt.Log.Error("audit records are being written again", "file", l.opt.Path, "lost", l.lost)
	}
	l.lost = 0
	if r.Kind == Denial {
		l.leftOut = 0
	}
}

func (l *Log) write(r *Record) error {
	if l.closed {
		return os.ErrClosed
	}
	if l.file == nil {
		if now := time.Now(); now.Before(l.next) {
			return errLeftAlone
		} else if err := l.open(); err != nil {
			l.next = now.Add(openAgain)
			return err
		}
	}
	leftOut := 0
	if r.Kind == Denial {
		leftOut = l.leftOut
	}
	return l.file.Line(r.line(l.opt.Arguments, l.lost, leftOut))
}

var errLeftAlone = errors.New("the file could not be opened a moment ago")

// open opens the file. Opening a pipe or a device could wait, or worse.
func (l *Log) open() error {
	if info, err := os.Stat(l.opt.Path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no regular file", l.opt.Path)
	}
	file, err := logfile.OpenSized(l.opt.Path, maxSize)
	if err != nil {
		return err
	}
	l.file = file
	return nil
}

// Lost is how many lines could not be written.
func (l *Log) Lost() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.total
}

// Close closes the file. Records after it are lost.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
