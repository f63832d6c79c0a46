// Package check holds a plugin binary, whatever language it is written in, against
// the adapter contract: it runs the program as a host does, and as a host never would,
// and says of each rule whether it is kept. `collet plugins verify` and
// adaptertest.Verify are made of it.
//
// It judges behaviour alone and looks into no program. It needs no go test, believes nothing a plugin says of itself, and whatever the plugin does it
// ends in time and leaves neither processes nor files behind.
package check

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Placeholder in a config is replaced by the URL of the fake upstream.
const Placeholder = "${UPSTREAM}"

// Status is what became of one check.
type Status string

// The three things that can become of a check.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Skipped Status = "skipped"
)

// Call names a tool and the arguments of one call of it.
type Call struct {
	Tool      string
	Arguments json.RawMessage // a JSON object; nil: made up from the tool's inputSchema
}

// Options say what is verified and with which settings. Path is all that is needed
// for a plugin that works without settings and has a tool it promises to be read-only.
type Options struct {
	Path string // the plugin's file
	// Config is the server's config table, a JSON object; default {}. Placeholder in
	// it is replaced by the URL of a fake upstream.
	Config json.RawMessage
	// FaultConfig is the config with which the upstream's faults are played. Default:
	// Config, where that has Placeholder in it.
	FaultConfig json.RawMessage
	// Upstream is what the fake upstream answers while it plays no fault. Default: an
	// MCP server over Streamable HTTP with the tools echo, add and wait.
	Upstream http.Handler
	// Call is a call that may be made any number of times. Default: the first tool that
	// the plugin promises to be read-only; of the fake upstream's, echo.
	Call Call
	// Large is a call whose result is large: 32 MiB or more. Default: Call, with that
	// much in one of its arguments.
	Large Call
	// Environ is the host's environment, of which a plugin sees what a host passes on.
	// Default: the process's.
	Environ []string
	// Env are variables, NAME=VALUE, given to the plugin besides.
	Env []string
	// Compile says whether a host could use a JSON Schema; nil: only its form is looked at.
	Compile func(schema json.RawMessage) error
	// Only are the checks to run, by name or number; empty: all.
	Only []string
	// Patience multiplies every limit of time, for slow machines; default 1.
	Patience int
	// Done is told of each check when it is over; may be nil.
	Done func(Outcome)

	pause  time.Duration  // how long a process is stopped; default 3 s
	hurry  int            // divides every limit, for tests of plugins that use all of them
	opened func(*subject) // for tests; may be nil
}

// Outcome is one check and what became of it.
type Outcome struct {
	Number   int
	Name     string // "bad-config"
	Title    string // what is promised, as a sentence
	Status   Status
	Why      string // why it failed or was skipped, and what is to be known of one that passed
	Advice   string // what to do about it; "" when it passed
	Duration time.Duration
}

// Report is what a verification came to.
type Report struct {
	Path          string
	Name, Version string // as the plugin says; "" when it said nothing
	Outcomes      []Outcome
}

// Count is how many checks became status.
func (r *Report) Count(status Status) int {
	n := 0
	for _, o := range r.Outcomes {
		if o.Status == status {
			n++
		}
	}
	return n
}

// OK reports whether nothing failed.
func (r *Report) OK() bool { return r.Count(Failed) == 0 }

// Run runs the checks. The error says that they could not be run at all: the options
// make no sense, there is no such file, or ctx ended. A plugin that does everything
// wrong is a report.
func Run(ctx context.Context, opt Options) (*Report, error) {
	selected, err := opt.complete()
	if err != nil {
		return nil, err
	}
	s, err := newSubject(opt)
	if err != nil {
		return nil, err
	}
	defer s.close()
	if opt.opened != nil {
		opt.opened(s)
	}
	if s.asHook(ctx) {
		if selected = ofHook(selected); len(selected) == 0 {
			return nil, fmt.Errorf("%s is a hook, and none of these checks is one of hooks", opt.Path)
		}
	}
	report := &Report{Path: opt.Path}
	for _, c := range selected {
		began := time.Now()
		v := s.carryOut(ctx, c)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("verifying %s: %w", opt.Path, context.Cause(ctx))
		}
		o := Outcome{Number: c.number, Name: c.name, Title: c.title, Status: v.status, Why: v.why, Advice: v.advice, Duration: time.Since(began)}
		if o.Status != Passed && o.Advice == "" {
			o.Advice = c.advice
		}
		report.Outcomes = append(report.Outcomes, o)
		if opt.Done != nil {
			opt.Done(o)
		}
	}
	report.Name, report.Version = s.desc.GetName(), s.desc.GetVersion()
	return report, nil
}

// complete fills in defaults and finds the checks that are meant.
func (o *Options) complete() ([]*check, error) {
	if o.Path == "" {
		return nil, fmt.Errorf("no plugin was named to verify")
	}
	path, err := filepath.Abs(o.Path)
	if err != nil {
		return nil, err
	}
	if st, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("verify %s: %w", o.Path, err)
	} else if st.IsDir() {
		return nil, fmt.Errorf("verify %s: it is a directory; name the plugin's file", o.Path)
	}
	o.Path = path
	for what, config := range map[string]*json.RawMessage{"config": &o.Config, "fault config": &o.FaultConfig, "arguments": &o.Call.Arguments, "arguments of the large call": &o.Large.Arguments} {
		if len(*config) > 0 && !isObject(*config) {
			return nil, fmt.Errorf("the %s must be one JSON object, not %.60s", what, *config)
		}
	}
	if len(o.Config) == 0 {
		o.Config = json.RawMessage("{}")
	}
	if len(o.FaultConfig) == 0 && strings.Contains(string(o.Config), Placeholder) {
		o.FaultConfig = o.Config
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	for _, kv := range o.Env {
		if name, _, ok := strings.Cut(kv, "="); !ok || name == "" {
			return nil, fmt.Errorf("%q is no variable; write NAME=VALUE", kv)
		}
	}
	o.Patience, o.hurry = max(o.Patience, 1), max(o.hurry, 1)
	if o.pause == 0 {
		o.pause = 3 * time.Second
	}
	if len(o.Only) == 0 {
		return slices.Clone(checks), nil
	}
	var selected []*check
	for _, word := range o.Only {
		i := slices.IndexFunc(checks, func(c *check) bool { return c.name == word || fmt.Sprint(c.number) == word })
		if i < 0 {
			return nil, fmt.Errorf("there is no check %q; there are: %s", word, strings.Join(Names(), ", "))
		}
		if !slices.Contains(selected, checks[i]) {
			selected = append(selected, checks[i])
		}
	}
	slices.SortFunc(selected, func(a, b *check) int { return a.number - b.number })
	return selected, nil
}

// Names are the checks' names in their order.
func Names() []string {
	var names []string
	for _, c := range checks {
		names = append(names, c.name)
	}
	return names
}
