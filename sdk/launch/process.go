package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
)

const (
	// shutdownMethod is go-plugin's request to leave. Its message types are empty
	// and internal to go-plugin.
	shutdownMethod = "/plugin.GRPCController/Shutdown"
	// killWait bounds how long Stop waits for a killed process to be gone: the
	// sweep's second and the log's, and one more for a loaded machine.
	killWait = 3 * time.Second
	// disconnectWait bounds how long the end of a process waits for running calls
	// to fail by the broken connection before it is closed under them.
	disconnectWait = 250 * time.Millisecond
)

type dialer = func(context.Context, string) (net.Conn, error)

// Process is one running adapter. All methods are safe for concurrent use.
type Process struct {
	spec   Spec
	out    *output
	config *plugin.ClientConfig
	client *plugin.Client
	runner *pluginRunner // nil when reattached
	detach func()        // set when reattached

	conn    *grpc.ClientConn
	broker  *plugin.GRPCBroker
	adapter adapterpb.AdapterClient
	hook    hookpb.HookClient

	mu        sync.Mutex
	servers   []*grpc.Server // of service Host
	ended     bool
	serving   sync.WaitGroup
	requested atomic.Bool
	done      chan struct{}
	exit      Exit // final once done is closed
}

// Exit says how a process ended.
type Exit struct {
	Reason    string   // as the system words it: "signal: killed", "exit status 2"
	Requested bool     // Stop or Kill was called before
	Tail      []string // the last lines of its stderr, at most 64
}

// connection lets go-plugin hand out the connection it made.
type connection struct{ plugin.NetRPCUnsupportedPlugin }

type dispensed struct {
	conn   *grpc.ClientConn
	broker *plugin.GRPCBroker
}

func (connection) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host serves no plugin")
}

func (connection) GRPCClient(_ context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return dispensed{conn, broker}, nil
}

// connect starts the plugin, or attaches to it, and connects.
func (p *Process) connect() error {
	protocol, err := p.client.Client()
	if err != nil {
		return err
	}
	raw, err := protocol.Dispense(p.spec.Kind.pluginName())
	if err != nil {
		return err
	}
	d := raw.(dispensed)
	p.conn, p.broker = d.conn, d.broker
	p.adapter, p.hook = adapterpb.NewAdapterClient(d.conn), hookpb.NewHookClient(d.conn)
	return nil
}

// watch owns the end of the process.
func (p *Process) watch() {
	c := p.runner.started()
	<-c.exited.Done()
	p.exit.Reason = c.reason()
	p.exit.Requested = p.requested.Load()
	p.exit.Tail = p.out.tail()
	p.awaitDisconnect()
	p.cleanUp()
	close(p.done)
}

// awaitDisconnect lets the connection notice that its other end is gone.
// Otherwise closing it would be the first thing running calls hear of, and they
// would read as canceled.
func (p *Process) awaitDisconnect() {
	ctx, cancel := context.WithTimeout(context.Background(), disconnectWait)
	defer cancel()
	for state := p.conn.GetState(); state == connectivity.Ready && p.conn.WaitForStateChange(ctx, state); {
		state = p.conn.GetState()
	}
}

// cleanUp gives back what a process that has ended, or never was, still holds.
func (p *Process) cleanUp() {
	p.stopServers()
	// With the process gone go-plugin's Kill only waits for its own goroutines
	// and closes the connection.
	p.client.Kill()
	p.runner.removeSockets()
	socketDirs.release()
	p.out.close()
}

// Adapter returns the client of the process's Adapter service. Once the process
// has ended its calls fail with Unavailable or Canceled; Done tells.
func (p *Process) Adapter() adapterpb.AdapterClient { return p.adapter }

// Hook returns the client of the process's Hook service; for a process of kind
// Hook what Adapter is for one of kind Adapter.
func (p *Process) Hook() hookpb.HookClient { return p.hook }

// Done is closed when the process has ended and nothing of its session is left.
// Running calls have failed by then.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit says how the process ended. It is the zero Exit before Done.
func (p *Process) Exit() Exit {
	select {
	case <-p.done:
		return p.exit
	default:
		return Exit{}
	}
}

// Tail returns the last lines of stderr so far, at most 64, oldest first.
func (p *Process) Tail() []string { return p.out.tail() }

// Pid returns the process id, which is also the id of the session it leads.
func (p *Process) Pid() int {
	if p.runner == nil {
		return p.config.Reattach.Pid
	}
	return p.runner.started().cmd.Process.Pid
}

// Healthy asks the process over grpc.health.v1 whether it serves. ctx should have
// a deadline: a stopped process does not answer. The error is a *failure.Failure.
func (p *Process) Healthy(ctx context.Context) error {
	health, err := p.health(ctx)
	switch {
	case err == nil && health == grpc_health_v1.HealthCheckResponse_SERVING:
		return nil
	case err == nil:
		return failure.New(failure.ConnectionRefused, failure.NotSent, "the adapter process says of its own health: %s", health)
	case status.Code(err) == codes.DeadlineExceeded:
		return failure.New(failure.Timeout, failure.NotSent, "the adapter process did not answer a health check in time: %w", err)
	case ctx.Err() != nil:
		return failure.New(failure.Canceled, failure.NotSent, "the health check was canceled: %w", err)
	default:
		return failure.New(failure.ConnectionRefused, failure.NotSent, "the health check of the adapter process failed: %w", err)
	}
}

// health is what the process says of itself. go-plugin's server answers for every
// plugin.
func (p *Process) health(ctx context.Context) (grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	reply, err := grpc_health_v1.NewHealthClient(p.conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	return reply.GetStatus(), err
}

// Stop asks the process to leave, gives it StopGrace, or until ctx is done, and
// then kills its whole session. It returns when nothing is left, at the latest a
// few seconds after the grace; the error then says that the kernel did not let
// go of the process. Stopping a process that has ended, or twice, is no error.
func (p *Process) Stop(ctx context.Context) error {
	p.requested.Store(true)
	if p.detach != nil {
		p.detach()
		<-p.done
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.spec.StopGrace)
	defer cancel()
	// The answer means nothing: the server it comes from is already closed.
	var asking sync.WaitGroup
	asking.Go(func() { _ = p.conn.Invoke(ctx, shutdownMethod, &emptypb.Empty{}, &emptypb.Empty{}) })
	defer asking.Wait()
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
	}
	p.Kill()
	timer := time.NewTimer(killWait)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		return fmt.Errorf("adapter process %d was killed %s ago and is still there", p.Pid(), killWait)
	}
}

// Kill kills the whole session at once and does not wait; Done tells when it is
// gone. A debugged process that Start attached to is only let go of.
func (p *Process) Kill() {
	p.requested.Store(true)
	if p.detach != nil {
		p.detach()
		return
	}
	p.runner.kill()
}
