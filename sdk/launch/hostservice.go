package launch

import (
	"errors"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// ServeHost offers service Host to this adapter and returns the broker id for
// ConfigureRequest.host_service. The id is good for 5 s, so Configure must follow
// at once. The service ends with the process; its handlers' contexts end with the
// connection. One offer per process is enough; a second one is a second socket.
func (p *Process) ServeHost(host adapterpb.HostServer) (uint32, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return 0, errors.New("offering service Host: the adapter process has ended")
	}
	id := p.broker.NextId()
	// Not AcceptAndServe: it reports errors to the standard logger only, and waits
	// without a bound for running handlers.
	listener, err := p.broker.Accept(id)
	if err != nil {
		return 0, fmt.Errorf("offering service Host to the adapter process: %w", err)
	}
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(wire.MaxMessage),
		grpc.MaxSendMsgSize(wire.MaxMessage),
		grpc.InitialWindowSize(windowSize),
		grpc.InitialConnWindowSize(windowSize),
	}
	if p.config.TLSConfig != nil { // AutoMTLS
		options = append(options, grpc.Creds(credentials.NewTLS(p.config.TLSConfig)))
	}
	server := grpc.NewServer(options...)
	adapterpb.RegisterHostServer(server, host)
	p.servers = append(p.servers, server)
	p.serving.Go(func() { _ = server.Serve(listener) })
	return id, nil
}

func (p *Process) stopServers() {
	p.mu.Lock()
	p.ended = true
	servers := p.servers
	p.mu.Unlock()
	for _, server := range servers {
		server.Stop()
	}
	p.serving.Wait()
}
