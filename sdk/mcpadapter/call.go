package mcpadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"sync"
	"time"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

// Call implements adapter.Server. It connects first when the upstream is gone,
// and sends the call once, whatever becomes of it.
func (s *server) Call(ctx context.Context, call *adapter.Call) (*adapter.Result, error) {
	if s.own.has(call.Tool) {
		return s.own.tools.Call(ctx, call)
	}
	if s.shape.Admit != nil {
		if err := s.shape.Admit(ctx, call); err != nil {
			return nil, err
		}
	}
	up, err := s.link.acquire(ctx)
	if err != nil {
		return nil, err
	}
	if s.news.stale(time.Now()) {
		s.listAgain()
	}
	r, leave := s.running.enter(ctx, call)
	defer leave()
	opt := mcp.RequestOptions{
		Meta:       declaring(up, orNil(call.Meta), nil),
		OnProgress: func(p mcp.Progress) { call.Progress(p.Done, p.Total, p.Message) },
		OnRequest:  r.asked, OnNotification: r.notified,
	}
	var raw json.RawMessage
	if len(call.InputResponses) == 0 && call.RequestState == "" {
		raw, err = up.CallTool(ctx, call.Tool, orNil(call.Args), opt)
	} else {
		raw, err = up.Request(ctx, "tools/call", resumed(call), opt)
	}
	return s.received(up, call, raw, err)
}

// resumed is the params object of a call that answers an input_required result
// (2026-07-28, MRTR): the same call with what was asked for.
func resumed(call *adapter.Call) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"name":`)
	b.Write(quoted(call.Tool))
	b.WriteString(`,"arguments":`)
	if len(call.Args) > 0 {
		b.Write(call.Args)
	} else {
		b.WriteString("{}")
	}
	if len(call.InputResponses) > 0 {
		b.WriteString(`,"inputResponses":`)
		b.Write(call.InputResponses)
	}
	if call.RequestState != "" {
		b.WriteString(`,"requestState":`)
		b.Write(quoted(call.RequestState))
	}
	b.WriteByte('}')
	return b.Bytes()
}

// result reads the few members of a tools/call result that matter here; the
// rest is the caller's. Member names count exactly, case included. Of a name
// that occurs twice the last one counts, as it does for JSON.parse and thus for
// most of whom the result is passed on to.
func result(raw json.RawMessage, modern bool) (*adapter.Result, error) {
	var isError, kind, requests, state gjson.Result
	// Without the copy that ParseBytes makes: raw changes no more, and it is large.
	gjson.Parse(unsafe.String(unsafe.SliceData(raw), len(raw))).ForEach(func(name, value gjson.Result) bool {
		switch name.Str {
		case "isError":
			isError = value
		case "resultType":
			kind = value
		case "inputRequests":
			requests = value
		case "requestState":
			state = value
		}
		return true
	})
	if !modern || kind.Type != gjson.String || kind.Str != "input_required" {
		// Only true is true: "true" and 1 are what some servers write next to a success.
		return &adapter.Result{JSON: raw, IsError: isError.Type == gjson.True}, nil
	}
	if requests.Exists() && !requests.IsObject() || state.Exists() && state.Type != gjson.String {
		f := failure.New(failure.InvalidResult, failure.Answered,
			"the server asks for input with inputRequests that are no object, or a requestState that is no string")
		f.Origin = failure.OriginUpstream
		return nil, f
	}
	in := &adapter.InputRequired{State: state.Str}
	if requests.Exists() {
		in.Requests = json.RawMessage(requests.Raw)
	}
	return &adapter.Result{Input: in}, nil
}

// runningRequests knows which requests of the host are open, because neither a log
// notification nor, over stdio, a question says which one it belongs to.
type runningRequests struct {
	mu   sync.Mutex
	open map[*running]struct{}
}

// running is one open request.
type running struct {
	ctx context.Context
	who requester
}

// requester is who made a request: *adapter.Call and *adapter.Request are.
type requester interface {
	Log(level slog.Level, logger string, data json.RawMessage)
	Ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error)
}

// enter adds a request until leave is called.
func (r *runningRequests) enter(ctx context.Context, who requester) (one *running, leave func()) {
	one = &running{ctx, who}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.open = map[*running]struct{}{}
	}
	r.open[one] = struct{}{}
	return one, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.open, one)
	}
}

// only returns the request that is open when just one is, else nil.
func (r *runningRequests) only() *running {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.open) != 1 {
		return nil
	}
	for one := range r.open {
		return one
	}
	return nil
}

const logging = "notifications/message"

// logged takes a notifications/message that does not say which request it belongs
// to. It goes to the caller when only one request
// is open, and to the server's log when it may belong to any of several or to none.
func (s *server) logged(params json.RawMessage) {
	if r := s.running.only(); r != nil && r.logged(params) {
		return
	}
	level, logger, data := record(params)
	s.env.Log.Log(context.Background(), level, data.String(), "from", "upstream", "logger", logger)
}

// notified takes what came with the answer to the request itself.
func (r *running) notified(method string, params json.RawMessage) bool {
	return method == logging && r.logged(params)
}

// logged hands a log record to who made the request, unless it has no data.
func (r *running) logged(params json.RawMessage) bool {
	level, logger, data := record(params)
	if data.Exists() {
		r.who.Log(level, logger, json.RawMessage(data.Raw))
	}
	return data.Exists()
}

func record(params json.RawMessage) (slog.Level, string, gjson.Result) {
	m := gjson.ParseBytes(params)
	return level(m.Get("level").String()), m.Get("logger").String(), m.Get("data")
}

// level maps MCP's levels, those of RFC 5424, to slog's four.
func level(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warning":
		return slog.LevelWarn
	case "error", "critical", "alert", "emergency":
		return slog.LevelError
	default: // info, notice, and what nobody has defined
		return slog.LevelInfo
	}
}

// orNil returns nil for what is empty: the contract's way to say that there is none.
func orNil(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	return raw
}

// quoted is s as a JSON string, with < > & as they are.
func quoted(s string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
