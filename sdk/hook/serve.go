package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/collet-dev/collet/sdk/failure"
	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
	"github.com/collet-dev/collet/sdk/internal/child"
	"github.com/collet-dev/collet/sdk/internal/typed"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// closeGrace bounds the author's Close. The host kills the process 2 s after it
// asked for a stop (sdk/launch).
const closeGrace = 1500 * time.Millisecond

// service answers service Hook from the start of the process to its end.
type service struct {
	hookpb.UnimplementedHookServer
	program *program
	log     *slog.Logger

	life context.Context
	end  context.CancelFunc

	mu   sync.Mutex
	hook any // nil before Configure
	once sync.Once
}

func (p *program) serve(out *os.File) {
	child.OutliveHost()
	s := &service{program: p, log: slog.Default()}
	s.life, s.end = context.WithCancel(context.Background())
	child.HoldLease(s.log, s.close)
	// go-plugin writes the handshake to os.Stdout and then points it at a pipe.
	os.Stdout = out
	plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.HookCookieValue,
		},
		VersionedPlugins: map[int]plugin.PluginSet{wire.ProtocolVersion: {wire.HookName: &served{s: s}}},
		GRPCServer: func(opts []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(append(opts,
				grpc.MaxRecvMsgSize(wire.MaxMessage), grpc.MaxSendMsgSize(wire.MaxMessage), grpc.UnaryInterceptor(s.recoverPanic))...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Name: p.info.Name, Level: hclog.Warn, Output: child.Stderr, JSONFormat: true}),
	})
	s.close()
}

// close ends what runs and gives the author's Close its time.
func (s *service) close() {
	s.once.Do(func() {
		s.end()
		c, ok := s.configured().(io.Closer)
		if !ok {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			if err := c.Close(); err != nil {
				s.log.Warn("closing the hook failed", "error", err)
			}
		}()
		late := time.NewTimer(closeGrace)
		defer late.Stop()
		select {
		case <-done:
		case <-late.C:
			s.log.Warn("closing the hook takes too long, leaving without", "after", closeGrace.String())
		}
	})
}

func (s *service) configured() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.hook
}

// recoverPanic fails the one request that panicked; the stack goes to the log.
func (s *service) recoverPanic(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if v := recover(); v != nil {
			s.log.Error("panic", "in", info.FullMethod, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			resp, err = nil, failure.ToStatus(fault("hook %s panicked: %v; its log has the stack", s.program.info.Name, v))
		}
	}()
	resp, err = handler(ctx, req)
	if err != nil {
		err = failure.ToStatus(err)
	}
	return resp, err
}

// Configure opens the hook, once.
func (s *service) Configure(_ context.Context, req *hookpb.ConfigureRequest) (*hookpb.ConfigureResponse, error) {
	child.ClaimOutput()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook != nil {
		return nil, fault("the hook is configured already")
	}
	config := json.RawMessage(req.GetConfig())
	if len(config) == 0 {
		config = json.RawMessage("{}")
	}
	h, err := s.program.open(s.life, &Env{Name: req.GetName(), HostVersion: req.GetHostVersion(), Log: s.log}, config)
	if err != nil {
		return nil, err
	}
	s.hook = h
	return &hookpb.ConfigureResponse{}, nil
}

// asked is the configured hook as T. A host asks nothing that the description does
// not offer, and nothing before Configure.
func asked[T any](s *service, point string) (T, error) {
	h, ok := s.configured().(T)
	if !ok {
		return h, fault("hook %s is not configured, or does not answer at the point %q", s.program.info.Name, point)
	}
	return h, nil
}

// EditServers passes the table on and returns the edits.
func (s *service) EditServers(ctx context.Context, req *hookpb.EditServersRequest) (*hookpb.EditServersResponse, error) {
	h, err := asked[ServersEditor](s, pointServers)
	if err != nil {
		return nil, err
	}
	servers := readServers(req)
	if err := h.EditServers(ctx, servers); err != nil {
		return nil, err
	}
	return &hookpb.EditServersResponse{Edits: servers.edits}, nil
}

// EditTools passes a server's tools on and returns the edits.
func (s *service) EditTools(ctx context.Context, req *hookpb.EditToolsRequest) (*hookpb.EditToolsResponse, error) {
	h, err := asked[ToolsEditor](s, pointTools)
	if err != nil {
		return nil, err
	}
	tools := &Tools{Server: req.GetServer(), tools: req.GetTools()}
	if err := h.EditTools(ctx, tools); err != nil {
		return nil, err
	}
	return &hookpb.EditToolsResponse{Edits: tools.edits}, nil
}

// Before asks about a call.
func (s *service) Before(ctx context.Context, req *hookpb.BeforeRequest) (*hookpb.BeforeResponse, error) {
	h, err := asked[CallEditor](s, pointBefore)
	if err != nil {
		return nil, err
	}
	v, err := h.Before(ctx, &Call{ID: req.GetCallId(), Server: req.GetServer(), Tool: req.GetTool(), Caller: req.GetCaller(), Arguments: req.GetArguments()})
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return &hookpb.BeforeResponse{Verdict: &hookpb.BeforeResponse_Pass{Pass: &hookpb.Pass{}}}, nil
	case v.refusal != nil:
		return &hookpb.BeforeResponse{Verdict: &hookpb.BeforeResponse_Refuse{Refuse: failure.ToProto(v.refusal)}}, nil
	case v.answer != nil:
		return &hookpb.BeforeResponse{Verdict: &hookpb.BeforeResponse_Answer{Answer: v.answer}}, objects(v.answer)
	}
	return &hookpb.BeforeResponse{Verdict: &hookpb.BeforeResponse_Arguments{Arguments: v.replacement}}, objects(v.replacement)
}

// After asks about a result.
func (s *service) After(ctx context.Context, req *hookpb.AfterRequest) (*hookpb.AfterResponse, error) {
	h, err := asked[ResultEditor](s, pointAfter)
	if err != nil {
		return nil, err
	}
	call := &Call{ID: req.GetCallId(), Server: req.GetServer(), Tool: req.GetTool(), Caller: req.GetCaller(), Arguments: req.GetArguments()}
	v, err := h.After(ctx, call, req.GetResult())
	switch {
	case err != nil:
		return nil, err
	case v == nil:
		return &hookpb.AfterResponse{Verdict: &hookpb.AfterResponse_Pass{Pass: &hookpb.Pass{}}}, nil
	case v.refusal != nil:
		return &hookpb.AfterResponse{Verdict: &hookpb.AfterResponse_Refuse{Refuse: failure.ToProto(v.refusal)}}, nil
	case v.answer != nil:
		return nil, fault("hook %s answers a call that has been made: in After use Result", s.program.info.Name)
	}
	return &hookpb.AfterResponse{Verdict: &hookpb.AfterResponse_Result{Result: v.replacement}}, objects(v.replacement)
}

// objects refuses what is no JSON object, in words for the author.
func objects(raw json.RawMessage) error {
	if !typed.IsObject(raw) || !json.Valid(raw) {
		return fault("the hook's answer is not a JSON object")
	}
	return nil
}

func fault(format string, args ...any) *failure.Failure {
	f := failure.New(failure.ServerError, failure.NotSent, format, args...)
	f.Origin = failure.OriginAdapter
	return f
}

// served registers the service with go-plugin.
type served struct {
	plugin.NetRPCUnsupportedPlugin
	s *service
}

func (v *served) GRPCServer(_ *plugin.GRPCBroker, server *grpc.Server) error {
	hookpb.RegisterHookServer(server, v.s)
	return nil
}

// GRPCClient is the host's side, which is not here.
func (v *served) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("package hook serves plugins; a host uses sdk/launch")
}
