package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/collet-dev/collet/host/internal/codemode"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/host/internal/rawjson"
	"github.com/collet-dev/collet/sdk/failure"
)

// scriptCodes are what a script is told of the classes of failures. The class itself
// is in the error's details.
var scriptCodes = map[failure.Class]codemode.Code{
	failure.InvalidArguments:  codemode.CodeArguments,
	failure.NotFound:          codemode.CodeNotFound,
	failure.ConsentRequired:   codemode.CodeDenied,
	failure.AuthFailure:       codemode.CodeDenied,
	failure.Timeout:           codemode.CodeTimeout,
	failure.Canceled:          codemode.CodeCancelled,
	failure.ConnectionRefused: codemode.CodeDisconnected,
	failure.DNSFailure:        codemode.CodeDisconnected,
	failure.OverBudget:        codemode.CodeTooLarge,
}

// toolError is a failure of a call as the script sees it.
func (b *bridge) toolError(ctx context.Context, tool string, err error) *codemode.ToolError {
	f, ok := errors.AsType[*Failure](err)
	if !ok {
		return &codemode.ToolError{Code: codemode.CodeProtocol, Message: err.Error()}
	}
	if b.narrow() && f.Class == failure.NotFound && f.Origin == failure.OriginHost {
		seen := *f
		seen.Message = b.notFound(tool)
		f = &seen
	}
	e := &codemode.ToolError{Code: codemode.CodeProtocol, Message: f.Error()}
	if code, known := scriptCodes[f.Class]; known {
		e.Code = code
	}
	var o rawjson.Object
	o.String("class", f.Class.String())
	o.String("delivery", f.Delivery.String())
	if f.RetryAfter > 0 {
		o.Int("retryAfterMs", f.RetryAfter.Milliseconds())
	}
	if f.UpstreamCode != 0 {
		o.Int("upstreamCode", int64(f.UpstreamCode))
	}
	if json.Valid(f.UpstreamData) {
		o.Raw("upstreamData", f.UpstreamData)
	} else if len(f.UpstreamData) > 0 {
		o.String("upstreamData", string(f.UpstreamData))
	}
	if len(f.Problems) > 0 {
		var all [][]byte
		for _, p := range f.Problems {
			var one rawjson.Object
			one.String("path", p.Path)
			one.String("rule", p.Rule)
			one.String("message", p.Message)
			all = append(all, one.Bytes())
		}
		o.Raw("problems", rawjson.Array(all))
	}
	e.Details = o.Bytes()
	e.Retryable = b.retryable(ctx, tool, f)
	return e
}

// maxNear bounds how many similar names an error offers.
const maxNear = 3

// notFound is what a script that may not see everything is told of a tool, or of a
// server, that is not there. The host's own words offer names of which this script
// must not learn.
func (b *bridge) notFound(wanted string) string {
	sn, tn, isTool := name.Split(wanted)
	if !isTool {
		sn = wanted
	}
	text, near := "no such tool", []string(nil)
	if s := b.host.hub.Server(sn); s != nil {
		for _, n := range name.Near(tn, b.tools(s), maxNear) {
			near = append(near, name.Join(sn, n))
		}
	} else {
		text = "no server is called " + sn
		near = name.Near(sn, slices.DeleteFunc(slices.Clone(b.host.hub.Names()), func(n string) bool { return !b.allowsServer(n) }), maxNear)
	}
	if len(near) == 0 {
		return text
	}
	return text + "; did you mean " + strings.Join(near, ", ") + "?"
}

// retryable reports whether the same call may well succeed later and is safe to
// repeat, by the rule by which the host itself repeats calls.
func (b *bridge) retryable(ctx context.Context, tool string, f *Failure) bool {
	switch f.Class {
	case failure.ConnectionRefused, failure.Timeout, failure.DNSFailure, failure.RateLimited:
	default:
		return false
	}
	if f.Misconfigured {
		return false
	}
	if f.Delivery == failure.NotSent || f.Class == failure.RateLimited && f.RetryAfter > 0 {
		return true
	}
	t, s, err := b.host.hub.Find(ctx, tool)
	if err != nil {
		return false
	}
	trust := s.Settings().TrustHints
	return t.Word.ReadOnly || t.Word.Idempotent || trust && (t.Claim.ReadOnly || t.Claim.Idempotent)
}
