package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/restart"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
	"github.com/collet-dev/collet/sdk/launch"
)

const (
	// startTimeout bounds a start, from the file to the answer to Configure. A hook
	// has no upstream to wait for.
	startTimeout = 10 * time.Second
	// patience is the longest pause between an end and the next start that a call waits
	// for. Longer ones are told at once: every call waits for its hooks.
	patience = time.Second
	// endWait is how long the end of a connection waits for the end of the process
	// behind it: the next call is for a new process then.
	endWait = 5 * time.Second
	// stopWait bounds a stop; launch's own steps are shorter.
	stopWait = 10 * time.Second
	// drainWait is what requests under way have when their hook is to stop. None may
	// take longer than the longest timeout of an entry.
	drainWait = 60 * time.Second
)

// process is the process of one hook. It is started when it is first needed, and
// again when it has ended, at the pace at which servers are.
type process struct {
	set  *config.Hook
	env  *Surroundings
	turn chan struct{} // holds an element while somebody starts it

	mu      sync.Mutex
	desc    *describe.Description
	running *launch.Process // nil when it has ended
	since   time.Time       // when that came up
	failed  error           // why none runs
	started bool            // failed is how a process ended that had started
	pacing  restart.Pacing
	stopped bool
	leave   chan struct{} // closed with stopped
	using   sync.WaitGroup
	logs    sync.WaitGroup // of processes that have not ended
}

func newProcess(h *config.Hook, env *Surroundings) *process {
	return &process{set: h, env: env, turn: make(chan struct{}, 1), leave: make(chan struct{})}
}

// use is one request's hold on the process.
type use struct {
	client hookpb.HookClient
	proc   *launch.Process
	done   func()
}

var errStopped = errors.New("the configuration has it no more")

// ready returns the running process, started if need be. Done of the use must follow.
func (p *process) ready(ctx context.Context) (*describe.Description, *use, error) {
	if desc, u, _, err := p.current(); u != nil || err != nil {
		return desc, u, err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	for {
		desc, u, wait, err := p.current()
		if u != nil || err != nil {
			return desc, u, err
		}
		if wait == 0 {
			break
		}
		if err := p.sleep(ctx, wait); err != nil {
			return nil, nil, err
		}
	}
	// Others wait for this start too: it is not given up with the one who needs it first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	desc, proc, err := p.start(ctx)
	if err != nil {
		p.broke(err)
		return nil, nil, err
	}
	p.mu.Lock()
	stopped := p.stopped
	p.desc, p.running, p.since, p.failed = desc, proc, time.Now(), nil
	p.mu.Unlock()
	if stopped {
		stop(proc)
		return nil, nil, errStopped
	}
	p.logs.Go(func() {
		<-proc.Done()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.endedLocked(proc)
	})
	desc, u, _, err := p.current()
	if u == nil && err == nil {
		err = fmt.Errorf("it ended right after its start (%s)", proc.Exit().Reason)
	}
	return desc, u, err
}

// current is the process to use, or why there is none. With neither it has to be
// started, after wait.
func (p *process) current() (_ *describe.Description, _ *use, wait time.Duration, _ error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return nil, nil, 0, errStopped
	}
	if p.running != nil {
		select {
		case <-p.running.Done():
			p.endedLocked(p.running)
		default:
			p.using.Add(1)
			return p.desc, &use{p.running.Hook(), p.running, sync.OnceFunc(p.using.Done)}, 0, nil
		}
	}
	if wait = p.pacing.Wait(time.Now()); wait > patience || wait > 0 && !p.started {
		return nil, nil, 0, p.postponedLocked()
	}
	return nil, nil, wait, nil
}

// endedLocked takes note that a process has ended, once.
func (p *process) endedLocked(proc *launch.Process) {
	if p.running != proc || p.stopped {
		return
	}
	now := time.Now()
	p.pacing.Served(now.Sub(p.since))
	p.pacing.Ended(now)
	p.running, p.started = nil, true
	p.failed = fmt.Errorf("its process ended (%s)", proc.Exit().Reason)
}

// broke takes note that the hook could not be started. Several who notice that at once
// are one.
func (p *process) broke(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); p.pacing.Wait(now) == 0 {
		p.pacing.Ended(now)
		p.failed, p.started = err, false
	}
}

// postponedLocked is why there is no process, and when it is tried again.
func (p *process) postponedLocked() error {
	return fmt.Errorf("%w; %s", p.failed, p.pacing.Postponed(time.Now()))
}

// sleep waits out a pause.
func (p *process) sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-p.leave:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
}

// wants reports whether the hook is asked at a point. It starts nothing: what a
// binary says of itself is kept.
func (p *process) wants(ctx context.Context, point string) (bool, error) {
	p.mu.Lock()
	desc := p.desc
	if desc == nil && p.pacing.Wait(time.Now()) > 0 {
		defer p.mu.Unlock()
		return false, p.postponedLocked()
	}
	p.mu.Unlock()
	if desc == nil {
		var err error
		if _, _, desc, err = p.describe(ctx); err != nil {
			if ctx.Err() == nil { // a file that cannot say what it is takes its time to show that
				p.broke(err)
			}
			return false, err
		}
	}
	return slices.Contains(desc.Features, point), nil
}

// describe finds the hook's file and asks what it is. Of the entry only the plugin's
// path is resolved for that: no !command runs for a file that is not there.
func (p *process) describe(ctx context.Context) (path string, swapped func() error, desc *describe.Description, err error) {
	only := config.Hook{Name: p.set.Name, File: p.set.File, Line: p.set.Line, Dir: p.set.Dir, Plugin: p.set.Plugin}
	res, err := only.Resolve(ctx, p.env.Resolver)
	if err != nil {
		return "", nil, nil, err
	}
	if path, err = p.env.Find(res.Plugin, p.set.Dir); err != nil {
		return "", nil, nil, err
	}
	if p.env.Admit != nil {
		if path, swapped, err = p.env.Admit(ctx, p.set, path); err != nil {
			return "", nil, nil, err
		}
	}
	if desc, err = p.env.Describe(ctx, path, launch.ShortEnv(p.env.Environ)); err != nil {
		return "", nil, nil, err
	}
	if desc.Kind != "hook" {
		return "", nil, nil, fmt.Errorf("%s offers tools and is no hook: name it under [servers]", path)
	}
	return path, swapped, desc, nil
}

// start takes a hook from its entry to its answer to Configure.
func (p *process) start(ctx context.Context) (*describe.Description, *launch.Process, error) {
	path, swapped, desc, err := p.describe(ctx)
	if err != nil {
		return nil, nil, err
	}
	if p.env.Foreseen != nil {
		p.env.Foreseen(p.set) // a command that fails is quoted
	}
	res, err := p.set.Resolve(ctx, p.env.Resolver)
	if err != nil {
		return nil, nil, err
	}
	conf := []byte(res.Config)
	if len(conf) == 0 {
		conf = []byte("{}")
	}
	if len(desc.ConfigSchema) > 0 {
		if problems := schema.Compile(desc.ConfigSchema).Validate(conf); len(problems) > 0 {
			return nil, nil, fmt.Errorf("its config does not fit: %s %s", problems[0].Path, problems[0].Message)
		}
	}
	env := launch.ShortEnv(p.env.Environ, desc.Environment...)
	for k, v := range res.Env {
		env = append(env, k+"="+v)
	}
	slices.Sort(env)
	if p.env.Resolved != nil {
		p.env.Resolved(res, desc)
	}
	line, end := func([]byte) {}, func() {}
	if p.env.Stderr != nil {
		line, end = p.env.Stderr(p.set)
	}
	proc, err := launch.Start(ctx, launch.Spec{
		Path: path, Kind: launch.Hook, Name: p.set.Name, Env: env, Dir: p.set.Dir, StartTimeout: startTimeout, OnStderr: line,
	})
	if err != nil {
		end()
		return nil, nil, err
	}
	p.logs.Go(func() { <-proc.Done(); end() })
	if swapped != nil {
		if err := swapped(); err != nil {
			stop(proc)
			return nil, nil, err
		}
	}
	if _, err := proc.Hook().Configure(ctx, &hookpb.ConfigureRequest{Name: p.set.Name, Config: conf, HostVersion: p.env.Version}); err != nil {
		u := &use{proc: proc}
		err = u.explain(ctx, err)
		stop(proc)
		return nil, nil, err
	}
	return desc, proc, nil
}

// explain is what a failed request, made under ctx, means.
func (u *use) explain(ctx context.Context, err error) error {
	if f := failure.FromStatus(err); f != nil {
		return errors.New(f.Message)
	}
	// Of a process that has ended the connection tells first, as one of both codes.
	if code := status.Code(err); ctx.Err() == nil && (code == codes.Unavailable || code == codes.Canceled) {
		timer := time.NewTimer(endWait)
		defer timer.Stop()
		select {
		case <-u.proc.Done():
			return fmt.Errorf("its process ended (%s)", u.proc.Exit().Reason)
		case <-timer.C:
		}
	}
	return errors.New(status.Convert(err).Message())
}

// stop ends the process for good, when the requests under way are done, or drain is
// over.
func (p *process) stop(drain time.Duration) {
	p.mu.Lock()
	p.stopped = true
	close(p.leave)
	p.mu.Unlock()
	idle := make(chan struct{})
	go func() { p.using.Wait(); close(idle) }()
	timer := time.NewTimer(drain)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
	p.turn <- struct{}{} // a start under way stops what it started
	<-p.turn
	p.mu.Lock()
	proc := p.running
	p.mu.Unlock()
	if proc != nil {
		stop(proc)
	}
	p.logs.Wait()
}

func stop(proc *launch.Process) {
	ctx, cancel := context.WithTimeout(context.Background(), stopWait)
	defer cancel()
	_ = proc.Stop(ctx) // what the kernel does not let go of is not ours to mend
}
