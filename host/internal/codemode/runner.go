package codemode

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// processes run at once, at most.
	processes = 4
	// queueWait is how long a script waits for one of them to be free.
	queueWait = 60 * time.Second
)

// ErrBusy is the error of a script that never began because others did not end.
var ErrBusy = errors.New("too many scripts are running; try again when one of them has ended")

// ErrClosed is the error of a script that came after Close.
var ErrClosed = errors.New("the host is closing")

// Runner runs scripts. All methods are safe for concurrent use.
type Runner struct {
	command []string
	turns   *turns

	mu     sync.Mutex
	keep   bool // one process is kept ready
	spare  *spare
	closed bool
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// spare is a process that was started before it is needed.
type spare struct {
	done    chan struct{}
	process *process
	err     error
}

// New returns a runner whose processes are made by that command, a program that
// calls child.Main with its arguments; without one, this program with ChildArgument.
// It starts nothing yet.
func New(command ...string) *Runner {
	r := &Runner{command: command, turns: newTurns(processes)}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	return r
}

// Prepare starts a process for the next script and waits until it is ready. From then
// on one is kept ready, which is for hosts that run scripts again and again.
func (r *Runner) Prepare(ctx context.Context) error {
	r.mu.Lock()
	r.keep = true
	r.mu.Unlock()
	s := r.warm()
	if s == nil {
		return nil
	}
	select {
	case <-s.done:
		return s.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// warm is the process for the next script; nil when none is kept.
func (r *Runner) warm() *spare {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.keep || r.closed {
		return nil
	}
	if r.spare == nil {
		s := &spare{done: make(chan struct{})}
		r.spare = s
		r.work.Go(func() {
			s.process, s.err = r.start(r.ctx)
			close(s.done)
		})
	}
	return r.spare
}

func (r *Runner) start(ctx context.Context) (*process, error) {
	command := r.command
	if len(command) == 0 {
		path, err := self()
		if err != nil {
			return nil, fmt.Errorf("find this program, to start it for a script: %w", err)
		}
		command = []string{path, ChildArgument}
	}
	return spawn(ctx, command)
}

// take is a process for a script.
func (r *Runner) take(ctx context.Context) (*process, error) {
	r.mu.Lock()
	s := r.spare
	r.spare = nil
	r.mu.Unlock()
	if s != nil {
		<-s.done // bounded by readyWait
		if s.err == nil && !s.process.gone() {
			return s.process, nil
		}
		if s.process != nil {
			s.process.end()
		}
	}
	return r.start(ctx)
}

// Close ends what is running and waits for it.
func (r *Runner) Close() {
	r.mu.Lock()
	r.closed = true
	s := r.spare
	r.spare = nil
	r.mu.Unlock()
	r.cancel()
	r.work.Wait()
	if s != nil && s.process != nil {
		s.process.end()
	}
}

// Run runs a script to its end. What the script ran into is in the Outcome; the error
// is that it did not run at all: ErrBusy, ErrClosed, or a process that cannot be
// started.
func (r *Runner) Run(ctx context.Context, s Script, h Host) (Outcome, error) {
	begun := time.Now()
	if len(s.Source) > MaxSource {
		return refused(KindSyntax, fmt.Sprintf("the script has %d bytes, at most %d are allowed", len(s.Source), MaxSource)), nil
	}
	if len(s.Args) > MaxArguments {
		return refused(KindScript, fmt.Sprintf("the script's arguments have %d bytes, at most %d are allowed", len(s.Args), MaxArguments)), nil
	}
	if s.ID == "" {
		s.ID = rand.Text()
	}
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return Outcome{}, ErrClosed
	}
	r.work.Add(1)
	r.mu.Unlock()
	defer r.work.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	if !r.turns.take(ctx, s.Owner, queueWait) {
		if ctx.Err() == nil {
			return Outcome{}, ErrBusy
		}
		return refused(KindAborted, "the script was given up before it began"), nil
	}
	defer r.turns.give(s.Owner)
	p, err := r.take(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return refused(KindAborted, "the script was given up before it began"), nil
		}
		return Outcome{}, err
	}
	defer r.warm()
	out := newSession(p, &s, h).run(ctx)
	out.Duration = time.Since(begun)
	return out, nil
}

func refused(k Kind, message string) Outcome {
	return Outcome{Status: Failed, Error: &Error{Kind: k, Message: message}}
}
