package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/child"
	"github.com/collet-dev/collet/sdk/internal/codec"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

const (
	// closeGrace bounds the author's Close. The host kills the process 2 s after
	// it asked for a stop (sdk/launch), so this leaves time to exit by itself.
	closeGrace = 1500 * time.Millisecond

	// window is the HTTP/2 flow-control window of a stream and of a connection.
	// The default of 64 KiB makes large results wait for acknowledgements: 1 MiB
	// takes a quarter longer.
	window = 8 << 20

	// streamWorkers is how many goroutines stay for calls. A new one for each call
	// spends a tenth of the call's time growing its stack. More calls than
	// workers get new ones as before.
	streamWorkers = 16
)

// serve answers the host until it ends this process, or is gone.
func (p *program) serve(out *os.File) {
	child.OutliveHost()
	svc := newService(p, slog.Default())
	svc.claimOutput = sync.OnceFunc(child.ClaimOutput)
	svc.rest = newRest(freeMemory)
	child.HoldLease(svc.log, svc.close)
	// go-plugin writes the handshake to os.Stdout and then points it at a pipe.
	os.Stdout = out
	plugin.Serve(p.serveConfig(svc))
	svc.close()
}

// debug serves a host that is told of this process by an environment variable,
// until a person interrupts it.
func (p *program) debug() int {
	svc := newService(p, slog.Default())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	attach := make(chan *plugin.ReattachConfig, 1)
	ended := make(chan struct{})
	cfg := p.serveConfig(svc)
	cfg.Test = &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: attach, CloseCh: ended}
	go plugin.Serve(cfg)
	select {
	case at := <-attach:
		line, err := reattachLine(p.info.Name, at)
		if err != nil {
			fmt.Fprintf(child.Stderr, "collet-plugin-%s: -debug: %v\n", p.info.Name, err)
			return 1
		}
		fmt.Fprintf(child.Stderr, "Serving. Set this where the host starts, with the server's name from mcp.toml if it is another; interrupt to stop:\n\n\t%s\n\n", line)
	case <-ended: // it could not listen, and has logged why
		return 1
	}
	<-ended
	svc.close()
	return 0
}

// reattach is one entry of the environment variable wire.ReattachEnv.
type reattach struct {
	Protocol        string
	ProtocolVersion int
	Pid             int
	Test            bool
	Addr            struct{ Network, String string }
}

// reattachLine is the variable's assignment, quoted for a POSIX shell.
func reattachLine(name string, at *plugin.ReattachConfig) (string, error) {
	r := reattach{Protocol: string(at.Protocol), ProtocolVersion: at.ProtocolVersion, Pid: at.Pid, Test: at.Test}
	r.Addr.Network, r.Addr.String = at.Addr.Network(), at.Addr.String()
	raw, err := json.Marshal(map[string]reattach{name: r})
	if err != nil {
		return "", err
	}
	return wire.ReattachEnv + "='" + string(raw) + "'", nil
}

func (p *program) serveConfig(svc *service) *plugin.ServeConfig {
	return &plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion:  wire.ProtocolVersion,
			MagicCookieKey:   wire.CookieKey,
			MagicCookieValue: wire.CookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{
			wire.ProtocolVersion: {wire.PluginName: &grpcPlugin{svc: svc}},
		},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, svc.serverOptions()...)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{
			Name: p.info.Name, Level: hclog.Warn, Output: child.Stderr, JSONFormat: true,
		}),
	}
}

// serverOptions are the limits of the contract and the recovery of panics.
func (s *service) serverOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.MaxMessage),
		grpc.MaxSendMsgSize(wire.MaxMessage),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(window),
		grpc.NumStreamWorkers(streamWorkers),
		grpc.ForceServerCodecV2(codec.New()),
		grpc.UnaryInterceptor(s.recoverUnary),
		grpc.StreamInterceptor(s.recoverStream),
	}
}

// grpcPlugin registers the service with go-plugin.
type grpcPlugin struct {
	plugin.NetRPCUnsupportedPlugin
	svc *service
}

func (g *grpcPlugin) GRPCServer(broker *plugin.GRPCBroker, server *grpc.Server) error {
	g.svc.dial = func(id uint32) (*grpc.ClientConn, error) {
		return broker.DialWithOptions(id,
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)),
			grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window))
	}
	adapterpb.RegisterAdapterServer(server, g.svc)
	return nil
}

// GRPCClient is the host's side, which is not here.
func (g *grpcPlugin) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("package adapter serves plugins; a host uses sdk/launch")
}
