package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// silentLimit is the deadline of the call that an upstream never answers.
const silentLimit = 2 * time.Second

// fault is one way in which an upstream fails, and what an adapter makes of it.
type fault struct {
	name    string
	classes []failure.Class
	exact   func(f *failure.Failure) string // what else is missing, "" for nothing
}

// faultTable is docs/contract.md, Failures, for an upstream over HTTP.
var faultTable = []fault{
	{"refused", []failure.Class{failure.ConnectionRefused}, notSent},
	{"unresolvable", []failure.Class{failure.DNSFailure}, notSent},
	{faultSilent, []failure.Class{failure.Timeout}, nil},
	{faultUnauthorized, []failure.Class{failure.AuthFailure}, func(f *failure.Failure) string {
		if f.Challenge == "" {
			return "it does not pass on the challenge of WWW-Authenticate"
		}
		return ""
	}},
	{faultForbidden, []failure.Class{failure.InvalidArguments, failure.ServerError, failure.InvalidResult}, nil},
	{faultRateLimited, []failure.Class{failure.RateLimited}, func(f *failure.Failure) string {
		if f.RetryAfter != retryAfter*time.Second {
			return fmt.Sprintf("its retry_after is %s, and the upstream said %d s", f.RetryAfter, retryAfter)
		}
		return ""
	}},
	{faultBroken, []failure.Class{failure.ServerError}, nil},
	{faultTruncated, []failure.Class{failure.InvalidResult, failure.ServerError, failure.ConnectionRefused}, nil},
}

func notSent(f *failure.Failure) string {
	if f.Delivery != failure.NotSent {
		return "its delivery is " + f.Delivery.String() + ", and nothing was sent"
	}
	return ""
}

// faults plays each fault to a process of its own.
func faults(ctx context.Context, s *subject) error {
	if len(s.opt.FaultConfig) == 0 {
		return skip(`say which setting is the upstream's URL: --config '{"url":"`+Placeholder+`"}', or --fault-config beside proper settings`,
			"no setting leads to a fake upstream")
	}
	defer s.up.play("")
	var wrong, reasons []string
	unseen := map[string][]string{} // faults by why they were not seen
	var unavailable []string        // faults that a tool answers with available: false
	tool := ""
	for _, f := range faultTable {
		err := s.meet(ctx, f)
		var sk *skipped
		var n *note
		switch {
		case errors.As(err, &n):
			unavailable, tool = append(unavailable, f.name), n.text
		case errors.As(err, &sk):
			if unseen[sk.why] == nil {
				reasons = append(reasons, sk.why)
			}
			unseen[sk.why] = append(unseen[sk.why], f.name)
		case err != nil:
			wrong = append(wrong, f.name+": "+err.Error())
		}
	}
	var text []string
	missing := 0
	for _, why := range reasons {
		missing += len(unseen[why])
		text = append(text, strings.Join(unseen[why], ", ")+": "+why)
	}
	switch {
	case len(wrong) > 0:
		return errors.New(strings.Join(wrong, "; "))
	case missing == len(faultTable):
		return skip(adviceCall, "no request reached the fake upstream: %s", reasons[0])
	case len(unavailable) > 0:
		text = append(text, fmt.Sprintf("%s: %s answers with available: false and a reason, which has no class", strings.Join(unavailable, ", "), tool))
		return passing("%s", strings.Join(text, "; "))
	case missing > 0:
		return passing("not all were seen: %s", strings.Join(text, "; "))
	}
	return nil
}

// meet has one fault played and looks at the first failure that comes of it.
func (s *subject) meet(ctx context.Context, f fault) error {
	base := s.up.url()
	switch f.name {
	case "refused":
		at, err := refusing()
		if err != nil {
			return err
		}
		base = "http://" + at
	case "unresolvable":
		base = "https://collet-verify.invalid" // RFC 2606: it never resolves
	default:
		s.up.play(f.name)
	}
	p, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	if err := p.configure(ctx, json.RawMessage(strings.ReplaceAll(string(s.opt.FaultConfig), Placeholder, base))); err != nil {
		return err
	}
	limit := s.patient(stepLimit)
	if f.name == faultSilent {
		limit = s.patient(silentLimit)
	}
	step, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	what := "ListTools"
	_, err = p.ListTools(step, &adapterpb.ListToolsRequest{})
	if err == nil {
		c, chooseErr := p.choose(ctx)
		if chooseErr != nil {
			return chooseErr
		}
		what = c.Tool
		a := p.call(step, &adapterpb.CallToolRequest{Tool: c.Tool, Arguments: c.Arguments}, nil)
		if a.err == nil && s.up.played() == 0 && base == s.up.url() {
			return skip("", "%s did not ask the upstream", c.Tool)
		}
		if a.err == nil && a.isError {
			return fmt.Errorf("%s ends in a result with isError, and it could not be carried out: that is a Failure", c.Tool)
		}
		if a.err == nil && degraded(a.result) {
			return &note{c.Tool}
		}
		if a.err == nil {
			return fmt.Errorf("%s ends in a result", c.Tool)
		}
		err = a.err
	}
	return p.judge(ctx, f, what, err)
}

// degraded says whether a result says itself, to programs and not in prose, that the
// upstream could not be used and why: a tool that puts together what several sources
// have answers so, and a caller goes on with the others.
func degraded(result []byte) bool {
	s := gjson.GetBytes(result, "structuredContent")
	return s.Get("available").Type == gjson.False && s.Get("reason").Type == gjson.String && strings.TrimSpace(s.Get("reason").Str) != ""
}

// judge holds the end of a request against the table.
func (p *session) judge(ctx context.Context, f fault, what string, err error) error {
	got := failure.FromStatus(err)
	switch {
	case got == nil && f.name == faultSilent && status.Code(err) == codes.DeadlineExceeded:
		if err := p.alive(ctx); err != nil { // the call's own deadline came first, as it may
			return fmt.Errorf("after a call that timed out: %w", err)
		}
		return nil
	case got == nil:
		return fmt.Errorf("%s: %w", what, p.said(err))
	case !slices.Contains(f.classes, got.Class):
		return fmt.Errorf("%s is %s, and has to be %s (%.200s)", what, got.Class, f.classes[0], got.Message)
	case got.Message == "":
		return fmt.Errorf("%s fails without a message", what)
	case f.exact != nil && f.exact(got) != "":
		return fmt.Errorf("%s: %s", what, f.exact(got))
	}
	return nil
}
