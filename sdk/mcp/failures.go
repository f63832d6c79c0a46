package mcp

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
)

// The classes of this package, all in one place:
//
//	the peer answered with a JSON-RPC error   Answered, UpstreamCode and UpstreamData as sent;
//	  -32602 (invalid params)                 InvalidArguments
//	  any other code                          ServerError. That includes -32601: the method is
//	                                          missing, which says nothing about the tool
//	an answer the protocol does not allow     InvalidResult, Answered
//	the caller's deadline or cancellation     Timeout or Canceled; NotSent when the request was
//	                                          never begun, else DeliveryUnknown
//	the process exited, closed its stdout,    ConnectionRefused; NotSent when the request was
//	or cannot be started; the client closed   never begun, else DeliveryUnknown
//	arguments that are no JSON object         InvalidArguments, NotSent
//
// Texts are never matched, so "unknown tool" is whatever code the server chose.

// JSON-RPC error codes (JSON-RPC 2.0 section 5.1) and MCP's own.
const (
	codeInvalidRequest = -32600
	codeMethodNotFound = -32601
	codeInvalidParams  = -32602
	codeInternalError  = -32603
	// 2026-07-28: HeaderMismatch, MissingRequiredClientCapabilityError and
	// UnsupportedProtocolVersionError.
	codeHeaderMismatch     = -32020
	codeMissingCapability  = -32021
	codeUnsupportedVersion = -32022
)

// rpcFailure reads a JSON-RPC error object.
func rpcFailure(raw []byte) *failure.Failure {
	f := failure.New(failure.ServerError, failure.Answered, "the server reports an error")
	f.Origin = failure.OriginUpstream
	if !isObject(raw) {
		f.Message += ": " + quote(raw)
		return f
	}
	if code, ok := number(member(raw, "code")); ok && math.Abs(code) < math.MaxInt32 {
		f.UpstreamCode = int(code)
	}
	if f.UpstreamCode == codeInvalidParams {
		f.Class = failure.InvalidArguments
	}
	if message, ok := text(member(raw, "message")); ok && strings.TrimSpace(message) != "" {
		f.Message = message
	}
	if data := member(raw, "data"); data != nil {
		f.UpstreamData = data
	}
	return f
}

func invalidAnswer(format string, args ...any) *failure.Failure {
	f := failure.New(failure.InvalidResult, failure.Answered, format, args...)
	f.Origin = failure.OriginUpstream
	return f
}

func badArguments(format string, args ...any) *failure.Failure {
	return failure.New(failure.InvalidArguments, failure.NotSent, format, args...)
}

// contextFailure says that ctx ended while method was open.
func contextFailure(ctx context.Context, delivery failure.Delivery, method string) *failure.Failure {
	cause := context.Cause(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(cause, context.DeadlineExceeded) {
		f := failure.New(failure.Timeout, delivery, "the server did not answer %s in time", method)
		f.Err = cause
		return f
	}
	f := failure.New(failure.Canceled, delivery, "%s was canceled", method)
	f.Err = cause
	return f
}

// endedFailure is the session's end as one request sees it.
func endedFailure(why *failure.Failure, delivery failure.Delivery) *failure.Failure {
	f := *why
	f.Delivery = delivery
	return &f
}
