// Package hook asks the hooks of a configuration: plugins that edit the table of
// servers, the definitions of tools, calls and results. It runs each in a process of
// its own, bounds each answer, and says what on_error makes of a hook that does not
// work. It knows no server and makes no call.
package hook

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/name"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
)

// Surroundings are what hooks need of the host. Set once.
type Surroundings struct {
	// Find is the file of a plugin, of its name or path as seen from dir.
	Find func(name, dir string) (string, error)
	// Describe is what the file says of itself.
	Describe func(ctx context.Context, path string, env []string) (*describe.Description, error)
	// Admit is what to execute for the file of a hook that Find has found: the file, or
	// a copy of it. Once it runs, swapped says whether that may be something else
	// than what was looked at. Nil: the file.
	Admit func(ctx context.Context, set *config.Hook, path string) (run string, swapped func() error, err error)
	// Foreseen is told of an entry before its values are resolved, which may fail. Nil:
	// nobody is.
	Foreseen func(set *config.Hook)
	// Resolved is told of the values of an entry before its process gets them. Nil:
	// nobody is.
	Resolved func(res *config.Resolved, desc *describe.Description)
	// Stderr keeps what the process of a hook writes there, until end. Nil keeps nothing.
	Stderr func(set *config.Hook) (line func([]byte), end func())
	// Conceal keeps secrets out of what a hook says. Nil: it is as it came.
	Conceal  func(string) string
	Resolver config.Resolver
	Environ  []string
	Log      *slog.Logger
	Version  string
}

// Chain is the hooks of a configuration, in file order. Its zero value, and nil, have
// none. Safe for concurrent use.
type Chain struct {
	env Surroundings

	mu      sync.Mutex
	members []*member
	leaving sync.WaitGroup
	closed  bool
}

// New returns a chain without hooks; Apply gives it some.
func New(env Surroundings) *Chain { return &Chain{env: env} }

// Apply puts other hooks in the place of the present ones. One whose entry did not
// change keeps its process; the others' are stopped when nobody waits for them.
func (c *Chain) Apply(hooks []*config.Hook) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return
	}
	before := c.members
	c.members = nil
	for _, h := range hooks {
		if !h.Enabled {
			continue
		}
		m := newMember(h, &c.env)
		if i := slices.IndexFunc(before, func(old *member) bool { return old.identity == m.identity }); i >= 0 {
			m.process = before[i].process // its rules may be others now
			before = slices.Delete(slices.Clone(before), i, i+1)
		}
		c.members = append(c.members, m)
	}
	for _, m := range before {
		c.leaving.Go(func() { m.process.stop(drainWait) })
	}
}

// Close stops all processes and waits for them. Requests under way fail.
func (c *Chain) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	members := c.members
	c.members, c.closed = nil, true
	c.mu.Unlock()
	for _, m := range members {
		c.leaving.Go(func() { m.process.stop(0) })
	}
	c.leaving.Wait()
}

func (c *Chain) now() []*member {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.members
}

// Call is one call of one tool, as hooks are told of it.
type Call struct {
	ID, Server, Tool, Caller string
	Arguments                json.RawMessage
}

func (c Call) fullName() string { return name.Join(c.Server, c.Tool) }

// Outcome is what hooks make of a call or of a result.
type Outcome struct {
	// Arguments are set by Before where they are others than the caller's.
	Arguments json.RawMessage
	// Result is, of Before, the answer of a hook, with which nothing is sent; of After,
	// the result where it is another than the tool's.
	Result json.RawMessage
	// Notices are hooks that did not work and whose on_error lets that pass.
	Notices []Notice
}

// Notice says that a hook was not asked, and why.
type Notice struct{ Hook, Text string }

// Before asks about a call, in file order: each hook sees what the one before it made
// of the arguments. The error is why the call is not made; its delivery is NotSent.
func (c *Chain) Before(ctx context.Context, call Call) (Outcome, *failure.Failure) {
	var out Outcome
	for _, m := range c.now() {
		if !m.about(call.fullName()) {
			continue
		}
		var resp *hookpb.BeforeResponse
		asked, err := m.ask(ctx, pointBefore, func(ctx context.Context, client hookpb.HookClient) (err error) {
			resp, err = client.Before(ctx, &hookpb.BeforeRequest{
				CallId: call.ID, Server: call.Server, Tool: call.Tool, Caller: call.Caller, Arguments: call.Arguments,
			})
			if err == nil {
				err = m.objects(resp.GetArguments(), resp.GetAnswer())
			}
			return err
		})
		switch {
		case err != nil:
			if fail := m.broken(ctx, &out, err, failure.NotSent); fail != nil {
				return out, fail
			}
			continue
		case !asked:
			continue
		}
		switch v := resp.GetVerdict().(type) {
		case *hookpb.BeforeResponse_Refuse:
			return out, m.refusal(failure.FromProto(v.Refuse), failure.NotSent)
		case *hookpb.BeforeResponse_Answer:
			out.Result = v.Answer
			return out, nil
		case *hookpb.BeforeResponse_Arguments:
			call.Arguments, out.Arguments = v.Arguments, v.Arguments
		}
	}
	return out, nil
}

// After asks about a result, the last hook of the file first: the first one stands
// next to the caller. The error is why the caller does not get it; its delivery is
// Answered.
func (c *Chain) After(ctx context.Context, call Call, result json.RawMessage) (Outcome, *failure.Failure) {
	var out Outcome
	for _, m := range slices.Backward(c.now()) {
		if !m.about(call.fullName()) {
			continue
		}
		var resp *hookpb.AfterResponse
		asked, err := m.ask(ctx, pointAfter, func(ctx context.Context, client hookpb.HookClient) (err error) {
			resp, err = client.After(ctx, &hookpb.AfterRequest{
				CallId: call.ID, Server: call.Server, Tool: call.Tool, Caller: call.Caller, Arguments: call.Arguments, Result: result,
			})
			if err == nil {
				err = m.objects(resp.GetResult())
			}
			return err
		})
		switch {
		case err != nil:
			if fail := m.broken(ctx, &out, err, failure.Answered); fail != nil {
				return out, fail
			}
			continue
		case !asked:
			continue
		}
		switch v := resp.GetVerdict().(type) {
		case *hookpb.AfterResponse_Refuse:
			return out, m.refusal(failure.FromProto(v.Refuse), failure.Answered)
		case *hookpb.AfterResponse_Result:
			result, out.Result = v.Result, v.Result
		}
	}
	return out, nil
}

// EditServers has the hooks edit the table of servers of a configuration that was
// just read, in file order. Where one does not work, or asks for what mcp.toml could
// not say, that is a Problem; under on_error = "closed" no server is left then, since
// nobody can tell which of them the hook would have kept from starting.
func (c *Chain) EditServers(ctx context.Context, read *config.Config) *config.Config {
	for _, m := range c.now() {
		edited, err := m.editServers(ctx, read)
		if err == nil {
			read = edited
			continue
		}
		after := *read
		problem := config.Problem{File: m.set.File, Line: m.set.Line, Key: "hooks." + m.set.Name}
		if m.set.OnError == config.OnErrorOpen {
			problem.Message = fmt.Sprintf("could not edit the servers: %s; they are as the files say (on_error = %q)", m.reason(err), config.OnErrorOpen)
		} else {
			problem.Message = fmt.Sprintf("could not edit the servers: %s; none is used: mend the hook, set enabled = false, or on_error = %q to do without it", m.reason(err), config.OnErrorOpen)
			after.Servers = nil
		}
		after.Problems = append(slices.Clone(read.Problems), problem)
		read = &after
	}
	return read
}

// Definition is one tool as its server defines it.
type Definition struct {
	Name string
	JSON json.RawMessage // the MCP tool object
}

// EditTools has the hooks edit a server's list of tools, in file order. The error is a
// hook that does not work, under on_error = "closed".
func (c *Chain) EditTools(ctx context.Context, server string, tools []Definition) ([]Definition, *failure.Failure) {
	for _, m := range c.now() {
		edited, err := m.editTools(ctx, server, tools)
		if err != nil {
			var out Outcome
			if fail := m.broken(ctx, &out, err, failure.NotSent); fail != nil {
				return nil, fail
			}
			m.env.Log.Warn("the tools are as the server defines them", "server", server, "error", out.Notices[0].Text)
			continue
		}
		tools = edited
	}
	return tools, nil
}

// Edition tells chains apart that may answer otherwise; "" has no hooks.
func (c *Chain) Edition() string {
	members := c.now()
	if len(members) == 0 {
		return ""
	}
	sum := sha256.New()
	for _, m := range members {
		fmt.Fprintf(sum, "%q %q %q\n", m.identity, m.set.Tools, m.set.OnError)
	}
	return fmt.Sprintf(" hooks %x", sum.Sum(nil)[:8])
}

// Names are the names of the hooks, in file order.
func (c *Chain) Names() []string {
	var all []string
	for _, m := range c.now() {
		all = append(all, m.set.Name)
	}
	return all
}

// Status is how a hook is.
type Status struct {
	Name, Plugin, OnError string
	Points                []string // at which it is asked; nil when that is not known
	Pid                   int      // 0 when it does not run
	Err                   error    // why it does not work
}

// Check starts the hooks that do not run and says how each is, in file order.
func (c *Chain) Check(ctx context.Context) []Status {
	var all []Status
	for _, m := range c.now() {
		s := Status{Name: m.set.Name, Plugin: m.set.Plugin, OnError: m.set.OnError}
		desc, use, err := m.process.ready(ctx)
		if err != nil {
			s.Err = errors.New(m.reason(err))
		} else {
			s.Points, s.Pid = desc.Features, use.proc.Pid()
			use.done()
		}
		all = append(all, s)
	}
	return all
}
