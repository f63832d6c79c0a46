package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// A server of the initialize era asks in the middle of a request, and waits. A
// client of the modern era is not asked; it gets the question as an input_required
// result and makes the request again with the answer (2026-07-28, MRTR). Between
// the two, the request is parked: it goes on upstream, and the client holds a
// requestState that names it.
const (
	// parkedWait is how long a client may take to come back: a person fills in a form.
	// The call's own max_timeout goes on and may end it before.
	parkedWait = 10 * time.Minute
	// maxParked bounds all parked requests, maxParkedEach those of one principal.
	maxParked     = 256
	maxParkedEach = 64
)

// askable are the requests that a client declares a capability for.
var askable = map[string]string{
	"elicitation/create":     "elicitation",
	"sampling/createMessage": "sampling",
	"roots/list":             "roots",
}

// parkedRequests are the requests whose clients have a question to answer.
type parkedRequests struct {
	mu      sync.Mutex
	byState map[string]*dialog
}

// dialog is a request that can be asked about, from the client's first message to
// the result.
type dialog struct {
	who    any // the principal
	method string
	name   string // what it names: a request that answers must be the same one
	cancel context.CancelFunc
	over   *time.Timer // while it is parked

	client atomic.Pointer[protocol.Incoming] // the client's present, or last, request

	mu      sync.Mutex
	last    int // number of the newest question
	open    []*question
	newly   chan struct{} // capacity 1: there is a question that no client has been told of
	done    chan struct{} // closed when there is an answer
	result  json.RawMessage
	failure error
}

// question is one that the server waits for.
type question struct {
	id, method string
	params     json.RawMessage
	answer     chan json.RawMessage // capacity 1
}

// interact answers a request, asking a modern client what a server wants to know
// before.
func (f *Front) interact(ctx context.Context, r *protocol.Incoming) (json.RawMessage, error) {
	if !r.Caller.Modern {
		return f.answer(ctx, r)
	}
	if token, ours := strings.CutPrefix(gjson.GetBytes(r.Params, "requestState").String(), ofParked); ours {
		d := f.claim(token, r)
		if d == nil {
			return nil, unknownState()
		}
		d.client.Store(r)
		d.take(gjson.GetBytes(r.Params, "inputResponses"))
		return f.attend(ctx, d)
	}
	if !canBeAsked(r.Caller) {
		return f.answer(ctx, r)
	}
	working, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &dialog{who: r.Caller.Principal, method: r.Method, name: nameOf(r), cancel: cancel, newly: make(chan struct{}, 1), done: make(chan struct{})}
	d.client.Store(r)
	inner := *r
	inner.Ask = d.ask
	if r.Progress != nil {
		inner.Progress = func(params json.RawMessage) {
			d.pass(func(r *protocol.Incoming) func(json.RawMessage) { return r.Progress }, params)
		}
	}
	if r.Log != nil {
		inner.Log = func(params json.RawMessage) {
			d.pass(func(r *protocol.Incoming) func(json.RawMessage) { return r.Log }, params)
		}
	}
	started := f.spawn(func() {
		defer cancel()
		defer context.AfterFunc(f.base, cancel)()
		d.result, d.failure = f.answer(working, &inner)
		close(d.done)
	})
	if !started {
		cancel()
		return nil, &protocol.WireError{Code: -32000, Message: "The server is closed"}
	}
	return f.attend(ctx, d)
}

// attend waits for the answer, or for a question, with which the request is parked.
// A client that leaves has cancelled it.
func (f *Front) attend(ctx context.Context, d *dialog) (json.RawMessage, error) {
	for {
		select {
		case <-d.done:
			return d.result, d.failure
		default:
		}
		select {
		case <-d.done:
		case <-d.newly:
			if answer := f.park(d); answer != nil {
				return answer, nil
			}
		case <-ctx.Done():
			d.cancel()
			<-d.done
			return nil, ctx.Err()
		}
	}
}

// pass hands what belongs to the request to its client's present message.
func (d *dialog) pass(to func(*protocol.Incoming) func(json.RawMessage), params json.RawMessage) {
	if send := to(d.client.Load()); send != nil {
		send(params)
	}
}

// ask has the client asked. It fails for what the client has not declared.
func (d *dialog) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if !declares(d.client.Load().Caller, method, params) {
		return nil, failure.New(failure.InvalidArguments, failure.NotSent, "the client did not declare that it answers %s", method)
	}
	q := &question{method: method, params: params, answer: make(chan json.RawMessage, 1)}
	d.mu.Lock()
	d.last++
	q.id = "q" + strconv.Itoa(d.last)
	d.open = append(d.open, q)
	d.mu.Unlock()
	d.signal()
	select {
	case answer := <-q.answer:
		if answer == nil {
			return nil, failure.New(failure.RateLimited, failure.NotSent, "too many requests wait for their clients")
		}
		return answer, nil
	case <-ctx.Done():
		d.close(q)
		return nil, ctx.Err()
	}
}

func (d *dialog) signal() {
	select {
	case d.newly <- struct{}{}:
	default:
	}
}

// close takes a question back.
func (d *dialog) close(q *question) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, o := range d.open {
		if o == q {
			d.open = append(d.open[:i:i], d.open[i+1:]...)
			return
		}
	}
}

// take hands the client's answers to those who asked. A question without one is
// asked again.
func (d *dialog) take(responses gjson.Result) {
	d.mu.Lock()
	var left []*question
	for _, q := range d.open {
		answer := gjson.Result{}
		responses.ForEach(func(key, value gjson.Result) bool {
			if key.String() == q.id {
				answer = value
			}
			return true
		})
		if answer.IsObject() {
			q.answer <- json.RawMessage(answer.Raw)
		} else {
			left = append(left, q)
		}
	}
	d.open = left
	d.mu.Unlock()
	if len(left) > 0 {
		d.signal()
	}
}

// park keeps a request until its client comes back, and returns what the client is
// asked; nil when there is nothing to ask any more. Where there are too many, the
// questions fail.
func (f *Front) park(d *dialog) json.RawMessage {
	d.mu.Lock()
	open := d.open
	d.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	var requests rawjson.Object
	for _, q := range open {
		var one rawjson.Object
		one.String("method", q.method)
		if q.params != nil {
			one.Raw("params", q.params)
		}
		requests.Raw(q.id, one.Bytes())
	}
	token := rand.Text()
	if !f.keep(token, d) {
		d.mu.Lock()
		for _, q := range d.open {
			q.answer <- nil
		}
		d.open = nil
		d.mu.Unlock()
		return nil
	}
	return inputRequired(requests.Bytes(), ofParked+token)
}

func (f *Front) keep(token string, d *dialog) bool {
	p := &f.parked
	p.mu.Lock()
	defer p.mu.Unlock()
	own := 0
	for _, o := range p.byState {
		if f.host.SamePrincipal(o.who, d.who) {
			own++
		}
	}
	if len(p.byState) >= maxParked || own >= maxParkedEach {
		return false
	}
	if p.byState == nil {
		p.byState = map[string]*dialog{}
	}
	p.byState[token] = d
	d.over = time.AfterFunc(parkedWait, func() {
		p.mu.Lock()
		expired := p.byState[token] == d
		delete(p.byState, token)
		p.mu.Unlock()
		if expired {
			d.cancel()
		}
	})
	return true
}

// claim takes a parked request for the client that has come back, nil when it is
// not there or not the client's. What is claimed is gone: each state is used once.
func (f *Front) claim(token string, r *protocol.Incoming) *dialog {
	p := &f.parked
	p.mu.Lock()
	defer p.mu.Unlock()
	d := p.byState[token]
	if d == nil || !f.host.SamePrincipal(d.who, r.Caller.Principal) || d.method != r.Method || d.name != nameOf(r) {
		return nil
	}
	delete(p.byState, token)
	d.over.Stop()
	if !f.host.SameRights(d.who, r.Caller.Principal) {
		d.cancel() // it may be of a tool that the client may not use any more
		return nil
	}
	return d
}

// forget drops all of them; who waits for one is cancelled otherwise.
func (p *parkedRequests) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.byState {
		d.over.Stop()
	}
	clear(p.byState)
}

// nameOf is what a request is about.
func nameOf(r *protocol.Incoming) string {
	if r.Method == "resources/read" {
		return gjson.GetBytes(r.Params, "uri").String()
	}
	return gjson.GetBytes(r.Params, "name").String()
}

// canBeAsked says whether a client declares that it answers any question.
func canBeAsked(c *protocol.Caller) bool {
	for _, capability := range askable {
		if gjson.GetBytes(c.Capabilities, capability).IsObject() {
			return true
		}
	}
	return false
}

// declares says whether a client answers a question. Elicitation without modes is
// by forms.
func declares(c *protocol.Caller, method string, params json.RawMessage) bool {
	capability := gjson.GetBytes(c.Capabilities, askable[method])
	if askable[method] == "" || !capability.IsObject() {
		return false
	}
	if method != "elicitation/create" {
		return true
	}
	form, url := capability.Get("form").Exists(), capability.Get("url").Exists()
	if gjson.GetBytes(params, "mode").String() == "url" {
		return url
	}
	return form || !url
}
