package adapter_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// hostService is a host that knows one resource.
type hostService struct {
	adapterpb.UnimplementedHostServer
}

func (hostService) Token(_ context.Context, req *adapterpb.TokenRequest) (*adapterpb.TokenResponse, error) {
	if req.Resource != "https://mine.example" {
		return nil, status.Error(codes.PermissionDenied, "not this server's")
	}
	return &adapterpb.TokenResponse{Token: "t0k" + strings.Join(req.Scopes, ","), Scheme: "Bearer", ExpiresIn: durationpb.New(time.Minute)}, nil
}

func (hostService) Ask(context.Context, *adapterpb.AskRequest) (*adapterpb.AskResponse, error) {
	return &adapterpb.AskResponse{Result: bytes.Repeat([]byte(" "), 20<<20)}, nil
}

func TestHostService(t *testing.T) {
	c, _, _ := dialStock(t, faulty(t))
	id := c.broker.NextId()
	go c.broker.AcceptAndServe(id, func(opts []grpc.ServerOption) *grpc.Server {
		s := grpc.NewServer(opts...)
		adapterpb.RegisterHostServer(s, hostService{})
		return s
	}) // ends with the broker
	if _, err := c.Configure(t.Context(), &adapterpb.ConfigureRequest{HostService: id}); err != nil {
		t.Fatal(err)
	}
	events, err := call(t, c, &adapterpb.CallToolRequest{Tool: "token", Arguments: []byte(`{"resource":"https://mine.example"}`)})
	if err != nil || !strings.Contains(string(events[0].GetResult().GetResult()), "Bearer t0kread") {
		t.Errorf("%v, %v", events, err)
	}
	_, err = call(t, c, &adapterpb.CallToolRequest{Tool: "token", Arguments: []byte(`{"resource":"https://theirs.example"}`)})
	if f := failure.FromStatus(err); f == nil || f.Class != failure.AuthFailure || f.Origin != failure.OriginHost {
		t.Errorf("a resource of another server: %v", err)
	}
	events, err = call(t, c, &adapterpb.CallToolRequest{Tool: "ask"})
	if err != nil || !strings.Contains(string(events[0].GetResult().GetResult()), "20971520") {
		t.Errorf("a large answer: %v, %v", events, err)
	}
}
