package server

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/tidwall/gjson"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// Passage is one MCP request that the host only passes on: resources/*,
// prompts/*, completion/complete. Its functions are as those of a Request.
type Passage struct {
	Method     string
	Params     []byte // the MCP params object, or nil
	ID         string
	OnProgress func(done, total float64, message string)
	OnLog      func(level, logger string, data json.RawMessage)
	Ask        Asker
}

// Forward makes one attempt at passing a request on, as Do does at a call, and
// returns the MCP result object. A method that the server does not offer is a
// failure, not-found, and not sent. The error is a *Failure.
func (s *Server) Forward(ctx context.Context, p *Passage) ([]byte, error) {
	r, fail := s.useRun()
	if fail != nil {
		return nil, fail
	}
	defer s.leaveRun(r)
	if !slices.Contains(r.forwards(), p.Method) {
		return nil, notSent(failure.NotFound, "the server does not offer %s", p.Method)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer r.questions.open(ctx, cancel, p.ID, p.Ask)()
	stream, err := r.client.Forward(ctx, &adapterpb.ForwardRequest{Method: p.Method, Params: p.Params, CallId: p.ID})
	if err != nil {
		return nil, r.fail(ctx, err, true)
	}
	for {
		ev, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil, withoutResult()
		}
		if err != nil {
			return nil, r.fail(ctx, err, true)
		}
		r.alive.Store(true)
		switch e := ev.GetEvent().(type) {
		case *adapterpb.ForwardEvent_Progress:
			if p.OnProgress != nil {
				p.OnProgress(e.Progress.GetDone(), e.Progress.GetTotal(), s.env.Secrets.Text(e.Progress.GetMessage()))
			}
		case *adapterpb.ForwardEvent_Log:
			s.logged(p.ID, e.Log, p.OnLog)
		case *adapterpb.ForwardEvent_Result:
			return e.Result, nil
		}
	}
}

// forwards are the methods that can be passed on: those of the last snapshot,
// or of the adapter itself while there has been none.
func (r *run) forwards() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.met {
		return r.methods
	}
	return r.desc.ForwardMethods
}

// Introduction is what a server's upstream said of itself, raw.
type Introduction struct {
	ProtocolVersion string          // the MCP revision; "" when its adapter speaks no MCP
	Info            json.RawMessage // MCP Implementation; nil when it gave none
	Capabilities    json.RawMessage // nil when it gave none
	Instructions    string
	Methods         []string // that can be passed on to it

	raw []byte // what all but Methods was read from
}

// Introduction is what the upstream last said of itself under the server's
// present settings, also while it is down, and also to an earlier host when that was
// recalled; nil before it said anything. The
// caller does not change it.
func (s *Server) Introduction() *Introduction {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.introduced
}

func (r *run) introduction() *Introduction {
	r.mu.Lock()
	raw := r.info
	r.mu.Unlock()
	return introduction(raw, r.forwards())
}

// introduction reads an adapter's server_info.
func introduction(raw []byte, methods []string) *Introduction {
	info := gjson.ParseBytes(raw)
	in := &Introduction{
		ProtocolVersion: info.Get("protocolVersion").String(),
		Instructions:    info.Get("instructions").String(),
		Methods:         methods,
		raw:             raw,
	}
	if v := info.Get("serverInfo"); v.IsObject() {
		in.Info = json.RawMessage(v.Raw)
	}
	if v := info.Get("capabilities"); v.IsObject() {
		in.Capabilities = json.RawMessage(v.Raw)
	}
	return in
}
