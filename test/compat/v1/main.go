// Command collet-plugin-compat is a plugin from the time of the first contract: it
// is written by hand against the code that was generated from it then, without the
// SDK, and announces nothing that came later. It is not to be brought up to date:
// hosts have to go on working with it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/test/compat/v1/adapterpb"
)

const about = `{"name":"compat","version":"1.0.0","summary":"A plugin of the first contract.","configSchema":{"type":"object","properties":{"word":{"type":"string"}}}}`

func main() {
	if len(os.Args) > 1 && os.Args[1] == "describe" {
		fmt.Println(about)
		return
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: 1, MagicCookieKey: "COLLET_PLUGIN", MagicCookieValue: "adapter.v1"},
		Plugins:         plugin.PluginSet{"adapter": served{}},
		GRPCServer:      plugin.DefaultGRPCServer,
	})
}

type served struct{ plugin.NetRPCUnsupportedPlugin }

func (served) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	adapterpb.RegisterAdapterServer(s, &adapter{})
	return nil
}

func (served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, nil
}

type adapter struct {
	adapterpb.UnimplementedAdapterServer
	word string
}

func (*adapter) Describe(context.Context, *adapterpb.DescribeRequest) (*adapterpb.DescribeResponse, error) {
	return &adapterpb.DescribeResponse{
		Name: "compat", Version: "1.0.0", Summary: "A plugin of the first contract.",
		ConfigSchema: []byte(`{"type":"object","properties":{"word":{"type":"string"}}}`),
	}, nil
}

func (a *adapter) Configure(_ context.Context, r *adapterpb.ConfigureRequest) (*adapterpb.ConfigureResponse, error) {
	var config struct {
		Word string `json:"word"`
	}
	if err := json.Unmarshal(r.GetConfig(), &config); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	a.word = config.Word
	return &adapterpb.ConfigureResponse{}, nil
}

func (*adapter) Watch(_ *adapterpb.WatchRequest, stream grpc.ServerStreamingServer[adapterpb.WatchEvent]) error {
	snapshot := &adapterpb.Snapshot{Health: &adapterpb.Health{State: adapterpb.Health_STATE_READY}, ToolsRevision: "1"}
	if err := stream.Send(&adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_Snapshot{Snapshot: snapshot}}); err != nil {
		return err
	}
	<-stream.Context().Done()
	return nil
}

func (*adapter) ListTools(context.Context, *adapterpb.ListToolsRequest) (*adapterpb.ListToolsResponse, error) {
	var tools []*adapterpb.Tool
	for _, name := range []string{"count", "fail", "said", "wait"} {
		tools = append(tools, &adapterpb.Tool{
			Name:       name,
			Definition: []byte(`{"name":"` + name + `","description":"of the first contract","inputSchema":{"type":"object"}}`),
		})
	}
	return &adapterpb.ListToolsResponse{Tools: tools, Revision: "1"}, nil
}

func (a *adapter) CallTool(r *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) error {
	switch r.GetTool() {
	case "said": // the word of the settings, and the arguments as they came
		return result(stream, fmt.Sprintf(`{"content":[{"type":"text","text":%q}],"structuredContent":%s}`, a.word, r.GetArguments()))
	case "count": // progress first
		for i := range 3 {
			if err := progress(stream, i+1); err != nil {
				return err
			}
		}
		return result(stream, `{"content":[]}`)
	case "wait": // until it is canceled
		if err := progress(stream, 1); err != nil {
			return err
		}
		<-stream.Context().Done()
		fmt.Fprintln(os.Stderr, "the call was canceled")
		return stream.Context().Err()
	case "fail":
		s, err := status.New(codes.ResourceExhausted, "slow down").WithDetails(&adapterpb.Failure{
			Class: adapterpb.FailureClass_FAILURE_CLASS_RATE_LIMITED, Delivery: adapterpb.Delivery_DELIVERY_ANSWERED, Message: "slow down",
		})
		if err != nil {
			return err
		}
		return s.Err()
	}
	return status.Error(codes.NotFound, "no such tool")
}

func progress(stream grpc.ServerStreamingServer[adapterpb.CallToolEvent], done int) error {
	return stream.Send(&adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Progress{
		Progress: &adapterpb.Progress{Done: float64(done), Total: 3, Message: fmt.Sprint("step ", done)},
	}})
}

func result(stream grpc.ServerStreamingServer[adapterpb.CallToolEvent], json string) error {
	return stream.Send(&adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{
		Result: &adapterpb.CallToolResult{Result: []byte(json)},
	}})
}
