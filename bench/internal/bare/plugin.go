// Package bare holds the floors: what a call costs with go-plugin alone, and
// with an MCP server's pipes alone. Nothing of collet is in it but the generated
// contract, so that it stays the floor whatever collet does.
package bare

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

// Handshake is shared by the bare plugin and its host.
var Handshake = plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "COLLET_BENCH", MagicCookieValue: "bare"}

const (
	maxMessage = 65 << 20 // as in the contract
	// window is collet's own flow-control window: without it the floor of large
	// results would be easier to reach.
	window = 8 << 20
)

// ServerOptions are those of the bare plugin.
func ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage),
		grpc.InitialWindowSize(window), grpc.InitialConnWindowSize(window),
	}
}

// Plugin is a running bareplugin.
type Plugin struct {
	client  *plugin.Client
	adapter adapterpb.AdapterClient
}

// StartPlugin starts the bareplugin at path.
func StartPlugin(path string) (*Plugin, error) {
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig:  Handshake,
		Plugins:          plugin.PluginSet{"adapter": dispenser{}},
		Cmd:              exec.Command(path),
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
			grpc.WithInitialWindowSize(window), grpc.WithInitialConnWindowSize(window),
		},
	})
	protocol, err := client.Client()
	if err != nil {
		client.Kill()
		return nil, fmt.Errorf("start the bare plugin: %w", err)
	}
	adapter, err := protocol.Dispense("adapter")
	if err != nil {
		client.Kill()
		return nil, fmt.Errorf("connect to the bare plugin: %w", err)
	}
	return &Plugin{client: client, adapter: adapter.(adapterpb.AdapterClient)}, nil
}

// Call makes one server-streaming call, to the end of its stream.
func (p *Plugin) Call(ctx context.Context, tool string, arguments []byte) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := p.adapter.CallTool(ctx, &adapterpb.CallToolRequest{Tool: tool, Arguments: arguments, CallId: "0123456789abcdef"})
	if err != nil {
		return nil, err
	}
	ev, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	if _, err := stream.Recv(); err == nil {
		return nil, errors.New("a second event")
	}
	return ev.GetResult().GetResult(), nil
}

// Close ends the plugin.
func (p *Plugin) Close() { p.client.Kill() }

type dispenser struct{ plugin.NetRPCUnsupportedPlugin }

func (dispenser) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error {
	return errors.New("a host is no plugin")
}

func (dispenser) GRPCClient(_ context.Context, _ *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return adapterpb.NewAdapterClient(conn), nil
}
