package mcp

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/rawjson"
	protocol "github.com/collet-dev/collet/sdk/mcp"
)

// maxRounds bounds how often one request is answered with questions.
const maxRounds = 16

// A requestState says whose it is, so that no client can pass one off as the
// other: a server's own state follows "u:", the name of a parked request "p:".
const (
	ofUpstream = "u:"
	ofParked   = "p:"
)

// passedOn is a server's state as the client gets it.
func passedOn(state string) string { return ofUpstream + state }

// upstreamState is the server's state in a request that answers its questions, ""
// when there is none.
func upstreamState(params json.RawMessage) (string, error) {
	v := gjson.GetBytes(params, "requestState")
	if !v.Exists() {
		return "", nil
	}
	if state, ok := strings.CutPrefix(v.String(), ofUpstream); ok && v.Type == gjson.String {
		return state, nil
	}
	return "", unknownState()
}

func unknownState() error {
	return invalidParams("requestState is unknown, or is over: make the request again without it")
}

// declaring is the _meta of a legacy client's request with what a modern server
// wants to be told in each one: what the client can be asked, which it said once,
// and which log messages it wants.
func declaring(r *protocol.Incoming) json.RawMessage {
	meta := r.Meta
	if r.Ask != nil && r.Caller.Capabilities != nil {
		meta = withMember(meta, "io.modelcontextprotocol/clientCapabilities", r.Caller.Capabilities)
	}
	if r.Log != nil {
		meta = withMember(meta, "io.modelcontextprotocol/logLevel", rawjson.AppendString(nil, r.LogLevel))
	}
	return meta
}

// withMember is an object with one member set, every other byte kept; nil stays
// nil when there is nothing to set.
func withMember(object json.RawMessage, key string, value []byte) json.RawMessage {
	if value == nil {
		return object
	}
	var at gjson.Result
	text := string(object)
	members := false
	gjson.Parse(text).ForEach(func(k, v gjson.Result) bool {
		members = true
		if k.String() == key {
			at = v
		}
		return true
	})
	if at.Exists() {
		return append(append(append([]byte(nil), text[:at.Index]...), value...), text[at.Index+len(at.Raw):]...)
	}
	out := append(rawjson.AppendString([]byte{'{'}, key), ':')
	out = append(out, value...)
	if !members {
		return append(out, '}')
	}
	return append(append(out, ','), text[strings.IndexByte(text, '{')+1:]...)
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
	params = withMember(params, "inputResponses", append(responses, '}'))
	if state := gjson.GetBytes(raw, "requestState"); state.Exists() {
		params = withMember(params, "requestState", []byte(state.Raw))
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
