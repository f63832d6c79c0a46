// Command collet-plugin-ratelimit is a hook that bounds how often each tool is
// called, whoever calls it.
package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/tidwall/match"
	"golang.org/x/time/rate"

	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/hook"
)

type config struct {
	// Of several rules that fit a tool the first counts.
	Rules []rule `json:"rules" jsonschema:"limits; of several that fit a tool the first counts"`
}

type rule struct {
	Tools     string  `json:"tools" jsonschema:"a pattern (*, ?) of server/tool; each tool that it fits has the limit for itself"`
	PerMinute float64 `json:"per_minute" jsonschema:"calls a minute, over time"`
	Burst     int     `json:"burst,omitempty" jsonschema:"calls at once after a pause; 1 when left out"`
}

func main() {
	hook.Main(hook.Info{Name: "ratelimit", Version: "0.1.0", Summary: "Bounds how often each tool is called.", License: "Apache-2.0"}, open)
}

func open(_ context.Context, _ *hook.Env, cfg config) (*limiter, error) {
	if len(cfg.Rules) == 0 {
		return nil, failure.New(failure.InvalidArguments, failure.NotSent, "rules is empty: no tool has a limit")
	}
	for i, r := range cfg.Rules {
		if r.Tools == "" || r.PerMinute <= 0 || r.Burst < 0 {
			return nil, failure.New(failure.InvalidArguments, failure.NotSent, "rules[%d]: tools and a positive per_minute are needed, and a burst is not negative", i)
		}
	}
	return &limiter{rules: cfg.Rules, now: time.Now, tools: map[string]*rate.Limiter{}}, nil
}

// limiter keeps one bucket for each tool that was called.
type limiter struct {
	rules []rule
	now   func() time.Time

	mu    sync.Mutex
	tools map[string]*rate.Limiter // nil for a tool without a limit
}

// Before implements hook.CallEditor.
func (l *limiter) Before(_ context.Context, call *hook.Call) (*hook.Verdict, error) {
	tool := call.Server + "/" + call.Tool
	lim := l.of(tool)
	if lim == nil {
		return nil, nil
	}
	now := l.now()
	r := lim.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait == 0 {
		return nil, nil
	}
	r.CancelAt(now)
	return hook.RefuseWith(&failure.Failure{
		Class: failure.RateLimited, RetryAfter: wait,
		Message: fmt.Sprintf("%s may be called %s; again in %s", tool, spoken(lim), wait.Round(100*time.Millisecond)),
	}), nil
}

func (l *limiter) of(tool string) *rate.Limiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	lim, known := l.tools[tool]
	if known {
		return lim
	}
	for _, r := range l.rules {
		if match.Match(tool, r.Tools) {
			lim = rate.NewLimiter(rate.Limit(r.PerMinute/60), max(r.Burst, 1))
			break
		}
	}
	l.tools[tool] = lim
	return lim
}

func spoken(lim *rate.Limiter) string {
	return fmt.Sprintf("%.4g times a minute, %d at once", float64(lim.Limit())*60, lim.Burst())
}
