package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/credential"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// settings are a server's entry with every value resolved, as its adapter
// process gets them.
type settings struct {
	env    []string             // of the adapter process
	config []byte               // for Configure
	url    string               // what is reached, "" when it is no url
	tokens *credential.Settings // how it gets its tokens; nil when it gets none
	stale  time.Time            // when the token in config is about to expire; zero when it holds none
}

// resolve expands the entry's values and checks its configuration against the
// plugin's own schema.
func (s *Server) resolve(ctx context.Context, set *config.Server, desc *describe.Description) (*settings, error) {
	res, err := set.Resolve(ctx, s.env.Resolver)
	if err != nil {
		return nil, err
	}
	s.keepSecrets(set, res, desc)
	env := launch.ShortEnv(s.env.Environ, desc.Environment...)
	if set.Plugin != "" && set.Plugin != genericPlugin {
		// Only the generic adapter has a child to give the variables to.
		for _, k := range slices.Sorted(maps.Keys(res.Env)) {
			env = append(env, k+"="+res.Env[k])
		}
	}
	tokens, err := TokenSettings(set, res)
	if err != nil {
		return nil, err
	}
	token, stale, err := s.startToken(ctx, set, tokens)
	if err != nil {
		return nil, err
	}
	if token != "" {
		res.Env = maps.Clone(res.Env)
		if res.Env == nil {
			res.Env = map[string]string{}
		}
		res.Env[accessToken] = token
	}
	conf, err := s.adapterConfig(set, res)
	if err != nil {
		return nil, err
	}
	if len(desc.ConfigSchema) > 0 {
		if problems := s.env.Schemas.Compile(desc.ConfigSchema).Validate(conf); len(problems) > 0 {
			return nil, configFailure(set, problems)
		}
	}
	return &settings{env: env, config: conf, url: res.URL, tokens: tokens, stale: stale}, nil
}

// adapterConfig is the JSON object for Configure: the user's own config for a
// named plugin, the upstream's address for the generic one.
func (s *Server) adapterConfig(set *config.Server, res *config.Resolved) ([]byte, error) {
	if set.Command == "" && set.URL == "" {
		if len(res.Config) == 0 {
			return []byte(`{}`), nil
		}
		return res.Config, nil
	}
	c := struct {
		Command string            `json:"command,omitempty"`
		Args    []string          `json:"args,omitempty"`
		Env     map[string]string `json:"env,omitempty"`
		Cwd     string            `json:"cwd,omitempty"`
		URL     string            `json:"url,omitempty"`
		Headers map[string]string `json:"headers,omitempty"`
		CAFile  string            `json:"ca_file,omitempty"`
	}{Command: res.Command, Args: res.Args, Cwd: res.Cwd, URL: res.URL, Headers: res.Headers, CAFile: res.CAFile}
	if c.Command != "" {
		c.Env = s.childEnv(set, res.Env)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(c); err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	return b.Bytes(), nil
}

// childEnv is the complete environment of a command server: what inherit_env
// lets through, then the entry's own variables over it.
func (s *Server) childEnv(set *config.Server, own map[string]string) map[string]string {
	inherited := s.env.Environ
	if in := set.InheritEnv; !in.All {
		inherited = launch.ShortEnv(s.env.Environ, in.Names...)
	}
	env := make(map[string]string, len(inherited)+len(own))
	for _, kv := range inherited {
		if k, v, ok := strings.Cut(kv, "="); ok && k != "" {
			env[k] = v
		}
	}
	maps.Copy(env, own)
	return env
}

func configFailure(set *config.Server, problems []failure.Problem) *Failure {
	p := problems[0]
	f := notSent(failure.InvalidArguments, "the config of servers.%s does not fit its plugin (%s:%d): %s %s",
		set.Name, set.File, set.Line, p.Path, p.Message)
	f.Problems = problems
	return f
}
