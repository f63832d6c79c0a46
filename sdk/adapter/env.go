package adapter

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// Env is what the host gives a server besides its config. It stays valid until
// the process ends.
type Env struct {
	Server string // the server's name in mcp.toml; for log lines only
	// DataDir is a private directory that outlives the process; may be empty.
	DataDir string
	// Log writes to the plugin's stderr in the form hosts read. It is also
	// slog.Default.
	Log *slog.Logger
	// HostVersion and HostFeatures are the host's word on itself; see
	// docs/contract.md. HostFeatures holds "token" where Token, and "ask" where
	// Call.Ask has somebody to answer it: whether that one can be asked is up to the
	// call.
	HostVersion  string
	HostFeatures []string
	// StartBy is when the host gives this start up; zero when it does not say. An
	// upstream that is not there shortly before is best reported as unavailable,
	// with what is known: later nobody listens.
	StartBy time.Time

	mu   sync.Mutex
	conn *grpc.ClientConn // service Host; nil when the host offers none
}

// Token is a credential for one resource. Use it at once and do not keep it: the
// host refreshes it, and asking again is cheap.
type Token struct {
	Value  string
	Scheme string // "Bearer"
	// ExpiresIn is the time it has left; zero when unknown.
	ExpiresIn time.Duration
}

// Refusal says which token the resource did not accept, so that the host finds
// another one instead of handing it out again.
type Refusal struct {
	Token     string // as in Token.Value
	Challenge string // the WWW-Authenticate header that came with the refusal
}

// Token returns a credential for resource, an URL that must belong to the
// server's own entry in mcp.toml. The error is a failure: AuthFailure when there
// is none to be had.
func (e *Env) Token(ctx context.Context, resource string, scopes ...string) (Token, error) {
	return e.TokenAfter(ctx, Refusal{}, resource, scopes...)
}

// TokenAfter returns a credential other than the one that was refused.
func (e *Env) TokenAfter(ctx context.Context, refused Refusal, resource string, scopes ...string) (Token, error) {
	host := e.host()
	if host == nil {
		return Token{}, failure.New(failure.AuthFailure, failure.NotSent, "no credential for %s: this host hands out none", resource)
	}
	resp, err := host.Token(ctx, &adapterpb.TokenRequest{
		Resource: resource, Scopes: scopes, Rejected: refused.Token, Challenge: refused.Challenge,
	})
	if err != nil {
		return Token{}, hostFailure(ctx, "ask the host for a credential", failure.AuthFailure, err)
	}
	t := Token{Value: resp.GetToken(), Scheme: resp.GetScheme()}
	if d := resp.GetExpiresIn(); d.IsValid() {
		t.ExpiresIn = max(d.AsDuration(), 0)
	}
	return t, nil
}

// ask is Call.Ask for the call of that id.
func (e *Env) ask(ctx context.Context, callID, method string, params json.RawMessage) (json.RawMessage, error) {
	var host adapterpb.HostClient
	if e != nil {
		host = e.host()
	}
	if host == nil {
		return nil, failure.New(failure.ConsentRequired, failure.NotSent, "%s: this host has nobody to ask", method)
	}
	resp, err := host.Ask(ctx, &adapterpb.AskRequest{CallId: callID, Method: method, Params: params})
	if err != nil {
		return nil, hostFailure(ctx, "ask the host for "+method, failure.ConsentRequired, err)
	}
	return resp.GetResult(), nil
}

// hostFailure reads an error of service Host. Absent is the class when the host
// does not have the feature or does not let this server use it.
func hostFailure(ctx context.Context, doing string, absent failure.Class, err error) error {
	if f := failure.FromStatus(err); f != nil {
		return f
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	class := failure.ServerError
	if code := status.Code(err); code == codes.Unimplemented || code == codes.PermissionDenied {
		class = absent
	}
	f := failure.New(class, failure.NotSent, "%s: %s", doing, status.Convert(err).Message())
	f.Origin, f.Err = failure.OriginHost, err
	return f
}

func (e *Env) host() adapterpb.HostClient {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn == nil {
		return nil
	}
	return adapterpb.NewHostClient(e.conn)
}

// attach replaces the connection to service Host; nil detaches.
func (e *Env) attach(conn *grpc.ClientConn) {
	e.mu.Lock()
	old := e.conn
	e.conn = conn
	e.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
}
