package server

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/collet-dev/collet/host/internal/credential"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// featureAsk is announced by adapters that may ask, and by this host.
const featureAsk = "ask"

// Asker answers a question of an upstream for who made a call; see call.Asker.
type Asker func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)

// hostService is service Host for one adapter process.
type hostService struct {
	adapterpb.UnimplementedHostServer
	questions *questions
	tokens    Tokens
	settings  *credential.Settings // nil: it gets no tokens
}

// Ask hands a question to whoever made the call it belongs to.
func (h *hostService) Ask(ctx context.Context, req *adapterpb.AskRequest) (*adapterpb.AskResponse, error) {
	c, done := h.questions.begin(req.GetCallId())
	if c == nil {
		f := failure.New(failure.ConsentRequired, failure.NotSent, "%s: who made the call cannot be asked", req.GetMethod())
		f.Origin = failure.OriginHost
		return nil, failure.ToStatus(f)
	}
	defer done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)()
	result, err := c.ask(ctx, req.GetMethod(), req.GetParams())
	if err != nil {
		return nil, failure.ToStatus(err)
	}
	return &adapterpb.AskResponse{Result: result}, nil
}

// questions knows the running calls whose callers can be asked. The zero value
// knows none.
type questions struct {
	mu    sync.Mutex
	calls map[string]*askable // by the call's id
}

// askable is such a call. ctx is its own; running counts its open questions.
type askable struct {
	ctx     context.Context
	ask     Asker
	running sync.WaitGroup
}

// open lets the questions of a call reach ask until close is called, which ends
// the call's context and waits for those under way. A nil ask opens nothing.
func (q *questions) open(ctx context.Context, cancel context.CancelFunc, id string, ask Asker) (closed func()) {
	if ask == nil {
		return func() {}
	}
	c := &askable{ctx: ctx, ask: ask}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calls == nil {
		q.calls = map[string]*askable{}
	}
	q.calls[id] = c
	return func() {
		q.mu.Lock()
		delete(q.calls, id)
		q.mu.Unlock()
		cancel()
		c.running.Wait()
	}
}

// begin returns the call of that id, to be asked until done is called, or nil.
func (q *questions) begin(id string) (c *askable, done func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c = q.calls[id]; c == nil {
		return nil, nil
	}
	c.running.Add(1)
	return c, c.running.Done
}
