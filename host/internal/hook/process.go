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
	// pause is how long the reason of a failed start stands before it is tried again:
	// every call waits for its hooks.
	pause = 2 * time.Second
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
// again when it has ended.
type process struct {
	set  *config.Hook
	env  *Surroundings
	turn chan struct{} // holds an element while somebody starts it

	mu      sync.Mutex
	desc    *describe.Description
	running *launch.Process
	failed  error
	when    time.Time // of failed
	stopped bool
	using   sync.WaitGroup
	logs    sync.WaitGroup // of processes that have not ended
}

func newProcess(h *config.Hook, env *Surroundings) *process {
	return &process{set: h, env: env, turn: make(chan struct{}, 1)}
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
	if desc, u, err, ok := p.current(); ok {
		return desc, u, err
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	if desc, u, err, ok := p.current(); ok {
		return desc, u, err
	}
	// Others wait for this start too: it is not given up with the one who needs it first.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	desc, proc, err := p.start(ctx)
	p.mu.Lock()
	stopped := p.stopped
	p.desc, p.running, p.failed, p.when = desc, proc, err, time.Now()
	p.mu.Unlock()
	if stopped && proc != nil {
		stop(proc)
		return nil, nil, errStopped
	}
	desc, u, err, ok := p.current()
	if !ok {
		err = fmt.Errorf("it ended right after its start (%s)", proc.Exit().Reason)
	}
	return desc, u, err
}

// current is the state that counts, if one does.
func (p *process) current() (*describe.Description, *use, error, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.stopped:
		return nil, nil, errStopped, true
	case p.failed != nil && time.Since(p.when) < pause:
		return nil, nil, p.failed, true
	case p.running == nil:
		return nil, nil, nil, false
	}
	select {
	case <-p.running.Done():
		return nil, nil, nil, false
	default:
	}
	p.using.Add(1)
	return p.desc, &use{p.running.Hook(), p.running, sync.OnceFunc(p.using.Done)}, nil, true
}

// wants reports whether the hook is asked at a point. It starts nothing: what a
// binary says of itself is kept.
func (p *process) wants(ctx context.Context, point string) (bool, error) {
	p.mu.Lock()
	desc, failed := p.desc, p.failed
	if time.Since(p.when) >= pause {
		failed = nil
	}
	p.mu.Unlock()
	if desc == nil && failed != nil {
		return false, failed
	}
	if desc == nil {
		var err error
		if _, _, desc, err = p.describe(ctx); err != nil {
			if ctx.Err() == nil { // a file that cannot say what it is takes its time to show that
				p.mu.Lock()
				p.failed, p.when = err, time.Now()
				p.mu.Unlock()
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
