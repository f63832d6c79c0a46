package launch

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync"

	plugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc/connectivity"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// reattachEntry is one value of the JSON object in COLLET_REATTACH, in the
// spelling that other go-plugin programs print too.
type reattachEntry struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            struct{ Network, String string }
}

// reattachConfig returns the entry of spec.Reattach for this server, or nil.
func reattachConfig(spec Spec) (*plugin.ReattachConfig, error) {
	if spec.Reattach == "" {
		return nil, nil
	}
	var entries map[string]reattachEntry
	if err := json.Unmarshal([]byte(spec.Reattach), &entries); err != nil {
		return nil, fmt.Errorf("reading %s: it must be the JSON object that an adapter prints under -debug: %w", wire.ReattachEnv, err)
	}
	entry, ok := entries[spec.Name]
	if !ok {
		return nil, nil
	}
	if entry.ProtocolVersion != wire.ProtocolVersion || entry.Protocol != string(plugin.ProtocolGRPC) {
		return nil, fmt.Errorf("%s: the adapter under %q speaks %s version %d, this host grpc version %d",
			wire.ReattachEnv, spec.Name, entry.Protocol, entry.ProtocolVersion, wire.ProtocolVersion)
	}
	var addr net.Addr
	var err error
	switch entry.Addr.Network {
	case "unix":
		addr, err = net.ResolveUnixAddr("unix", entry.Addr.String)
	case "tcp":
		addr, err = net.ResolveTCPAddr("tcp", entry.Addr.String)
	default:
		err = fmt.Errorf("unknown network %q", entry.Addr.Network)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the address under %q: %w", wire.ReattachEnv, spec.Name, err)
	}
	return &plugin.ReattachConfig{Protocol: plugin.ProtocolGRPC, ProtocolVersion: entry.ProtocolVersion, Addr: addr, Pid: entry.Pid, Test: true}, nil
}

// attached is go-plugin's view of a process that somebody else started. It ends
// when we let go of it.
type attached struct {
	pid  int
	left <-chan struct{}
}

func (a attached) Wait(context.Context) error { <-a.left; return nil }
func (a attached) Kill(context.Context) error { return nil }
func (a attached) ID() string                 { return strconv.Itoa(a.pid) }
func (a attached) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}
func (a attached) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// attach connects to a running adapter. Its stderr, its life and its end are the
// business of the debugger it runs under.
func attach(ctx context.Context, spec Spec, config *plugin.ReattachConfig) (*Process, error) {
	left := make(chan struct{})
	config.ReattachFunc = func() (runner.AttachedRunner, error) { return attached{config.Pid, left}, nil }
	out := newOutput(spec.OnStderr)
	client := clientConfig(spec.Kind, out, func(ctx context.Context, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, config.Addr.Network(), config.Addr.String())
	})
	client.Reattach = config
	p := &Process{spec: spec, out: out, config: client, client: plugin.NewClient(client), done: make(chan struct{})}
	p.detach = sync.OnceFunc(func() { close(left) })
	err := p.connect()
	if err == nil {
		err = p.probe(ctx)
	}
	if err != nil {
		p.detach()
		if p.conn != nil {
			_ = p.conn.Close()
		}
		out.close()
		f := failure.New(failure.ConnectionRefused, failure.NotSent, "cannot attach to the adapter at %s that %s names: %s", config.Addr, wire.ReattachEnv, statusText(err))
		f.Target = config.Addr.String()
		return nil, f
	}
	// gRPC serves calls a moment before it calls the connection ready; the end of
	// the attachment is told by the end of that state.
	for state := p.conn.GetState(); state != connectivity.Ready && p.conn.WaitForStateChange(ctx, state); {
		state = p.conn.GetState()
	}
	go p.watchAttached(left)
	return p, nil
}

// watchAttached owns the end of an attachment: we let go, or the other side did.
func (p *Process) watchAttached(left <-chan struct{}) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		select {
		case <-left:
			cancel()
		case <-ctx.Done():
		}
	}()
	p.conn.WaitForStateChange(ctx, connectivity.Ready)
	cancel()
	<-stop
	p.exit = Exit{Reason: "the adapter under debug closed the connection", Requested: p.requested.Load(), Tail: p.out.tail()}
	if p.exit.Requested {
		p.exit.Reason = "let go of the adapter under debug"
	}
	p.detach()
	p.stopServers()
	_ = p.conn.Close()
	p.out.close()
	close(p.done)
}
