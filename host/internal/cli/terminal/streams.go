// Package terminal is what the CLI knows about the place it writes to: whether a
// person looks at it, how wide it is, and how text of strangers is made harmless
// there.
//
// It never decides what is printed.
package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Streams are a command's three streams and what is known about them.
type Streams struct {
	In  io.Reader
	Out io.Writer // results only
	Err io.Writer // everything else

	InTerminal, OutTerminal, ErrTerminal bool
	// Width is the number of columns of Out, 0 when nobody looks at it.
	Width int
	// Color allows styles on Out.
	Color bool

	dumb bool                                  // the terminal cannot wipe what was written
	size func() (width, height int, err error) // of Out, now; nil when nobody looks at it
}

// System returns the process's own streams. Out swallows what is written after
// its reader has gone away: a closed pipe is no error of the command. getenv
// tells NO_COLOR and TERM.
func System(getenv func(string) string) *Streams {
	s := &Streams{
		In:          os.Stdin,
		Out:         &pipeWriter{w: os.Stdout},
		Err:         os.Stderr,
		InTerminal:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		dumb:        getenv("TERM") == "dumb",
	}
	if s.OutTerminal {
		s.Width = 80
		s.size = func() (int, int, error) { return term.GetSize(int(os.Stdout.Fd())) }
		if w, _, err := s.size(); err == nil && w > 0 {
			s.Width = w
		}
		s.Color = getenv("NO_COLOR") == "" && !s.dumb
	}
	return s
}

// Input returns a reader of In that tells a person, once, that something has to be
// typed.
func (s *Streams) Input() io.Reader { return &input{streams: s} }

type input struct {
	streams *Streams
	told    bool
}

func (r *input) Read(p []byte) (int, error) {
	if r.streams.InTerminal && !r.told {
		r.told = true
		r.streams.Note("collet: reading from the terminal; Ctrl-D on a line of its own ends the text")
	}
	return r.streams.In.Read(p)
}

// Text returns s as it may be shown on Out: unchanged, unless a person looks.
func (s *Streams) Text(text string) string {
	if s.OutTerminal {
		return Escape(text)
	}
	return text
}

// Note writes one line to Err, made harmless when a person looks.
func (s *Streams) Note(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if s.ErrTerminal {
		line = Escape(line)
	}
	fmt.Fprintln(s.Err, line)
}

// Lost is the first error of a write to the process's own stdout, nil when all
// that was written has gone out, or into a pipe that nobody reads any more.
func (s *Streams) Lost() error {
	if p, ok := s.Out.(*pipeWriter); ok {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.lost
	}
	return nil
}

// Direct is what Out writes to, for whoever copes with a reader that goes away: the
// file, if it is one, which can be written to without waiting.
func (s *Streams) Direct() io.Writer {
	if p, ok := s.Out.(*pipeWriter); ok {
		return p.w
	}
	return s.Out
}

// Unread reports whether nobody reads Out any more. A terminal is always read.
func (s *Streams) Unread() bool {
	p, ok := s.Out.(*pipeWriter)
	if !ok || s.OutTerminal {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = p.closed || unread(p.w)
	return p.closed
}

// ReaderGone says whether a write failed because nobody reads any more.
func ReaderGone(err error) bool { return err != nil && isClosedPipe(err) }

// Bold returns text as a heading on Out.
func (s *Streams) Bold(text string) string {
	if !s.Color {
		return text
	}
	return boldBegin + text + boldEnd
}

const (
	boldBegin = "\x1b[1m"
	boldEnd   = "\x1b[0m"
)

// pipeWriter ends quietly when its reader has gone.
type pipeWriter struct {
	mu     sync.Mutex
	w      io.Writer
	closed bool
	lost   error // the first error of w
}

func (p *pipeWriter) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return len(b), nil
	}
	n, err := p.w.Write(b)
	if err != nil && isClosedPipe(err) {
		p.closed = true
		return len(b), nil
	}
	p.lost = cmp.Or(p.lost, err)
	return n, err
}
