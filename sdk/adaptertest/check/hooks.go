package check

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	hookpb "github.com/collet-dev/collet/sdk/hookpb/v1"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
	"github.com/collet-dev/collet/sdk/launch"
)

// kindHook is how describe names the second kind of plugin.
const kindHook = "hook"

// hookChecks are the rules that a hook keeps, under the numbers of those of adapters
// that they are like.
var hookChecks []*check

// likeAdapters makes the checks of hooks.
func likeAdapters() []*check {
	like := func(name, title, advice string, run func(context.Context, *subject) error) *check {
		i := slices.IndexFunc(checks, func(c *check) bool { return c.name == name })
		c := *checks[i]
		if title != "" {
			c.title, c.advice = title, advice
		}
		if run != nil {
			c.run = run
		}
		c.configured = name == "events" || name == "concurrent" || name == "large-arguments" || name == "unknown-fields"
		return &c
	}
	return []*check{
		like("describe", "describe prints what it is, soon and without a network", `print the description as JSON with "kind": "hook", before anything else is opened`, describesHook),
		like("identity", "name, version, points and variables are well-formed", `correct what describe prints; points are "servers", "tools", "before", "after"`, identityOfHook),
		like("config-schema", "", "", nil),
		like("no-cookie", "", "", nil),
		like("stdout", "", "", nil),
		like("bad-config", "", "", badHookConfig),
		like("configure", "Configure accepts its settings, within 5 s", "give it settings it accepts with --config, and do slow work later", configuresHook),
		like("events", "at each of its points it answers, with JSON objects", "answer within the entry's timeout; an error is a hook that does not work", hookAnswers),
		like("concurrent", "16 requests at once are all answered", "keep what requests share behind a lock", concurrentHook),
		like("large-arguments", "8 MiB of arguments or of a result are accepted", "raise the gRPC server's limit of received messages to 65 MiB", largeForHook),
		like("lease", "", "", nil),
		like("shutdown", "", "", nil),
		like("unknown-fields", "", "", unknownForHook),
	}
}

// asHook takes the description of a hook for what the RPC of an adapter says; false
// when it is none.
func (s *subject) asHook(ctx context.Context) bool {
	said, err := s.describeCommand(ctx, nil)
	var d describe.Description
	if err != nil || json.Unmarshal(said, &d) != nil || d.Kind != kindHook {
		return false
	}
	s.hook, s.asked = true, true
	s.desc = &adapterpb.DescribeResponse{Name: d.Name, Version: d.Version, Summary: d.Summary, Features: d.Features, Environment: d.Environment, ConfigSchema: d.ConfigSchema}
	p, err := s.openHook(ctx)
	if err != nil {
		s.configErr = err
		return true
	}
	p.close()
	return true
}

// ofHook are the checks of a selection that hooks have.
func ofHook(selected []*check) []*check {
	var out []*check
	for _, c := range hookChecks {
		if slices.ContainsFunc(selected, func(s *check) bool { return s.name == c.name }) {
			out = append(out, c)
		}
	}
	return out
}

// startHook starts a hook without its settings.
func (s *subject) startHook(ctx context.Context) (*session, error) {
	dir, err := os.MkdirTemp(s.root, "cwd")
	if err != nil {
		return nil, err
	}
	proc, err := launch.Start(ctx, launch.Spec{Path: s.opt.Path, Kind: launch.Hook, Name: "verify", Env: s.env(), Dir: dir, StartTimeout: s.patient(startLimit)})
	if err != nil {
		return nil, err
	}
	return &session{s: s, proc: proc}, nil
}

func (p *session) configureHook(ctx context.Context, config []byte) error {
	ctx, cancel := p.s.within(ctx, configureLimit)
	defer cancel()
	_, err := p.proc.Hook().Configure(ctx, &hookpb.ConfigureRequest{Name: "verify", Config: config, HostVersion: "0.0.0"})
	return err
}

func (s *subject) openHook(ctx context.Context) (*session, error) {
	p, err := s.startHook(ctx)
	if err != nil {
		return nil, err
	}
	if err := p.configureHook(ctx, s.config(s.opt.Config)); err != nil {
		err = broken("Configure: %w", p.said(err))
		p.close()
		return nil, err
	}
	return p, nil
}

func describesHook(ctx context.Context, s *subject) error {
	said, err := s.describeCommand(ctx, nil)
	if err != nil {
		return err
	}
	if n := s.up.proxied(); n > 0 {
		return fmt.Errorf("%s describe used the network: it asked a proxy %d times", s.base(), n)
	}
	if withoutNetwork == nil {
		return nil
	}
	alone, err := s.describeCommand(ctx, withoutNetwork)
	switch {
	case errors.Is(err, errNotStarted):
		return passing("whether it works without a network was only looked at with a proxy: this system does not allow to cut it off")
	case err != nil:
		return fmt.Errorf("without a network: %w", err)
	case !bytes.Equal(alone, said):
		return fmt.Errorf("without a network %s describe prints something else: %q", s.base(), excerpt.Of(string(alone), maxQuoted))
	}
	return nil
}

var hookPoints = []string{"servers", "tools", "before", "after"}

func identityOfHook(ctx context.Context, s *subject) error {
	for _, point := range s.desc.GetFeatures() {
		if !slices.Contains(hookPoints, point) {
			return fmt.Errorf("it wants to be asked at %q; there are: %s", excerpt.Of(point, 80), strings.Join(hookPoints, ", "))
		}
	}
	if len(s.desc.GetFeatures()) == 0 {
		return errors.New("it names no point at which it wants to be asked, so it never is")
	}
	whole := s.desc
	defer func() { s.desc = whole }()
	s.desc = proto.CloneOf(whole)
	s.desc.Features = nil // those are not features of adapters
	return identity(ctx, s)
}

func badHookConfig(ctx context.Context, s *subject) error {
	bad, mistake := breakConfig(s.desc.GetConfigSchema())
	if bad == nil {
		return skip("declare settings, or forbid unknown ones with additionalProperties: false", "its config_schema allows every config there is")
	}
	p, err := s.startHook(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	err = p.configureHook(ctx, bad)
	f := failure.FromStatus(err)
	switch {
	case err == nil:
		return broken("Configure accepted %s, in which %s", bad, mistake)
	case f == nil:
		return broken("Configure with %s, in which %s: %w", bad, mistake, p.said(err))
	case f.Class != failure.InvalidArguments || len(f.Problems) == 0:
		return broken("Configure with %s is refused as %s with %d problems, not as invalid-arguments with one for each mistake", bad, f.Class, len(f.Problems))
	}
	return p.alive(ctx)
}

func configuresHook(_ context.Context, s *subject) error { return s.configErr }

// ask asks at every point that the hook names.
func (p *session) ask(ctx context.Context, text string, unknown bool) error {
	ctx, cancel := p.s.within(ctx, stepLimit)
	defer cancel()
	quoted, err := json.Marshal(text)
	if err != nil {
		return err
	}
	args := fmt.Appendf(nil, `{"text":%s}`, quoted)
	result := fmt.Appendf(nil, `{"content":[{"type":"text","text":%s}]}`, quoted)
	for _, point := range p.s.desc.GetFeatures() {
		var err error
		var answers [][]byte
		client := p.proc.Hook()
		switch point {
		case "servers":
			req := &hookpb.EditServersRequest{Servers: []*hookpb.Server{{Name: "files", Entry: []byte(`{"command":"files","args":["."]}`)}}}
			var resp *hookpb.EditServersResponse
			resp, err = client.EditServers(ctx, newer(req, unknown))
			for _, e := range resp.GetEdits() {
				if set := e.GetSet(); set != nil {
					answers = append(answers, set.GetEntry())
				}
			}
		case "tools":
			req := &hookpb.EditToolsRequest{Server: "files", Tools: []*hookpb.Tool{{Name: "read", Definition: []byte(`{"name":"read","inputSchema":{"type":"object"}}`)}}}
			var resp *hookpb.EditToolsResponse
			resp, err = client.EditTools(ctx, newer(req, unknown))
			for _, e := range resp.GetEdits() {
				if !e.GetHide() {
					answers = append(answers, e.GetDefinition())
				}
			}
		case "before":
			req := &hookpb.BeforeRequest{CallId: "verify", Server: "files", Tool: "read", Caller: "cli", Arguments: args}
			var resp *hookpb.BeforeResponse
			resp, err = client.Before(ctx, newer(req, unknown))
			answers = [][]byte{resp.GetArguments(), resp.GetAnswer()}
		case "after":
			req := &hookpb.AfterRequest{CallId: "verify", Server: "files", Tool: "read", Caller: "cli", Arguments: args, Result: result}
			var resp *hookpb.AfterResponse
			resp, err = client.After(ctx, newer(req, unknown))
			answers = [][]byte{resp.GetResult()}
		}
		if err != nil {
			return fmt.Errorf("at the point %s: %w", point, p.said(err))
		}
		for _, a := range answers {
			if len(a) > 0 && !isObject(a) {
				return fmt.Errorf("at the point %s it answers with what is no JSON object: %q", point, excerpt.Of(string(a), maxQuoted))
			}
		}
	}
	return nil
}

// newer is a request of a newer host, if it is to be one.
func newer[M proto.Message](m M, unknown bool) M {
	if unknown {
		return addUnknown(m)
	}
	return m
}

// asking has a configured hook asked.
func (s *subject) asking(ctx context.Context, do func(*session) error) error {
	p, err := s.openHook(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	if err := do(p); err != nil {
		return err
	}
	return p.alive(ctx)
}

func hookAnswers(ctx context.Context, s *subject) error {
	return s.asking(ctx, func(p *session) error { return p.ask(ctx, "a", false) })
}

func concurrentHook(ctx context.Context, s *subject) error {
	return s.asking(ctx, func(p *session) error {
		errs := make([]error, atOnce)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = p.ask(ctx, "a", false) })
		}
		wg.Wait()
		return errors.Join(errs...)
	})
}

func largeForHook(ctx context.Context, s *subject) error {
	return s.asking(ctx, func(p *session) error { return p.ask(ctx, strings.Repeat("x", largeArgs), false) })
}

func unknownForHook(ctx context.Context, s *subject) error {
	return s.asking(ctx, func(p *session) error { return p.ask(ctx, "a", true) })
}
