package launch

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	plugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// debugged is an adapter inside the test's own process.
type debugged struct {
	plugin.NetRPCUnsupportedPlugin
	adapterpb.UnimplementedAdapterServer
}

func (d debugged) GRPCServer(_ *plugin.GRPCBroker, s *grpc.Server) error {
	adapterpb.RegisterAdapterServer(s, d)
	return nil
}

func (debugged) GRPCClient(context.Context, *plugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, errors.New("no client here")
}

func (debugged) Describe(context.Context, *adapterpb.DescribeRequest) (*adapterpb.DescribeResponse, error) {
	return &adapterpb.DescribeResponse{Name: "debugged"}, nil
}

// serveDebugged returns the value of COLLET_REATTACH for a running adapter.
func serveDebugged(t *testing.T) (value string, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ready, closed := make(chan *plugin.ReattachConfig, 1), make(chan struct{})
	go plugin.Serve(&plugin.ServeConfig{
		HandshakeConfig: plugin.HandshakeConfig{ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue},
		Plugins:         plugin.PluginSet{wire.PluginName: debugged{}},
		GRPCServer:      plugin.DefaultGRPCServer,
		Logger:          hclog.NewNullLogger(),
		Test:            &plugin.ServeTestConfig{Context: ctx, ReattachConfigCh: ready, CloseCh: closed},
	})
	config := <-ready
	entry := reattachEntry{Protocol: string(config.Protocol), ProtocolVersion: config.ProtocolVersion, Pid: config.Pid, Test: true}
	entry.Addr.Network, entry.Addr.String = config.Addr.Network(), config.Addr.String()
	text, err := json.Marshal(map[string]reattachEntry{"test": entry})
	if err != nil {
		t.Fatal(err)
	}
	return string(text), func() { cancel(); <-closed }
}

func TestReattach(t *testing.T) {
	value, stop := serveDebugged(t)
	t.Setenv("TMPDIR", "/tmp")
	s := spec("")
	s.Reattach = value
	for range 2 { // letting go leaves the adapter for the next host
		p := startSpec(t, s)
		if reply, err := p.Adapter().Describe(t.Context(), &adapterpb.DescribeRequest{}); err != nil || reply.GetName() != "debugged" {
			t.Fatalf("%v, %v", reply, err)
		}
		if err := p.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if exit := await(t, p); !exit.Requested {
			t.Errorf("%+v", exit)
		}
	}
	p := startSpec(t, s)
	stop()
	if exit := await(t, p); exit.Requested || !strings.Contains(exit.Reason, "closed the connection") {
		t.Errorf("%+v", exit)
	}
	_, err := Start(t.Context(), s)
	var f *failure.Failure
	if !errors.As(err, &f) || f.Class != failure.ConnectionRefused || !strings.Contains(err.Error(), "COLLET_REATTACH") {
		t.Errorf("attaching to nothing: %v", err)
	}
	s.Name = "other" // no entry: it is started
	if p := startSpec(t, s); p.Pid() == 0 {
		t.Error("not started")
	}
	for _, bad := range []string{"{", `{"test":{"Protocol":"netrpc","ProtocolVersion":1}}`, `{"test":{"Protocol":"grpc","ProtocolVersion":9}}`, `{"test":{"Protocol":"grpc","ProtocolVersion":1,"Addr":{"Network":"x"}}}`} {
		s.Name, s.Reattach = "test", bad
		if _, err := Start(t.Context(), s); !errors.As(err, &f) || f.Class != failure.ConnectionRefused {
			t.Errorf("%s: %v", bad, err)
		}
	}
}
