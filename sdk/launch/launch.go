package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/codec"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

const (
	defaultStartTimeout = 60 * time.Second // a cold disk, a virus scanner, a loaded CI machine
	defaultStopGrace    = 2 * time.Second  // the SDK gives an author's Close 1.5 s of it
	// backstop is what go-plugin's own start timeout exceeds ours by: it must
	// never be the one that ends a start, because it kills nothing.
	backstop = time.Minute
	// exitWait is how long a plugin that closed stdout without a handshake has
	// to exit by itself, so that its own exit status is reported, not our kill.
	exitWait = 500 * time.Millisecond
	// windowSize is the HTTP/2 flow-control window, in bytes: large results
	// travel in one go (research: 1 MiB in 1.5 ms instead of 1.9 ms).
	windowSize = 8 << 20
)

// Spec says how to start one adapter.
type Spec struct {
	Path string   // the plugin's file; it is never looked up on PATH
	Args []string // arguments after the name; adapters normally take none
	// Kind is what the plugin is to be: it is told, and leaves when it is something
	// else. Default Adapter.
	Kind Kind
	// Name is the server's name in mcp.toml. It selects the entry of Reattach.
	Name string
	// Env is the complete environment, apart from what go-plugin and collet's own
	// contract add. See ShortEnv. Nothing is inherited from the host.
	Env []string
	Dir string // working directory; default: the host's
	// StartTimeout bounds the time from spawning to a process that answers on its
	// socket. Default 60 s.
	StartTimeout time.Duration
	// StopGrace is what Stop gives the adapter to leave by itself. Default 2 s.
	StopGrace time.Duration
	// OnStderr is called with each line the process prints on stderr, or, after
	// the handshake, through the os.Stdout and os.Stderr that go-plugin gives it;
	// without newline, at most 64 KiB, valid during the call. The calls come one
	// at a time. A slow callback never slows the plugin: beyond 4 MiB of waiting
	// lines the rest is dropped, and a line says how many.
	OnStderr func(line []byte)
	// Reattach is the value of COLLET_REATTACH in the host's environment. When it
	// has an entry for Name, Start attaches to that running adapter instead of
	// starting one. For debugging only.
	Reattach string
}

// Start starts one adapter and returns when it answers on its socket that it
// serves (grpc.health.v1). ctx bounds the start alone; the process outlives it.
// The name of what a go-plugin binary serves is not on the wire: one that serves
// no Adapter answers the first call of it with the status Unimplemented.
//
// The error is a *failure.Failure: ConnectionRefused when the file cannot be
// started, exits, or is no adapter this host can speak to; Timeout after
// StartTimeout or ctx's deadline; Canceled when ctx was. Delivery is always
// NotSent. The message has the exit reason, what the plugin printed before the
// handshake, and the end of its stderr. No failure leaves a process behind.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	spec.StartTimeout = cmp.Or(spec.StartTimeout, defaultStartTimeout)
	spec.StopGrace = cmp.Or(spec.StopGrace, defaultStopGrace)
	reattach, err := reattachConfig(spec)
	if err != nil {
		return nil, failure.New(failure.ConnectionRefused, failure.NotSent, "%w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, spec.StartTimeout, errStartTimeout)
	defer cancel()
	if reattach != nil {
		return attach(ctx, spec, reattach)
	}
	dir, err := socketDirs.acquire()
	if err != nil {
		return nil, failure.New(failure.ConnectionRefused, failure.NotSent, "cannot start %s: %w", spec.Path, err)
	}
	out := newOutput(spec.OnStderr)
	r := &pluginRunner{hello: newHandshake(), out: out, cmd: command(spec)}
	config := clientConfig(spec.Kind, out, r.dial)
	config.StartTimeout = spec.StartTimeout + backstop
	config.AutoMTLS = runtime.GOOS == "windows" // loopback TCP there; a 0700 directory elsewhere (R9)
	config.UnixSocketConfig = &plugin.UnixSocketConfig{TempDir: dir}
	config.RunnerFunc = func(_ hclog.Logger, template *exec.Cmd, socketDir string) (runner.Runner, error) {
		r.accept(template, socketDir)
		return r, nil
	}
	p := &Process{spec: spec, out: out, runner: r, config: config, client: plugin.NewClient(config), done: make(chan struct{})}

	// go-plugin's start knows no context, so it runs beside us; killing the
	// process ends it.
	connected := make(chan error, 1)
	go func() { connected <- p.connect() }()
	select {
	case err = <-connected:
		if err == nil {
			err = p.probe(ctx)
		}
		if err != nil && r.hello.refusal() == nil {
			p.awaitOwnExit(ctx)
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
		r.kill()
		<-connected
	}
	if err != nil {
		return nil, p.abandon(ctx, err)
	}
	go p.watch()
	return p, nil
}

// errStartTimeout tells our own timeout from the caller's deadline.
var errStartTimeout = errors.New("start timeout")

func command(spec Spec) *exec.Cmd {
	return &exec.Cmd{Path: spec.Path, Args: append([]string{spec.Path}, spec.Args...), Env: append([]string{}, spec.Env...), Dir: spec.Dir}
}

// clientConfig is what every go-plugin client of ours has in common.
func clientConfig(kind Kind, out *output, dial dialer) *plugin.ClientConfig {
	printed := func() io.Writer { return &lineWriter{split: lines{emit: out.line}} }
	return &plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.ProtocolVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: kind.cookie(),
		},
		Plugins:          plugin.PluginSet{kind.pluginName(): connection{}},
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
		SkipHostEnv:      true,
		SyncStdout:       printed(),
		SyncStderr:       printed(),
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithContextDialer(dial),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage),
				grpc.ForceCodecV2(codec.New())),
			grpc.WithInitialWindowSize(windowSize),
			grpc.WithInitialConnWindowSize(windowSize),
			grpc.WithIdleTimeout(0), // an idle adapter stays connected
		},
	}
}

// probe waits for the first answer of the process. An address is no proof of one
// (its socket may be a stranger's), and a process may call itself unfit.
func (p *Process) probe(ctx context.Context) error {
	health, err := p.health(ctx)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == nil && health != grpc_health_v1.HealthCheckResponse_SERVING:
		return fmt.Errorf("it says of its own health: %s", health)
	}
	return err
}

// awaitOwnExit gives a plugin that failed a moment to say why by its exit.
func (p *Process) awaitOwnExit(ctx context.Context) {
	c := p.runner.started()
	if c == nil {
		return
	}
	timer := time.NewTimer(exitWait)
	defer timer.Stop()
	select {
	case <-c.exited.Done():
	case <-timer.C:
	case <-ctx.Done():
	}
}

// abandon ends everything a failed start has begun and words the failure.
func (p *Process) abandon(ctx context.Context, cause error) *failure.Failure {
	var exit string
	c := p.runner.started()
	if c != nil {
		if c.exited.Err() != nil {
			exit = c.reason()
		}
		p.runner.kill()
		<-c.exited.Done()
	}
	p.cleanUp()

	f := &failure.Failure{Class: failure.ConnectionRefused, Delivery: failure.NotSent, Origin: failure.OriginHost, Target: p.spec.Path, Err: cause}
	refusal := p.runner.hello.refusal()
	var what string
	switch {
	case errors.Is(cause, errStartTimeout):
		f.Class = failure.Timeout
		what = fmt.Sprintf("%s was not ready within %s; a larger start_timeout gives it more", p.spec.Path, p.spec.StartTimeout)
	case ctx.Err() != nil && errors.Is(cause, context.DeadlineExceeded):
		f.Class = failure.Timeout
		what = p.spec.Path + " was not ready when the caller's time was up"
	case ctx.Err() != nil:
		f.Class = failure.Canceled
		what = "starting " + p.spec.Path + " was canceled"
	case c == nil:
		what = fmt.Sprintf("cannot start %s: %s", p.spec.Path, cmp.Or(diagnose(p.spec.Path), cause.Error()))
	case refusal != nil:
		what = fmt.Sprintf("%s cannot be used: %v", p.spec.Path, refusal)
	case exit != "":
		what = fmt.Sprintf("%s exited before it was ready (%s)", p.spec.Path, exit)
		if why := diagnose(p.spec.Path); why != "" {
			what += ": " + why
		}
	case p.runner.address == "":
		what = p.spec.Path + " closed its stdout without a handshake"
	default:
		what = fmt.Sprintf("%s cannot be used: %v", p.spec.Path, statusText(cause))
	}
	f.Message = what + p.evidence()
	return f
}

// evidence is what the plugin printed, as the end of a sentence.
func (p *Process) evidence() string {
	var stdout strings.Builder
	if junk, n := p.runner.hello.junkLines(); n > 0 {
		fmt.Fprintf(&stdout, "; before the handshake it printed %d lines to stdout:", n)
		for _, line := range junk {
			fmt.Fprintf(&stdout, "\n  %s", line)
		}
	}
	return evidence(stdout.String(), p.out.tail())
}

// statusText is err without gRPC's "rpc error: code = ..." around it.
func statusText(err error) string {
	if s, ok := status.FromError(err); ok {
		return s.Message()
	}
	return err.Error()
}

// removeSockets removes the directory that go-plugin made for one process; it
// forgets it when the process could not be started.
func (r *pluginRunner) removeSockets() {
	if r.socketDir != "" {
		_ = os.RemoveAll(r.socketDir)
	}
}
