package check

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
	"github.com/collet-dev/collet/sdk/launch"
)

// keepsSecrets gives it made-up secrets and looks for them in all it says.
func keepsSecrets(ctx context.Context, s *subject) error {
	canary := "Verify0" + rand.Text()
	schema := gjson.ParseBytes(s.desc.GetConfigSchema())
	settings := plant(schema, gjson.ParseBytes(s.opt.Config), canary)
	var env []string
	for _, name := range s.desc.GetEnvironment() {
		words := strings.Split(strings.ToLower(name), "_")
		if slices.Contains(credentialWords, words[len(words)-1]) {
			env = append(env, name+"="+canary)
		}
	}
	if len(settings)+len(env) == 0 {
		return skip("nothing, if it has no secrets", "it declares none: no setting is marked, and no variable is named like a credential")
	}
	refused := 0
	scenes := []struct {
		config json.RawMessage
		fault  string
	}{{s.opt.Config, ""}, {s.opt.FaultConfig, faultUnauthorized}, {s.opt.FaultConfig, faultBroken}}
	played := 0
	for _, scene := range scenes {
		if len(scene.config) == 0 {
			continue
		}
		played++
		s.up.play(scene.fault)
		took, err := s.searched(ctx, merged(scene.config, plant(schema, gjson.ParseBytes(scene.config), canary)), canary, env)
		s.up.play("")
		if err != nil {
			return err
		}
		if !took {
			refused++
		}
	}
	if refused == played {
		return passing("but it takes no made-up secret, so only its refusal was looked at")
	}
	return nil
}

// searched runs one process with the canary, and reads all that it says.
func (s *subject) searched(ctx context.Context, config json.RawMessage, canary string, env []string) (took bool, err error) {
	p, err := s.startListening(ctx, []string{canary}, env...)
	if err != nil {
		return false, fmt.Errorf("with made-up secrets: %w", err)
	}
	defer p.close()
	var leak error
	look := func(where, text string) {
		if leak == nil && strings.Contains(text, canary) {
			leak = fmt.Errorf("a secret appears in %s: %q", where, excerpt.Of(strings.ReplaceAll(text, canary, "<the secret>"), maxQuoted))
		}
	}
	lookAt := func(where string, err error) {
		if err == nil {
			return
		}
		look(where, err.Error())
		if f := failure.FromStatus(err); f != nil {
			look(where, f.Message+f.Target+f.Challenge+string(f.UpstreamData)+fmt.Sprint(f.Problems))
		}
	}
	req, err := p.request(config)
	if err != nil {
		return false, err
	}
	step, cancel := s.within(ctx, stepLimit)
	defer cancel()
	_, err = p.Configure(step, req)
	took = err == nil
	lookAt("the refusal of its settings", err)
	if took {
		tools, _, err := p.list(ctx)
		lookAt("the failure of ListTools", err)
		for _, t := range tools {
			look("the definition of "+t.GetName(), string(t.GetDefinition()))
		}
		if c, err := p.choose(ctx); err == nil {
			for _, call := range []Call{c.Call, {c.Tool, []byte("[]")}, {unknownTool, []byte("{}")}} {
				a := p.bounded(ctx, call)
				look("the result of "+call.Tool, string(a.result))
				lookAt("the failure of "+call.Tool, a.err)
			}
		}
		lookAt("the snapshot", p.firstWatch(ctx, look))
	}
	stop, cancelStop := s.within(ctx, stopLimit)
	defer cancelStop()
	if err := p.proc.Stop(stop); err != nil { // all of its stderr is read then
		return took, err
	}
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	look("stderr", p.log.found)
	return took, leak
}

// firstWatch reads the first event of Watch.
func (p *session) firstWatch(ctx context.Context, look func(where, text string)) error {
	ctx, cancel := p.s.within(ctx, quietLimit)
	defer cancel()
	stream, err := p.Watch(ctx, &adapterpb.WatchRequest{})
	if err != nil {
		return err
	}
	ev, err := stream.Recv()
	look("the snapshot", ev.GetSnapshot().String())
	return err
}

// plant gives every setting that is marked as a secret a value. What is nested counts
// where config has the table already: a made-up key in a new one would add a service.
func plant(schema, config gjson.Result, canary string) map[string]json.RawMessage {
	planted := map[string]json.RawMessage{}
	schema.Get("properties").ForEach(func(name, p gjson.Result) bool {
		kind := p.Get("type").Str
		if !isSecret(p) {
			if there := member(config, name.Str); kind == "object" && there.IsObject() {
				if inner := plant(p, there, canary); len(inner) > 0 {
					planted[name.Str] = merged([]byte(there.Raw), inner)
				}
			}
			return true
		}
		switch kind {
		case "string", "":
			planted[name.Str] = json.RawMessage(`"` + canary + `"`)
		case "array":
			planted[name.Str] = json.RawMessage(`["` + canary + `"]`)
		case "object":
			planted[name.Str] = json.RawMessage(`{"X-Collet-Verify":"` + canary + `"}`)
		}
		return true
	})
	return planted
}

// merged is a config with other members in place of its own.
func merged(config json.RawMessage, over map[string]json.RawMessage) json.RawMessage {
	all := map[string]json.RawMessage{}
	if err := json.Unmarshal(config, &all); err != nil {
		return config
	}
	maps.Copy(all, over)
	out, err := json.Marshal(all)
	if err != nil {
		return config
	}
	return out
}

// environment looks for variables that it reads and does not declare.
func environment(ctx context.Context, s *subject) error {
	if s.desc != nil {
		var extra []string
		for _, kv := range s.opt.Env {
			if len(launch.ShortEnv([]string{kv}, s.desc.GetEnvironment()...)) == 0 {
				name, _, _ := strings.Cut(kv, "=")
				extra = append(extra, name)
			}
		}
		if len(extra) > 0 {
			return fmt.Errorf("%s was given with --env and is not in Describe's environment: a host would not pass it on", strings.Join(extra, ", "))
		}
	}
	if s.startErr == nil && s.configErr == nil {
		return nil // everything here was done with what a host passes on
	}
	p, err := s.start(ctx, s.opt.Environ...)
	if err != nil {
		return skip("see the check stdout", "it does not start with all variables of this environment, either")
	}
	defer p.close()
	if s.startErr != nil {
		return fmt.Errorf("it starts only with variables that it does not declare; without them: %w", s.startErr)
	}
	if err := p.configure(ctx, s.opt.Config); err != nil {
		return skip("give it settings it accepts, with --config; see the check configure", "it does not take its settings with all variables of this environment, either")
	}
	return errors.New("it takes its settings only with variables that it does not declare; without them: " + s.configErr.Error())
}
