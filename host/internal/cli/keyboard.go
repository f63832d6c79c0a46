package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/collet-dev/collet/host/internal/cli/terminal"
)

// keyboard is the person's, of which there is one: a script may call several tools at
// once, and their questions come one after the other.
type keyboard struct {
	streams *terminal.Streams
	spinner *terminal.Spinner // out of the way of questions; may be nil
	turn    chan struct{}     // holds one
	gone    bool              // nobody answers any more
}

func newKeyboard(s *terminal.Streams) *keyboard {
	return &keyboard{streams: s, turn: make(chan struct{}, 1)}
}

// there reports whether somebody sits in front of it and sees what they are asked.
func (k *keyboard) there() bool { return k.streams.InTerminal && k.streams.ErrTerminal }

// take waits for the turn of a question, which has the keyboard until done is called.
func (k *keyboard) take(ctx context.Context) (done func(), err error) {
	select {
	case k.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err = ctx.Err(); err == nil && k.gone {
		err = errors.New("the terminal has ended, or an earlier question was given up")
	}
	if err != nil {
		<-k.turn
		return nil, err
	}
	resume := k.spinner.Pause()
	return func() {
		resume()
		<-k.turn
	}, nil
}

// line asks for a line. It has to be the caller's turn.
func (k *keyboard) line(ctx context.Context, prompt string) (string, error) {
	line, ended, err := askLine(ctx, k.streams.In, k.streams.Err, prompt)
	if err == nil && !ended {
		fmt.Fprintln(k.streams.Err) // the end of a terminal's input is on the line of the question
	}
	if err != nil || !ended {
		k.gone = true // a read that was given up would take the next answer
		return "", errors.Join(err, errors.New("there was no answer"))
	}
	return line, nil
}
