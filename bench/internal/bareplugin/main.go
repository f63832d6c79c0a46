// Command bareplugin is the floor of a call between processes: go-plugin and the
// generated contract, and nothing of the SDK. It answers CallTool from memory
// with what the echo server would answer, and implements no other method.
package main

import (
	"context"
	"errors"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"github.com/tidwall/gjson"
	"google.golang.org/grpc"

	"github.com/collet-dev/collet/bench/internal/bare"
	"github.com/collet-dev/collet/bench/internal/load"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
)

func main() {
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: bare.Handshake,
		Plugins:         plugin.PluginSet{"adapter": adapter{}},
		Logger:          hclog.NewNullLogger(),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts, bare.ServerOptions()...)...)
		},
	})
}

type adapter struct{ plugin.NetRPCUnsupportedPlugin }

func (adapter) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	adapterpb.RegisterAdapterServer(s, service{})
	return nil
}

func (adapter) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("a plugin is no host")
}

type service struct {
	adapterpb.UnimplementedAdapterServer
}

// CallTool implements the contract's server-streaming call with one event.
func (service) CallTool(req *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) error {
	var result []byte
	if req.GetTool() == "blob" {
		result = load.Result(int(gjson.GetBytes(req.GetArguments(), "bytes").Int()))
	} else {
		result = append(result, `{"content":[{"type":"text","text":`...)
		result = append(result, gjson.GetBytes(req.GetArguments(), "text").Raw...)
		result = append(result, `}]}`...)
	}
	return stream.Send(&adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{
		Result: &adapterpb.CallToolResult{Result: result},
	}})
}
