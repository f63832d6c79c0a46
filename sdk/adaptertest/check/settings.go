package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// What a host accepts as a schema.
const (
	maxSchema      = 256 << 10 // bytes
	maxSchemaDepth = 64
)

// credentialWords end the names of settings that are most likely secrets.
var credentialWords = []string{"token", "secret", "password", "passwd", "key", "apikey", "credentials"}

// schemaOfConfig looks at config_schema.
func schemaOfConfig(_ context.Context, s *subject) error {
	schema := s.desc.GetConfigSchema()
	if len(schema) == 0 {
		return errors.New("config_schema is empty: without one a host cannot tell a mistake in the settings before it starts the plugin")
	}
	if err := s.checkSchema("config_schema", schema); err != nil {
		return err
	}
	root := gjson.ParseBytes(schema)
	if t := root.Get("type"); t.Str != "object" {
		return fmt.Errorf(`config_schema's root has "type": %.60s, and must have "object": a config is a table`, orNothing(t.Raw))
	}
	unmarked := unmarkedIn(root, "")
	if len(unmarked) > 0 {
		return fmt.Errorf(`%s looks like a credential and has no "x-collet-secret": true: its value would be shown; false says that it is none`, strings.Join(unmarked, ", "))
	}
	return nil
}

// unmarkedIn names the settings that look like credentials and are not marked.
func unmarkedIn(schema gjson.Result, path string) (names []string) {
	schema.Get("properties").ForEach(func(name, p gjson.Result) bool {
		words := strings.FieldsFunc(strings.ToLower(name.Str), func(r rune) bool { return r == '_' || r == '-' })
		switch at := path + name.Str; {
		case p.Get("x-collet-secret").IsBool(): // somebody has thought of it
		case len(words) > 0 && slices.Contains(credentialWords, words[len(words)-1]) && holdsText(p):
			names = append(names, at)
		case p.Get("properties").Exists() && strings.Count(at, ".") < maxExample:
			names = append(names, unmarkedIn(p, at+".")...)
		}
		return true
	})
	return names
}

// checkSchema holds a schema against what a host compiles.
func (s *subject) checkSchema(what string, schema []byte) error {
	switch {
	case !gjson.ValidBytes(schema):
		return fmt.Errorf("%s is not JSON", what)
	case len(schema) > maxSchema:
		return fmt.Errorf("%s has %d bytes, and a host reads at most %d", what, len(schema), maxSchema)
	case depth(schema) > maxSchemaDepth:
		return fmt.Errorf("%s is nested deeper than %d", what, maxSchemaDepth)
	case !gjson.ParseBytes(schema).IsObject():
		return fmt.Errorf("%s is no JSON object", what)
	}
	if s.opt.Compile == nil {
		return nil
	}
	if err := s.opt.Compile(schema); err != nil {
		return fmt.Errorf("%s cannot be used: %w", what, err)
	}
	return nil
}

// depth is how deep a JSON text is nested.
func depth(b []byte) int {
	deepest, now, quoted := 0, 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			now++
			deepest = max(deepest, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return deepest
}

func isSecret(p gjson.Result) bool { return p.Get("x-collet-secret").Type == gjson.True }

// holdsText says whether a setting can be a string, or a table of them.
func holdsText(p gjson.Result) bool {
	t := p.Get("type")
	return !t.Exists() || t.Str == "string" || t.IsArray() || p.Get("additionalProperties.type").Str == "string"
}

func orNothing(raw string) string {
	if raw == "" {
		return "nothing"
	}
	return raw
}

// badConfig gives it settings that its own schema forbids, then proper ones.
func badConfig(ctx context.Context, s *subject) error {
	bad, mistake := breakConfig(s.desc.GetConfigSchema())
	if bad == nil {
		return skip("declare settings, or forbid unknown ones with additionalProperties: false", "its config_schema allows every config there is")
	}
	p, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	req, err := p.request(json.RawMessage(bad))
	if err != nil {
		return err
	}
	step, cancel := s.within(ctx, configureLimit)
	defer cancel()
	_, err = p.Configure(step, req)
	f := failure.FromStatus(err)
	switch {
	case err == nil:
		return broken("Configure accepted %s, in which %s", bad, mistake)
	case f == nil:
		return broken("Configure with %s, in which %s: %w", bad, mistake, p.said(err))
	case f.Class != failure.InvalidArguments || status.Code(err) != codes.InvalidArgument:
		return broken("Configure with %s is refused as %s (%s), not as invalid-arguments (InvalidArgument)", bad, f.Class, status.Code(err))
	case len(f.Problems) == 0:
		return broken("Configure with %s is refused without problems, so nobody is told where the mistake is: %q", bad, f.Message)
	}
	if err := p.alive(ctx); err != nil {
		return fmt.Errorf("after a refused Configure: %w", err)
	}
	if s.configErr != nil {
		return passing("whether it takes proper settings afterwards was not tried: it does not take its settings at all")
	}
	if err := p.configure(ctx, s.opt.Config); err != nil {
		return fmt.Errorf("proper settings after a refused Configure: %w", err)
	}
	return nil
}

// breakConfig is a config that breaks schema, and what is wrong with it; nil when it
// finds none.
func breakConfig(schema []byte) (config []byte, wrong string) {
	root := gjson.ParseBytes(schema)
	root.Get("properties").ForEach(func(name, p gjson.Result) bool {
		value := ""
		switch p.Get("type").Str {
		case "string", "array", "object":
			value = "17"
		case "integer", "number", "boolean":
			value = `"seventeen"`
		default:
			return true
		}
		config, wrong = fmt.Appendf(nil, "{%s:%s}", name.Raw, value), fmt.Sprintf("%s is no %s", name.Str, p.Get("type").Str)
		return false
	})
	if config == nil && root.Get("additionalProperties").Type == gjson.False {
		return []byte(`{"collet_verify":17}`), "collet_verify is no known setting"
	}
	return config, wrong
}

// configures times Configure while the upstream says nothing, and reads Watch's begin.
func configures(ctx context.Context, s *subject) error {
	if s.configErr != nil {
		return s.configErr
	}
	s.up.play(faultSilent)
	defer s.up.play("")
	p, err := s.start(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	config := s.opt.Config
	if !s.usesUpstream() && len(s.opt.FaultConfig) > 0 {
		config = s.opt.FaultConfig
	}
	req, err := p.request(config)
	if err != nil {
		return err
	}
	step, cancel := s.within(ctx, configureLimit)
	defer cancel()
	if _, err := p.Configure(step, req); status.Code(err) == codes.DeadlineExceeded {
		return broken("Configure had not returned after %s, with an upstream that accepts connections and says nothing", s.patient(configureLimit))
	} else if err != nil {
		return broken("Configure: %w", p.said(err))
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	stream, err := p.Watch(watching, &adapterpb.WatchRequest{})
	if err != nil {
		return broken("Watch: %w", p.said(err))
	}
	type received struct {
		event *adapterpb.WatchEvent
		err   error
	}
	first := make(chan received, 1)
	go func() {
		ev, err := stream.Recv()
		first <- received{ev, err}
	}()
	step, cancel = s.within(ctx, configureLimit)
	defer cancel()
	select {
	case got := <-first:
		if got.err != nil {
			return broken("Watch ended before it said anything: %w", p.said(got.err))
		}
		snapshot := got.event.GetSnapshot()
		if snapshot == nil {
			return broken("Watch begins with %s, not with a snapshot", strings.TrimPrefix(fmt.Sprintf("%T", got.event.GetEvent()), "*adapterpb.WatchEvent_"))
		}
		if snapshot.GetHealth().GetState() == adapterpb.Health_STATE_UNSPECIFIED {
			return errors.New("the snapshot says nothing of the server's health")
		}
	case <-step.Done():
		return broken("Watch had said nothing after %s; its first event is a snapshot, whatever the upstream does", s.patient(configureLimit))
	}
	if len(s.opt.FaultConfig) == 0 {
		return passing("with the settings as they are: no setting leads to a fake upstream (%s)", Placeholder)
	}
	return nil
}
