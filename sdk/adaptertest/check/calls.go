package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
)

const (
	cancelLimit  = time.Second
	atOnce       = 16
	largeArgs    = 8 << 20
	largeAnswer  = 32 << 20
	largeLimit   = 30 * time.Second
	maxToolName  = 256
	unknownTool  = "collet-verify/there-is-no-such-tool"
	settledLimit = 5 * time.Second // what an abandoned request may take to be seen to end
)

// listsTools lists twice.
func listsTools(ctx context.Context, s *subject) error {
	p, err := s.open(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	tools, rev, err := p.list(ctx)
	if err != nil {
		return broken("ListTools: %w", p.said(err))
	}
	again, rev2, err := p.list(ctx)
	if err != nil {
		return broken("ListTools a second time: %w", p.said(err))
	}
	if rev == rev2 && !slices.EqualFunc(tools, again, sameTool) {
		return broken("ListTools says something else the second time, under the same revision %q", excerpt.Of(rev, 80))
	}
	if rev != rev2 {
		return fmt.Errorf("the revision changed from %q to %q, and nothing else did", excerpt.Of(rev, 80), excerpt.Of(rev2, 80))
	}
	if !slices.IsSortedFunc(tools, func(a, b *adapterpb.Tool) int { return strings.Compare(a.GetName(), b.GetName()) }) {
		return fmt.Errorf("the tools are not sorted by name: %s", names(tools))
	}
	var wrong []string
	for i, t := range tools {
		if i > 0 && tools[i-1].GetName() == t.GetName() {
			wrong = append(wrong, fmt.Sprintf("%q is listed twice", t.GetName()))
		}
		if err := s.checkTool(t); err != nil {
			wrong = append(wrong, fmt.Sprintf("tool %q: %v", excerpt.Of(t.GetName(), 80), err))
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong[:min(len(wrong), maxNamed)], "; "))
	}
	if len(tools) == 0 {
		return passing("with these settings it has no tools")
	}
	return nil
}

func sameTool(a, b *adapterpb.Tool) bool {
	return a.GetName() == b.GetName() && bytes.Equal(a.GetDefinition(), b.GetDefinition()) && bytes.Equal(a.GetOutputSchema(), b.GetOutputSchema()) &&
		a.GetReadOnly() == b.GetReadOnly() && a.GetIdempotent() == b.GetIdempotent() && a.GetAsksConsent() == b.GetAsksConsent()
}

func (s *subject) checkTool(t *adapterpb.Tool) error {
	name, def := t.GetName(), gjson.ParseBytes(t.GetDefinition())
	switch {
	case name == "" || len(name) > maxToolName || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f }):
		return fmt.Errorf("a name is 1 to %d characters without spaces", maxToolName)
	case !isObject(t.GetDefinition()):
		return errors.New("its definition is no JSON object")
	case def.Get("name").Str != name:
		return fmt.Errorf("its definition is of %q", excerpt.Of(def.Get("name").Str, 80))
	case !def.Get("inputSchema").IsObject():
		return errors.New("its definition has no inputSchema")
	}
	if err := s.checkSchema("inputSchema", []byte(def.Get("inputSchema").Raw)); err != nil {
		return err
	}
	if out := def.Get("outputSchema"); out.Exists() {
		if err := s.checkSchema("outputSchema", []byte(out.Raw)); err != nil {
			return err
		}
	}
	if len(t.GetOutputSchema()) > 0 {
		return s.checkSchema("output_schema", t.GetOutputSchema())
	}
	return nil
}

// badArguments calls what is not there, and what is with wrong arguments.
func badArguments(ctx context.Context, s *subject) error {
	return s.bothWays(ctx, func(p *session) error { return p.misused(ctx) })
}

// misused makes calls that nobody should make.
func (p *session) misused(ctx context.Context) error {
	a := p.bounded(ctx, Call{unknownTool, []byte("{}")})
	if err := p.refused("an unknown tool", a); err != nil {
		return err
	}
	if err := p.alive(ctx); err != nil {
		return fmt.Errorf("after a call of an unknown tool: %w", err)
	}
	c, err := p.choose(ctx)
	if err != nil {
		if sk := (*skipped)(nil); errors.As(err, &sk) {
			return passing("only an unknown tool was tried: %s", sk.why)
		}
		return err
	}
	tried := false
	if len(c.schema.Get("required").Array()) > 0 {
		tried = true
		if err := p.refused(c.Tool+" with {}", p.bounded(ctx, Call{c.Tool, []byte("{}")})); err != nil {
			return err
		}
	}
	if name := c.member("string", "integer", "number", "boolean", "array", "object"); name != "" {
		tried = true
		value := []byte("[[17]]")
		if property(c.schema, name).Get("type").Str == "array" {
			value = []byte("17")
		}
		if err := p.refused(fmt.Sprintf("%s with a wrong type in %s", c.Tool, name), p.bounded(ctx, c.with(name, value))); err != nil {
			return err
		}
	}
	if err := p.alive(ctx); err != nil {
		return fmt.Errorf("after calls with wrong arguments: %w", err)
	}
	if !tried {
		return passing("only an unknown tool was tried: %s takes any arguments", c.Tool)
	}
	return nil
}

// refused says what is wrong with the answer to a call that nobody should make. A tool
// that says so itself has seen the arguments, and that is well.
func (p *session) refused(what string, a answer) error {
	f := failure.FromStatus(a.err)
	switch {
	case a.err == nil && a.isError:
		return nil
	case a.err == nil && a.events > 0:
		return fmt.Errorf("%s was carried out: %q", what, excerpt.Of(string(a.result), maxQuoted))
	case a.err == nil:
		return fmt.Errorf("%s ended without a result and without a status", what)
	case f == nil:
		return fmt.Errorf("%s: %w", what, p.said(a.err))
	case f.Class != failure.InvalidArguments && f.Class != failure.NotFound:
		return fmt.Errorf("%s is refused as %s, not as not-found or invalid-arguments: %s", what, f.Class, excerpt.Of(f.Message, maxQuoted))
	}
	return nil
}

// completed says why an answer is none to go by: skipped where the call itself was
// not understood or its upstream is not there.
func (p *session) completed(c Call, a answer) error {
	switch f := failure.FromStatus(a.err); {
	case f != nil && f.Class == failure.InvalidArguments:
		return skip(adviceCall, "%s does not take the arguments %.200s: %s", c.Tool, c.Arguments, f.Message)
	case f != nil:
		return skip(adviceCall, "%s cannot be carried out: %s: %s", c.Tool, f.Class, f.Message)
	case a.err != nil:
		return fmt.Errorf("%s: %w", c.Tool, p.said(a.err))
	}
	return wellFormed(c, a)
}

// wellFormed says what is wrong with the events of a call that ended by itself.
func wellFormed(c Call, a answer) error {
	switch {
	case a.events == 0:
		return fmt.Errorf("%s ended without a result", c.Tool)
	case a.events > 1:
		return fmt.Errorf("%s has %d results", c.Tool, a.events)
	case a.after != "":
		return fmt.Errorf("%s goes on after its result, with %s", c.Tool, strings.TrimPrefix(a.after, "*adapterpb.CallToolEvent_"))
	case a.fell != "":
		return fmt.Errorf("the progress of %s falls %s", c.Tool, a.fell)
	case a.asks:
		return nil
	case !isObject(a.result):
		return fmt.Errorf("the result of %s is no JSON object: %q", c.Tool, excerpt.Of(string(a.result), maxQuoted))
	case gjson.GetBytes(a.result, "isError").Bool() != a.isError:
		return fmt.Errorf("the result of %s and is_error disagree: %t and %t", c.Tool, gjson.GetBytes(a.result, "isError").Bool(), a.isError)
	}
	return nil
}

// oneResult makes one call.
func oneResult(ctx context.Context, s *subject) error {
	return s.each(ctx, func(p *session, c chosen) error {
		a := p.bounded(ctx, c.Call)
		if err := p.completed(c.Call, a); err != nil {
			return err
		}
		if a.isError {
			return passing("the tool says it failed: %s", excerpt.Of(string(a.result), maxQuoted))
		}
		return nil
	})
}

// each finds the call to make, and has it tried both ways.
func (s *subject) each(ctx context.Context, try func(p *session, c chosen) error) error {
	return s.bothWays(ctx, func(p *session) error {
		c, err := p.choose(ctx)
		if err != nil {
			return err
		}
		return try(p, c)
	})
}

// cancels cancels a call, where possible one whose upstream never answers.
func cancels(ctx context.Context, s *subject) error {
	return s.each(ctx, func(p *session, c chosen) error {
		seen := s.usesUpstream() || len(s.opt.FaultConfig) > 0
		if seen {
			if !s.usesUpstream() {
				streamed := p.streamed
				p.close()
				var err error
				if p, err = s.start(ctx); err != nil {
					return err
				}
				defer p.close()
				p.streamed = streamed
				if err := p.configure(ctx, s.opt.FaultConfig); err != nil {
					return err
				}
			}
			s.up.play(faultSilent)
			defer s.up.play("")
		}
		calling, cancel := context.WithCancel(ctx)
		ended := make(chan answer, 1)
		go func() {
			ended <- p.call(calling, &adapterpb.CallToolRequest{Tool: c.Tool, Arguments: c.Arguments}, cancel)
		}()
		asked := false
		if seen {
			step, stop := s.within(ctx, settledLimit)
			asked = s.up.held(step, func(n int) bool { return n > 0 })
			stop()
		}
		cancel()
		a := <-ended
		if a.err != nil && status.Code(a.err) != codes.Canceled && failure.FromStatus(a.err) == nil {
			return fmt.Errorf("a canceled call of %s: %w", c.Tool, p.said(a.err))
		}
		if asked {
			step, stop := s.within(ctx, cancelLimit)
			defer stop()
			if !s.up.held(step, func(n int) bool { return n == 0 }) && !s.up.toldToCancel() {
				return fmt.Errorf("%s after it canceled %s the plugin was still waiting for the upstream", s.patient(cancelLimit), c.Tool)
			}
		}
		s.up.play("")
		// Nothing tells when the plugin is done with the call: what ends it may come a moment later.
		settling := time.NewTimer(exitWait)
		defer settling.Stop()
		select {
		case <-p.proc.Done():
		case <-settling.C:
		}
		if err := p.alive(ctx); err != nil {
			return fmt.Errorf("after a canceled call: %w", err)
		}
		if !asked {
			return passing("only that the process outlives it: no call was seen to wait for a fake upstream")
		}
		return nil
	})
}

// concurrent makes calls side by side.
func concurrent(ctx context.Context, s *subject) error {
	return s.each(ctx, func(p *session, c chosen) error {
		if err := p.completed(c.Call, p.bounded(ctx, c.Call)); err != nil {
			return err
		}
		answers := make([]answer, atOnce)
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() { answers[i] = p.bounded(ctx, c.Call) })
		}
		wg.Wait()
		for i, a := range answers {
			if f := failure.FromStatus(a.err); f != nil {
				if f.Class != failure.RateLimited {
					return fmt.Errorf("%d calls of %s at once: number %d ended in %s: %s", atOnce, c.Tool, i+1, f.Class, f.Message)
				}
			} else if err := p.completed(c.Call, a); err != nil {
				return fmt.Errorf("%d calls at once: number %d: %w", atOnce, i+1, err)
			}
		}
		return nil
	})
}

// largeArguments sends more than gRPC's own default.
func largeArguments(ctx context.Context, s *subject) error {
	return s.each(ctx, func(p *session, c chosen) error {
		call, ok := c.padded(largeArgs)
		if !ok {
			call = c.with("collet_verify_padding", append(append([]byte{'"'}, bytes.Repeat([]byte("x"), largeArgs)...), '"'))
		}
		if p.streamed {
			return nil // a host sends none as large on a stream of many
		}
		a := p.large(ctx, call)
		if a.err != nil && failure.FromStatus(a.err) == nil {
			return fmt.Errorf("%s with %d MiB of arguments: %w", c.Tool, largeArgs>>20, p.said(a.err))
		}
		if a.err == nil {
			if err := wellFormed(call, a); err != nil {
				return fmt.Errorf("%d MiB of arguments: %w", largeArgs>>20, err)
			}
		}
		if err := p.alive(ctx); err != nil {
			return fmt.Errorf("after %d MiB of arguments: %w", largeArgs>>20, err)
		}
		return nil
	})
}

func (p *session) large(ctx context.Context, c Call) answer {
	ctx, cancel := p.s.within(ctx, largeLimit)
	defer cancel()
	return p.call(ctx, &adapterpb.CallToolRequest{Tool: c.Tool, Arguments: c.Arguments}, nil)
}

// largeResult asks for more than gRPC's own default.
func largeResult(ctx context.Context, s *subject) error {
	return s.each(ctx, func(p *session, c chosen) error {
		const advice = `name a call whose result is large, with --large 'TOOL={"argument":"value"}'`
		call, named := s.opt.Large, s.opt.Large.Tool != ""
		if !named {
			var ok bool
			if call, ok = c.padded(largeAnswer); !ok {
				return skip(advice, "%s has no argument that could make its result large", c.Tool)
			}
		} else if len(call.Arguments) == 0 {
			call.Arguments = []byte("{}")
		}
		p.streamed = p.streamed && len(call.Arguments) <= maxStreamed
		a := p.large(ctx, call)
		f := failure.FromStatus(a.err)
		switch {
		case a.err != nil && f == nil:
			return fmt.Errorf("a large result of %s: %w", call.Tool, p.said(a.err))
		case f != nil && f.Class != failure.InvalidResult && named:
			return fmt.Errorf("%s failed with %s: %s", call.Tool, f.Class, f.Message)
		case f == nil:
			if err := wellFormed(call, a); err != nil {
				return err
			}
		}
		if err := p.alive(ctx); err != nil {
			return fmt.Errorf("after a large result: %w", err)
		}
		if len(a.result) < largeAnswer && (f == nil || f.Class != failure.InvalidResult) {
			return skip(advice, "%s answered %d MiB of arguments with %d bytes", call.Tool, len(call.Arguments)>>20, len(a.result))
		}
		return nil
	})
}
