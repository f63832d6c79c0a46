package mcp

import (
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// Command says how to start a server.
type Command struct {
	// Path is the executable. Without a slash it is looked up on the PATH of Env,
	// not on this process's own; a relative path with one is relative to Dir.
	Path string
	Args []string // without the command itself
	Env  []string // the complete environment, "K=V" each; nil is empty, not inherited
	Dir  string   // working directory; "" is this process's own
}

const (
	// endWait is how long the rest of an end is awaited once its first sign is
	// there, in order to name it and to miss nothing: what the process wrote is in
	// its pipes already and its status is there at once, but a grandchild may hold
	// the pipes open, and the process may live on, for good.
	endWait = 500 * time.Millisecond
	// killWait bounds the wait for a process that was sent SIGKILL: only one stuck
	// in the kernel takes longer, and nothing can be done about that.
	killWait = 2 * time.Second
)

// process is one child process with its three pipes. run owns every goroutine
// and ends when the process, its group and the pipes are gone.
type process struct {
	name    string
	cmd     *exec.Cmd
	group   group
	log     *slog.Logger
	grace   time.Duration
	stdout  *os.File
	stderr  *os.File
	writer  *writer
	lines   *tail
	decoder *decoder
	onEnd   func(*failure.Failure) // called once, before cleaning up

	stdoutDone chan struct{}
	stderrDone chan struct{}
	exited     chan struct{} // state is set
	state      string        // "exit status 2"
	broken     chan error    // capacity 1: why the connection is of no use any more
	stop       chan struct{} // closed by close
	hurry      chan struct{} // closed when a close has no time left for graces
	stopOnce   sync.Once
	hurryOnce  sync.Once
	gone       chan struct{} // everything has ended
}

// startProcess starts cmd. The caller sets decoder and onEnd, then calls run in
// a goroutine.
func startProcess(cmd Command, opt Options) (*process, *failure.Failure) {
	path, f := lookPath(cmd)
	if f != nil {
		return nil, f
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, cannotStart(cmd, err)
	}
	p := &process{
		name:       cmd.Path,
		cmd:        &exec.Cmd{Path: path, Args: append([]string{cmd.Path}, cmd.Args...), Dir: cmd.Dir, Env: cmd.Env},
		log:        opt.Log,
		grace:      opt.StopGrace,
		stdout:     pipes.stdoutR,
		stderr:     pipes.stderrR,
		lines:      newTail(opt.OnStderr),
		stdoutDone: make(chan struct{}),
		stderrDone: make(chan struct{}),
		exited:     make(chan struct{}),
		broken:     make(chan error, 1),
		stop:       make(chan struct{}),
		hurry:      make(chan struct{}),
		gone:       make(chan struct{}),
	}
	if p.cmd.Env == nil {
		p.cmd.Env = []string{}
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = pipes.stdinR, pipes.stdoutW, pipes.stderrW
	p.writer = newWriter(pipes.stdinW, func(err error) { p.fail(fmt.Errorf("cannot write to it: %w", err)) })
	prepare(p.cmd)
	err = p.cmd.Start()
	pipes.closeChildEnds()
	if err != nil {
		pipes.closeOwnEnds()
		return nil, cannotStart(cmd, err)
	}
	p.group = newGroup(p.cmd)
	return p, nil
}

func cannotStart(cmd Command, err error) *failure.Failure {
	// The system says "no such file" of the command when it is the directory that
	// is missing.
	if info, statErr := os.Stat(cmd.Dir); cmd.Dir != "" && (statErr != nil || !info.IsDir()) {
		return failure.New(failure.ConnectionRefused, failure.NotSent, "cannot start %q: its working directory %s is not there; see cwd", cmd.Path, cmd.Dir)
	}
	return failure.New(failure.ConnectionRefused, failure.NotSent, "cannot start %q: %w", cmd.Path, err)
}

// fail reports that the connection is of no use any more.
func (p *process) fail(err error) {
	select {
	case p.broken <- err:
	default:
	}
}

// run serves the process until it ends or is closed, then stops what is left of
// it and returns when nothing is.
func (p *process) run() {
	var wg sync.WaitGroup
	wg.Go(p.writer.run)
	wg.Go(func() {
		defer close(p.stdoutDone)
		p.read()
	})
	wg.Go(func() {
		defer close(p.stderrDone)
		p.lines.read(p.stderr)
	})
	wg.Go(func() {
		defer close(p.exited)
		_ = p.cmd.Wait() // ProcessState says more
		p.state = p.cmd.ProcessState.String()
	})

	p.onEnd(p.awaitEnd())
	p.terminate()
	p.group.release()
	p.stdout.Close()
	p.stderr.Close()
	wg.Wait()
	close(p.gone)
}

// read feeds the decoder until stdout ends.
func (p *process) read() {
	r := newLineReader(p.stdout, wire.MaxLine)
	for {
		l, err := r.next()
		if err != nil {
			p.decoder.cut()
			return
		}
		if err := p.decoder.line(l); err != nil {
			p.fail(err)
			return
		}
	}
}

// awaitEnd waits for the first sign of the end and says what it was.
func (p *process) awaitEnd() *failure.Failure {
	var why error
	select {
	case <-p.stop:
		return failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "the connection to the server was closed")
	case why = <-p.broken:
	case <-p.stdoutDone:
	case <-p.exited:
	}
	enough := time.NewTimer(endWait)
	defer enough.Stop()
	for _, part := range []chan struct{}{p.exited, p.stdoutDone, p.stderrDone} {
		select {
		case <-part:
		case <-enough.C:
			enough.Reset(0) // for the others, too
		}
	}
	select {
	case why = <-p.broken: // it explains an end of stdout
	default:
	}
	select {
	case <-p.exited:
		if why == nil || isBrokenPipe(why) {
			return p.endFailure("the server process ended: " + p.state)
		}
	default:
	}
	if why == nil {
		return p.endFailure("the server closed its standard output")
	}
	f := p.endFailure(why.Error())
	f.Err = why
	return f
}

func (p *process) endFailure(message string) *failure.Failure {
	f := failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "%s%s", message, p.lines.lastWords())
	f.Origin = failure.OriginUpstream
	return f
}

// terminate asks the process to leave, with more and more emphasis, and then
// the rest of its group.
func (p *process) terminate() {
	p.writer.close()
	steps := []func(){p.group.terminate, p.group.kill}
	limits := []time.Duration{p.grace, p.grace, killWait}
	for i, limit := range limits {
		if i > 0 {
			steps[i-1]()
		}
		if p.waitExit(limit, i < 2) {
			break
		}
	}
	// The leader has left; others of its group may not have. They get the same
	// chance to leave by themselves.
	if p.group.alive() {
		p.group.terminate()
		p.waitGroup(p.grace)
		p.group.kill()
	}
}

// waitExit waits for the exit of the leader, at most limit, and less when a
// close is in a hurry.
func (p *process) waitExit(limit time.Duration, hurried bool) bool {
	hurry := p.hurry
	if !hurried {
		hurry = nil
	}
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
	case <-hurry:
	}
	return false
}

// waitGroup waits until the group is empty, which no event tells.
func (p *process) waitGroup(limit time.Duration) {
	deadline := time.NewTimer(limit)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for p.group.alive() {
		select {
		case <-deadline.C:
			return
		case <-p.hurry:
			return
		case <-tick.C:
		}
	}
}

// close asks run to end; hasten cuts its graces short.
func (p *process) close()  { p.stopOnce.Do(func() { close(p.stop) }) }
func (p *process) hasten() { p.hurryOnce.Do(func() { close(p.hurry) }) }

// pipes are the six ends of a child's standard streams. They are files, not
// exec's own pipes, so that waiting for the process never closes an end that is
// still being read, and never waits for a grandchild that holds one.
type pipes struct {
	stdinR, stdinW, stdoutR, stdoutW, stderrR, stderrW *os.File
}

func newPipes() (p pipes, err error) {
	if p.stdinR, p.stdinW, err = os.Pipe(); err != nil {
		return p, err
	}
	if p.stdoutR, p.stdoutW, err = os.Pipe(); err == nil {
		p.stderrR, p.stderrW, err = os.Pipe()
	}
	if err != nil {
		p.closeChildEnds()
		p.closeOwnEnds()
	}
	return p, err
}

func (p pipes) closeChildEnds() { closeAll(p.stdinR, p.stdoutW, p.stderrW) }
func (p pipes) closeOwnEnds()   { closeAll(p.stdinW, p.stdoutR, p.stderrR) }

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}

// hasSlash says whether path names a place rather than something on PATH.
func hasSlash(path string) bool {
	return strings.ContainsRune(path, '/') || strings.ContainsRune(path, os.PathSeparator)
}
