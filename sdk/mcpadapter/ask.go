package mcpadapter

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

const (
	featureAsk = "ask" // of a host whose callers may be asked

	elicit = "elicitation/create"
	sample = "sampling/createMessage"
	roots  = "roots/list"

	// asking is what initialize declares where the host can ask its callers. A
	// connection serves many of them, so it says what the best of them can do; what
	// one cannot is answered by nobody. Elicitation names no modes, which means
	// forms: servers built on older Java SDKs end at a member they do not know.
	asking = `{"elicitation":{},"roots":{},"sampling":{}}`

	// metaCapabilities is what each request to a server of 2026-07-28 declares
	// (basic, _meta), and noCapabilities one whose caller says nothing of it.
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	noCapabilities   = `{"` + metaCapabilities + `":{}}`
)

// listens fills in what a client needs that passes questions on.
func (s *server) listens(opt mcp.Options) mcp.Options {
	if slices.Contains(s.env.HostFeatures, featureAsk) {
		opt.Capabilities = json.RawMessage(asking)
		opt.OnRequest = s.asked
	}
	return opt
}

// asked answers what the upstream asks without saying for which request: only
// when just one is open can it be passed on.
func (s *server) asked(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	r := s.running.only()
	if r == nil {
		return unasked(method)
	}
	return r.asked(ctx, method, params)
}

// asked answers what the upstream asks in the middle of a request.
func (r *running) asked(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
	if method != elicit && method != sample && method != roots {
		return unasked(method)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.ctx, cancel)()
	raw, err := r.who.Ask(ctx, method, params)
	if err == nil {
		return raw, nil
	}
	if f := failure.Classify(err); f.UpstreamCode != 0 {
		return nil, f
	}
	return unasked(method)
}

// unasked is the answer where nobody can be asked: nobody chose anything (2025-11-25,
// client/elicitation, Response Actions), there are no roots, and nothing else is
// there to be asked for. Tools then say what they make of that, as they do when a
// person closes a dialog.
func unasked(method string) (json.RawMessage, error) {
	switch method {
	case elicit:
		return json.RawMessage(`{"action":"cancel"}`), nil
	case roots:
		return json.RawMessage(`{"roots":[]}`), nil
	}
	f := failure.New(failure.NotFound, failure.Answered, "Method not found")
	f.UpstreamCode = codeMethodNotFound
	return nil, f
}

// declaring is the _meta to send with a request: what its caller declares of
// itself, and where it declares nothing, that nobody can be asked.
func declaring(up Upstream, meta, params json.RawMessage) json.RawMessage {
	const path = `io\.modelcontextprotocol/clientCapabilities`
	if !up.Server().Modern || gjson.GetBytes(meta, path).Exists() || gjson.GetBytes(params, "_meta."+path).Exists() {
		return meta
	}
	rest := bytes.TrimLeft(meta, " \t\r\n")
	if len(rest) == 0 {
		return json.RawMessage(noCapabilities)
	}
	if rest[0] != '{' {
		return meta // for the client to refuse
	}
	rest = bytes.TrimLeft(rest[1:], " \t\r\n")
	b := []byte(noCapabilities[:len(noCapabilities)-1])
	if len(rest) > 0 && rest[0] != '}' {
		b = append(b, ',')
	}
	return append(b, rest...)
}
