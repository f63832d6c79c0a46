package adapter

import (
	"context"
	"fmt"
	"path"
	"runtime/debug"

	"google.golang.org/grpc"

	"github.com/collet-dev/collet/sdk/failure"
)

// A panic in one call fails that call: the process, and the other calls in it,
// go on. The stack goes to the log, since it helps the author and nobody else.

func (s *service) recoverUnary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	defer func() {
		if v := recover(); v != nil {
			resp, err = nil, failure.ToStatus(s.panicked(path.Base(info.FullMethod), v))
		}
	}()
	return handler(ctx, req)
}

func (s *service) recoverStream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = failure.ToStatus(s.panicked(path.Base(info.FullMethod), v))
		}
	}()
	return handler(srv, stream)
}

// guard runs an author's function outside of a call.
func (s *service) guard(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = s.panicked(what, v)
		}
	}()
	return f()
}

// panicked logs a recovered panic and returns it as a failure.
func (s *service) panicked(what string, v any) *failure.Failure {
	s.log.Error("panic", "in", what, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
	return adapterFault("adapter %s panicked in %s: %v; its log has the stack", s.program.info.Name, what, v)
}
