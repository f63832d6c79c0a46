// Package terminal is what the CLI knows about the place it writes to: whether a
// person looks at it, how wide it is, and how text of strangers is made harmless
// there.
//
// It never decides what is printed.
package terminal

import (
	"context"
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
	}
	if s.OutTerminal {
		s.Width = 80
		if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && w > 0 {
			s.Width = w
		}
		s.Color = getenv("NO_COLOR") == "" && getenv("TERM") != "dumb"
	}
	return s
}

// Input returns a reader of In whose reads end with ctx, and which tells a person
// once that something has to be typed.
func (s *Streams) Input(ctx context.Context) io.Reader { return &input{ctx: ctx, streams: s} }

type input struct {
	ctx     context.Context
	streams *Streams
	told    bool
}

func (r *input) Read(p []byte) (int, error) {
	if r.streams.InTerminal && !r.told {
		r.told = true
		r.streams.Note("collet: reading from the terminal; Ctrl-D on a line of its own ends the text")
	}
	type answer struct {
		n   int
		err error
	}
	done := make(chan answer, 1)
	buffer := make([]byte, len(p))
	// A read of a terminal or a pipe cannot be called off: after Ctrl-C it is left
	// to end with the process.
	go func() {
		n, err := r.streams.In.Read(buffer)
		done <- answer{n, err}
	}()
	select {
	case a := <-done:
		copy(p, buffer[:a.n])
		return a.n, a.err
	case <-r.ctx.Done():
		return 0, r.ctx.Err()
	}
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

// Bold returns text as a heading on Out.
func (s *Streams) Bold(text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[1m" + text + "\x1b[0m"
}

// pipeWriter ends quietly when its reader has gone.
type pipeWriter struct {
	mu     sync.Mutex
	w      io.Writer
	closed bool
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
	return n, err
}
