// Command collet-plugin-secretscan is a hook that looks for credentials in what
// callers send and in what tools answer.
package main

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/hook"
)

type config struct {
	Arguments action   `json:"arguments,omitempty" jsonschema:"what to do with a call whose arguments hold a credential: refuse (default), redact or off"`
	Results   action   `json:"results,omitempty" jsonschema:"what to do with a result that holds a credential: redact (default), refuse or off"`
	Patterns  []string `json:"patterns,omitempty" jsonschema:"more to look for, as regular expressions (RE2)"`
}

type action string

const (
	refuse action = "refuse"
	redact action = "redact"
	off    action = "off"
)

func main() {
	hook.Main(hook.Info{Name: "secretscan", Version: "0.1.0", Summary: "Keeps credentials out of calls and results.", License: "Apache-2.0"}, open)
}

func open(_ context.Context, _ *hook.Env, cfg config) (*scanner, error) {
	s := &scanner{arguments: refuse, results: redact, rules: rules}
	for key, a := range map[string]struct {
		said action
		to   *action
	}{"arguments": {cfg.Arguments, &s.arguments}, "results": {cfg.Results, &s.results}} {
		switch a.said {
		case "":
		case refuse, redact, off:
			*a.to = a.said
		default:
			return nil, failure.New(failure.InvalidArguments, failure.NotSent, "%s: %q is none of refuse, redact and off", key, a.said)
		}
	}
	for i, p := range cfg.Patterns {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, failure.New(failure.InvalidArguments, failure.NotSent, "patterns[%d]: %v", i, err)
		}
		s.rules = append(s.rules[:len(s.rules):len(s.rules)], pattern{"a pattern of the configuration", re})
	}
	return s, nil
}

// scanner looks at the strings of calls and results, names of members included.
type scanner struct {
	arguments, results action
	rules              []pattern
}

// Before implements hook.CallEditor.
func (s *scanner) Before(_ context.Context, call *hook.Call) (*hook.Verdict, error) {
	if s.arguments == off {
		return nil, nil
	}
	clean, found := s.scan(call.Arguments)
	switch {
	case len(found) == 0:
		return nil, nil
	case s.arguments == redact:
		return hook.Arguments(clean), nil
	}
	return hook.Refuse(failure.InvalidArguments, "the arguments hold what looks like %s; leave it out, or refer to it by name", strings.Join(found, " and ")), nil
}

// After implements hook.ResultEditor.
func (s *scanner) After(_ context.Context, _ *hook.Call, result json.RawMessage) (*hook.Verdict, error) {
	if s.results == off {
		return nil, nil
	}
	clean, found := s.scan(result)
	switch {
	case len(found) == 0:
		return nil, nil
	case s.results == redact:
		return hook.Result(clean), nil
	}
	return hook.Refuse(failure.InvalidResult, "the result holds what looks like %s", strings.Join(found, " and ")), nil
}
