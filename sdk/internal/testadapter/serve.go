package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// grpcDefault is what a gRPC server receives at most when nobody raises it.
const grpcDefault = 4 << 20

func serve(modes faults) {
	if !modes.has("nolease") && !modes.has("readstdin") {
		go watchLease()
	}
	s := &served{modes: modes}
	version := wire.ProtocolVersion
	if v, ok := modes.get("version"); ok {
		version = number(v)
	}
	name := wire.PluginName
	if modes.has("proper") {
		properStart(modes)
	}
	if modes.has("otherservice") {
		name = "kitchen"
	}
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: uint(version), MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins:         plugin.PluginSet{name: s},
		Logger:          hclog.NewNullLogger(),
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			receive, send := wire.MaxMessage, maxSend()
			if modes.has("smallrecv") {
				receive = grpcDefault
			}
			if modes.has("smallsend") {
				send = grpcDefault
			}
			if modes.has("hugelist") {
				send = 2 * wire.MaxMessage
			}
			return grpc.NewServer(append(opts, grpc.MaxRecvMsgSize(receive), grpc.MaxSendMsgSize(send), grpc.UnaryInterceptor(s.answer))...)
		},
	})
	if modes.has("noshutdown") {
		time.Sleep(forever)
	}
	if d, ok := modes.get("slowclose"); ok {
		time.Sleep(duration(d))
	}
	fmt.Fprintln(realStderr, "closed")
}

// served is the plugin and its Adapter service.
type served struct {
	plugin.NetRPCUnsupportedPlugin
	adapterpb.UnimplementedAdapterServer
	modes  faults
	broker *plugin.GRPCBroker
	calls  atomic.Int64
	after  sync.Once

	mu   sync.Mutex
	host adapterpb.HostClient
}

func (s *served) GRPCServer(broker *plugin.GRPCBroker, server *grpc.Server) error {
	s.broker = broker
	switch {
	case s.modes.has("proper"):
		adapterpb.RegisterAdapterServer(server, &proper{modes: s.modes})
	case !s.modes.has("otherservice"):
		adapterpb.RegisterAdapterServer(server, s)
	}
	return nil
}

func (s *served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("no client here")
}

// answer is what every unary call passes: the first one has shaken hands.
func (s *served) answer(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	first := false
	s.after.Do(func() {
		first = true
		for _, m := range s.modes {
			if run, ok := afterHandshake[m.name]; ok {
				go run(m.value)
			}
			if m.name == "stopself" {
				time.AfterFunc(50*time.Millisecond, stopSelf)
			}
		}
	})
	if _, ok := req.(*grpc_health_v1.HealthCheckRequest); ok && (s.modes.has("unhealthy") || s.modes.has("sickens") && !first) {
		return &grpc_health_v1.HealthCheckResponse{Status: grpc_health_v1.HealthCheckResponse_NOT_SERVING}, nil
	}
	return next(ctx, req)
}

func (s *served) Describe(context.Context, *adapterpb.DescribeRequest) (*adapterpb.DescribeResponse, error) {
	return &adapterpb.DescribeResponse{Name: "test", Version: "1.2.3", Summary: "Misbehaves on demand."}, nil
}

func (s *served) Configure(ctx context.Context, req *adapterpb.ConfigureRequest) (*adapterpb.ConfigureResponse, error) {
	if s.modes.has("configurehang") {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if req.GetHostService() != 0 {
		conn, err := s.broker.DialWithOptions(req.GetHostService(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(wire.MaxMessage), grpc.MaxCallSendMsgSize(wire.MaxMessage)))
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		s.host = adapterpb.NewHostClient(conn)
		s.mu.Unlock()
	}
	return &adapterpb.ConfigureResponse{}, nil
}

func (s *served) Watch(_ *adapterpb.WatchRequest, stream grpc.ServerStreamingServer[adapterpb.WatchEvent]) error {
	if !s.modes.has("watchsilent") {
		snapshot := &adapterpb.Snapshot{Health: &adapterpb.Health{State: adapterpb.Health_STATE_READY}, ToolsRevision: "1"}
		if err := stream.Send(&adapterpb.WatchEvent{Event: &adapterpb.WatchEvent_Snapshot{Snapshot: snapshot}}); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return nil
}

func (s *served) ListTools(context.Context, *adapterpb.ListToolsRequest) (*adapterpb.ListToolsResponse, error) {
	reply := &adapterpb.ListToolsResponse{Revision: "1"}
	guarded, _ := s.modes.get("asks")
	for name := range tools {
		definition, _ := json.Marshal(map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
		reply.Tools = append(reply.Tools, &adapterpb.Tool{Name: name, Definition: definition, AsksConsent: name == guarded})
	}
	if n, ok := s.modes.get("hugelist"); ok {
		definition := fmt.Appendf(nil, `{"name":"huge","description":"%s","inputSchema":{"type":"object"}}`, strings.Repeat("h", number(n)))
		reply.Tools = append(reply.Tools, &adapterpb.Tool{Name: "huge", Definition: definition})
	}
	slices.SortFunc(reply.Tools, func(a, b *adapterpb.Tool) int { return strings.Compare(a.GetName(), b.GetName()) })
	return reply, nil
}

func (s *served) CallTool(req *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) error {
	s.calls.Add(1)
	tool, ok := tools[req.GetTool()]
	if !ok {
		return status.Errorf(codes.NotFound, "no tool %q", req.GetTool())
	}
	result, err := tool(s, req, stream)
	if err != nil {
		return err
	}
	failed := req.GetTool() == "isError"
	return stream.Send(&adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Result{Result: &adapterpb.CallToolResult{Result: result, IsError: failed}}})
}

type call = func(*served, *adapterpb.CallToolRequest, grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error)

// tools are the tools by name; each returns a whole MCP result object.
var tools = map[string]call{
	"echo": func(_ *served, req *adapterpb.CallToolRequest, _ grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		return fmt.Appendf(nil, `{"content":[],"structuredContent":%s}`, req.GetArguments()), nil
	},
	"hang": func(_ *served, _ *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		if err := stream.Send(progress(0)); err != nil { // tells the caller that the call runs
			return nil, err
		}
		<-stream.Context().Done()
		return nil, stream.Context().Err()
	},
	"exit": func(*served, *adapterpb.CallToolRequest, grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		fmt.Fprintln(realStderr, "exiting on purpose")
		os.Exit(7)
		return nil, nil
	},
	"kill": func(*served, *adapterpb.CallToolRequest, grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		fmt.Fprintln(realStderr, "killing myself")
		killSelf()
		select {}
	},
	"panic": func(*served, *adapterpb.CallToolRequest, grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		go panic("panicking on purpose")
		select {}
	},
	"stop": func(*served, *adapterpb.CallToolRequest, grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		stopSelf()
		// Other threads run on for some microseconds; the answer must not be among
		// what they do.
		time.Sleep(100 * time.Millisecond)
		return text("stopped")
	},
	"big": func(_ *served, req *adapterpb.CallToolRequest, _ grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		n, err := size(req)
		if err != nil {
			return nil, err
		}
		return text(strings.Repeat("b", n))
	},
	"count": func(s *served, _ *adapterpb.CallToolRequest, _ grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		return text(fmt.Sprint(s.calls.Load()))
	},
	"environ": func(*served, *adapterpb.CallToolRequest, grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		var names []string
		for _, entry := range os.Environ() {
			name, _, _ := strings.Cut(entry, "=")
			names = append(names, name)
		}
		slices.Sort(names)
		return text(strings.Join(names, " "))
	},
	"progress": func(_ *served, _ *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		for i := range 3 {
			if err := stream.Send(progress(float64(i + 1))); err != nil {
				return nil, err
			}
		}
		return text("done")
	},
	"token": func(s *served, req *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		n, err := size(req)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		host := s.host
		s.mu.Unlock()
		if host == nil {
			return nil, status.Error(codes.FailedPrecondition, "Configure named no host_service")
		}
		reply, err := host.Token(stream.Context(), &adapterpb.TokenRequest{Resource: strings.Repeat("r", n)})
		if err != nil {
			return nil, err
		}
		return text(fmt.Sprint(len(reply.GetToken())))
	},
	"isError": func(*served, *adapterpb.CallToolRequest, grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		return []byte(`{"content":[{"type":"text","text":"it failed"}],"isError":true}`), nil
	},
	"flood": func(_ *served, req *adapterpb.CallToolRequest, stream grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		n, err := size(req)
		if err != nil {
			return nil, err
		}
		const piece = 64 << 10
		for ; n > 0; n -= piece {
			ev := progress(1)
			ev.GetProgress().Message = strings.Repeat("p", piece)
			if err := stream.Send(ev); err != nil {
				return nil, err
			}
		}
		return text("flooded")
	},
	"print": func(*served, *adapterpb.CallToolRequest, grpc.ServerStreamingServer[adapterpb.CallToolEvent]) ([]byte, error) {
		_, _ = io.WriteString(os.Stdout, "printed to os.Stdout\n")
		_, _ = io.WriteString(os.Stderr, "printed to os.Stderr\n")
		return text("printed")
	},
}

func progress(done float64) *adapterpb.CallToolEvent {
	return &adapterpb.CallToolEvent{Event: &adapterpb.CallToolEvent_Progress{Progress: &adapterpb.Progress{Done: done, Total: 3, Message: "working"}}}
}

func text(s string) ([]byte, error) {
	quoted, err := json.Marshal(s)
	return fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, quoted), err
}

func size(req *adapterpb.CallToolRequest) (int, error) {
	var args struct{ Bytes int }
	if err := json.Unmarshal(req.GetArguments(), &args); err != nil {
		return 0, status.Error(codes.InvalidArgument, err.Error())
	}
	return args.Bytes, nil
}
