package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// maxRounds bounds how often one request is answered with questions.
const maxRounds = 16

// A requestState says whose it is, so that no client can pass one off as the
// other: a server's own state follows "u:" and a seal, the name of a parked request
// "p:".
const (
	ofUpstream = "u:"
	ofParked   = "p:"
)

// seal vouches for a state that a server gave to one client about one tool, prompt
// or resource. To the server all clients are collet: whose state it was, nobody else
// can tell (2026-07-28, MRTR: a server binds a state to who got it). The key is the
// face's own, so that no state outlives it.
func (f *Front) seal(r *protocol.Incoming, about, state string) string {
	mac := hmac.New(sha256.New, f.sealing[:])
	for _, part := range []string{f.host.Owner(r.Caller.Principal), r.Method, about, state} {
		_, _ = fmt.Fprintf(mac, "%d:%s", len(part), part) // a hash takes everything
	}
	return ofUpstream + base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:sealBytes])
}

const (
	sealBytes  = 18 // of the hash; cannot be guessed
	sealLength = sealBytes * 4 / 3
)

// passedOn is a server's state as the client gets it.
func (f *Front) passedOn(r *protocol.Incoming, about, state string) string {
	return f.seal(r, about, state) + state
}

// upstreamState is the server's state in a request that answers its questions, ""
// when there is none. It has to be one that this client got for the same request.
func (f *Front) upstreamState(r *protocol.Incoming, about string) (string, error) {
	v := gjson.GetBytes(r.Params, "requestState")
	if !v.Exists() {
		return "", nil
	}
	const prefix = len(ofUpstream) + sealLength
	if s := v.String(); v.Type == gjson.String && len(s) >= prefix && hmac.Equal([]byte(s[:prefix]), []byte(f.seal(r, about, s[prefix:]))) {
		return s[prefix:], nil
	}
	return "", unknownState()
}

func unknownState() error {
	return invalidParams("requestState is unknown, or is over: make the request again without it")
}

// logging is the _meta of a request that says nothing but which messages it wants.
var logging = func() map[string]json.RawMessage {
	of := map[string]json.RawMessage{}
	for _, level := range []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"} {
		of[level] = slices.Clip(json.RawMessage(`{"io.modelcontextprotocol/logLevel":"` + level + `"}`)) // all share it
	}
	return of
}()

// declaring is the _meta of a legacy client's request with what a modern server
// wants to be told in each one: what the client can be asked, which it said once,
// and which log messages it wants.
func declaring(r *protocol.Incoming) json.RawMessage {
	meta := r.Meta
	if own, known := logging[r.LogLevel]; known && meta == nil && r.Ask == nil && r.Log != nil {
		return own // which is most calls
	}
	if r.Ask != nil && r.Caller.Capabilities != nil {
		meta = rawjson.Set(meta, "io.modelcontextprotocol/clientCapabilities", r.Caller.Capabilities)
	}
	if r.Log != nil {
		meta = rawjson.Set(meta, "io.modelcontextprotocol/logLevel", rawjson.AppendString(nil, r.LogLevel))
	}
	return meta
}

// answered asks a legacy client what a modern server wants to know before it
// answers (2026-07-28, MRTR), and returns the parameters of the next attempt.
func answered(ctx context.Context, r *protocol.Incoming, params, raw json.RawMessage) (json.RawMessage, error) {
	responses := []byte{'{'}
	var err error
	gjson.GetBytes(raw, "inputRequests").ForEach(func(key, question gjson.Result) bool {
		var result json.RawMessage
		if result, err = put(ctx, r, question); err != nil {
			return false
		}
		if len(responses) > 1 {
			responses = append(responses, ',')
		}
		responses = append(append(append(responses, key.Raw...), ':'), result...)
		return true
	})
	if err != nil {
		return nil, err
	}
	params = rawjson.Set(params, "inputResponses", append(responses, '}'))
	if state := gjson.GetBytes(raw, "requestState"); state.Exists() {
		params = rawjson.Set(params, "requestState", []byte(state.Raw))
	}
	return params, nil
}

// put asks one question. Of a form that could not be shown nobody has chosen
// anything (2025-11-25, client/elicitation, Response Actions).
func put(ctx context.Context, r *protocol.Incoming, question gjson.Result) (json.RawMessage, error) {
	method := question.Get("method").String()
	if r.Ask == nil {
		return nil, &protocol.WireError{Code: -32000, Message: "The server asks for " + method + " first, and this client cannot be asked"}
	}
	result, err := r.Ask(ctx, method, raw(question.Get("params")))
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() == nil && method == "elicitation/create":
		return json.RawMessage(`{"action":"cancel"}`), nil
	}
	return nil, err
}
