package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

const (
	// grace is what a script gets after its deadline to stop by itself, so that what
	// it has put out and its position are known; then it is killed.
	grace = 250 * time.Millisecond
	// maxFrame of a script's process: arguments of a call, or an output item, and
	// what is around them. A value has the size of output.
	maxFrame = 4 * (MaxArguments + MaxOutput)
)

// session is one script that runs.
type session struct {
	process *process
	script  *Script
	host    Host
	limits  Limits
	clock   *clock
	room    room

	ctx    context.Context // of calls
	cancel context.CancelFunc
	work   sync.WaitGroup
	over   chan struct{} // closed when nothing more comes from the process

	mu      sync.Mutex
	output  []Item
	console []Line
	bytes   int // of output and console
	calls   []CallRecord
	queue   []*pending
	running int
	unread  int // bytes of values that are being written to the process, or are about to be
	ending  *wire.Ending
	breach  error // what the process did that it must not
}

// pending is a call or a question that waits for its turn.
type pending struct {
	id    uint32
	call  int // index into calls; -1 is a question
	what  wire.Request
	ask   wire.Question
	bytes int
	leave func() // gives back the place of its result in the room, if that has one
}

func noPlace() {}

func newSession(p *process, s *Script, h Host) *session {
	return &session{process: p, script: s, host: h, limits: s.Limits.filled(), over: make(chan struct{})}
}

// run runs the script to its end, and ends its process.
func (s *session) run(ctx context.Context) Outcome {
	s.ctx, s.cancel = context.WithCancel(ctx)
	s.clock = newClock(s.limits.Timeout)
	var stopped *wire.Reason
	if err := s.process.limit(s.limits.Heap, s.limits.CPU); err != nil {
		stopped = &wire.Reason{Kind: string(KindSandbox), Message: err.Error()}
	} else {
		s.work.Go(func() { s.begin(s.ctx) })
		s.work.Go(s.read)
		stopped = s.wait(ctx)
	}
	s.clock.stop()
	s.cancel()
	s.process.end()
	s.work.Wait()
	out := s.outcome(stopped)
	return out
}

// begin sends the program.
func (s *session) begin(ctx context.Context) {
	now := s.script.Now
	if now.IsZero() {
		now = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	body, err := json.Marshal(&wire.Program{
		Source: s.script.Source, Args: s.script.Args, Servers: s.host.Servers(ctx), Stored: s.script.Store.all(),
		Seed: s.script.ID, Deterministic: s.script.Deterministic, Now: now.UnixMilli(),
		Heap: s.limits.Heap, MaxCalls: s.limits.Calls, MaxArguments: MaxArguments, MaxOutput: MaxOutput, MaxItems: MaxItems,
		MaxConsole: MaxConsole, MaxStored: MaxStored, MaxStoredAll: MaxStoredAll,
	})
	if err == nil {
		err = s.process.write(wire.Start, 0, body)
	}
	if err != nil {
		s.breached(fmt.Errorf("hand over the script: %w", err))
	}
}

// wait returns when the script has ended, by itself or because it had to. The reason
// is why it had to.
func (s *session) wait(ctx context.Context) *wire.Reason {
	var r wire.Reason
	select {
	case <-s.over:
		return nil
	case <-s.clock.over:
		r = wire.Reason{Kind: string(KindTimeout), Message: fmt.Sprintf("the script had not ended after %s", s.limits.Timeout)}
	case <-ctx.Done():
		r = wire.Reason{Kind: string(KindAborted), Message: "the script was given up"}
	}
	s.work.Go(func() {
		if body, err := json.Marshal(r); err == nil {
			_ = s.process.write(wire.Stop, 0, body) // it is killed soon if this does not reach it
		}
	})
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-s.over:
	case <-timer.C:
		s.process.kill()
	}
	return &r
}

// read takes what the process says until it ends.
func (s *session) read() {
	defer close(s.over)
	for {
		f, err := wire.Read(s.process.out, maxFrame)
		if err == nil {
			err = s.heard(f)
		}
		switch {
		case errors.Is(err, errDone):
			return
		case err != nil:
			s.breached(err)
			return
		}
	}
}

var errDone = errors.New("done")

func (s *session) breached(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.breach == nil {
		s.breach = err
	}
}

// heard is one frame of the process. The error ends it.
func (s *session) heard(f wire.Frame) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch f.Kind {
	case wire.Call:
		p := &pending{id: f.ID, call: len(s.calls), leave: noPlace}
		if err := json.Unmarshal(f.Body, &p.what); err != nil {
			return fmt.Errorf("read a call: %w", err)
		}
		if len(s.calls) == s.limits.Calls {
			return errors.New("it made more calls than are allowed")
		}
		p.bytes = len(p.what.Arguments)
		s.calls = append(s.calls, CallRecord{ID: len(s.calls) + 1, Tool: p.what.Server + "/" + p.what.Tool, Status: "running", ArgsBytes: p.bytes})
		s.enqueue(p)
	case wire.Ask:
		p := &pending{id: f.ID, call: -1, leave: noPlace}
		if err := json.Unmarshal(f.Body, &p.ask); err != nil {
			return fmt.Errorf("read a question: %w", err)
		}
		s.enqueue(p)
	case wire.Output:
		var item Item
		if err := json.Unmarshal(f.Body, &item); err != nil {
			return fmt.Errorf("read output: %w", err)
		}
		s.output = append(s.output, item)
		return s.kept(len(f.Body))
	case wire.Console:
		var line Line
		if err := json.Unmarshal(f.Body, &line); err != nil {
			return fmt.Errorf("read the console: %w", err)
		}
		s.console = append(s.console, line)
		return s.kept(len(f.Body))
	case wire.Done:
		var e wire.Ending
		if err := json.Unmarshal(f.Body, &e); err != nil {
			return fmt.Errorf("read how it ended: %w", err)
		}
		s.ending = &e
		return errDone
	default:
		return fmt.Errorf("it sent a frame of kind %d", f.Kind)
	}
	return nil
}

// kept counts what the process has the host keep; its own limits are lower.
func (s *session) kept(n int) error {
	if s.bytes += n + 32; s.bytes > maxFrame {
		return errors.New("it put out more than is allowed")
	}
	return nil
}

// outcome is what came of it all; nothing runs any more.
func (s *session) outcome(stopped *wire.Reason) Outcome {
	out := Outcome{Status: Failed, Output: s.output, Console: s.console, Calls: s.calls, CPU: s.process.cpu()}
	e := s.ending
	if e != nil {
		out.Dropped, out.Notices = e.Dropped, e.Notices
	}
	switch {
	case stopped != nil:
		out.Error = &Error{Kind: Kind(stopped.Kind), Message: stopped.Message}
		if e != nil && e.Error != nil && e.Error.Kind == stopped.Kind {
			out.Error = failure(e.Error)
		}
	case e == nil:
		out.Error = s.died()
	case e.Error != nil:
		out.Error = failure(e.Error)
	default:
		if err := s.script.Store.Keep(e.Stored); err != nil {
			out.Error = &Error{Kind: KindSandbox, Message: err.Error()}
			return out
		}
		out.Status, out.Value = Completed, e.Value
	}
	return out
}

func failure(f *wire.Fault) *Error {
	return &Error{Kind: Kind(f.Kind), Name: f.Name, Message: f.Message, Line: f.Line, Column: f.Column, Stack: f.Stack, Tool: f.Tool, Code: Code(f.Code)}
}

// died is why a process ended without a word.
func (s *session) died() *Error {
	switch {
	case s.process.cpu() >= s.limits.CPU:
		return &Error{Kind: KindTimeout, Message: fmt.Sprintf("the script used %s of processor time", s.limits.CPU)}
	case s.process.starved():
		return &Error{Kind: KindMemory, Message: "the script used up its memory"}
	}
	message := "the script's process ended by itself (" + s.process.cmd.ProcessState.String() + ")"
	if s.breach != nil && !errors.Is(s.breach, io.EOF) { // its end is what is told already
		message += ": " + s.breach.Error()
	}
	if first, _, _ := strings.Cut(s.process.stderr.String(), "\n"); first != "" {
		message += ": " + first
	}
	return &Error{Kind: KindSandbox, Message: message}
}

// Store keeps what scripts store, as JSON by key: at most MaxStoredAll bytes. The zero
// value is ready. It is safe for concurrent use; of scripts that run side by side and
// write the same key, the last to end wins.
type Store struct {
	mu     sync.Mutex
	values map[string]string
}

func (s *Store) all() map[string]string {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.values)
}

// Empty reports whether nothing is stored.
func (s *Store) Empty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values) == 0
}

// Keep takes over what a script wrote, JSON by key: all of it, or nothing. "" removes
// a key.
func (s *Store) Keep(written map[string]string) error {
	if s == nil || len(written) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := maps.Clone(s.values)
	if next == nil {
		next = map[string]string{}
	}
	size := 0
	for _, k := range slices.Sorted(maps.Keys(written)) {
		if written[k] == "" {
			delete(next, k)
		} else {
			next[k] = written[k]
		}
	}
	for k, v := range next {
		size += len(k) + len(v)
	}
	if size > 4*MaxStoredAll {
		return errors.New("what scripts stored is more than is allowed; none of this script's was kept")
	}
	s.values = next
	return nil
}
