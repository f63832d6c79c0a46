package config

import (
	"fmt"
	"time"
)

// codemode is the table of [host] that a Codemode is read from.
const codemode = "codemode"

// Codemode is the [host.codemode] table: what one script may use. The most that can
// be said is the most that any script gets (docs/codemode.md).
type Codemode struct {
	Timeout, MaxTimeout           time.Duration // where it does not say, and the most that it may ask for
	CPU                           time.Duration
	Heap                          int64 // bytes
	Calls, InFlight               int
	OutputTokens, MaxOutputTokens int // likewise, of what a model is told
}

func defaultCodemode() Codemode {
	return Codemode{
		Timeout: 120 * time.Second, MaxTimeout: 600 * time.Second, CPU: 10 * time.Second, Heap: 64 << 20,
		Calls: 1000, InFlight: 16, OutputTokens: 10_000, MaxOutputTokens: 50_000,
	}
}

var (
	scriptTimeLimits = limits{100 * time.Millisecond, 600 * time.Second, "100ms to 600s"}
	scriptCPULimits  = limits{time.Second, 60 * time.Second, "1s to 60s"}
	scriptHeapLimits = sizes{8 << 20, 256 << 20, "8MiB to 256MiB"}
)

var codemodeKeys = []key[Codemode]{
	unsaid(`"120s"`, duration("timeout", "how long a script may take if it does not set its own limit, not counting waits for a person", scriptTimeLimits, func(c *Codemode) *time.Duration { return &c.Timeout })),
	unsaid(`"600s"`, duration("max_timeout", "the longest timeout that a model may ask for", scriptTimeLimits, func(c *Codemode) *time.Duration { return &c.MaxTimeout })),
	unsaid(`"10s"`, duration("cpu", "how much processor time a script's process may use, on Linux", scriptCPULimits, func(c *Codemode) *time.Duration { return &c.CPU })),
	{"heap", "how much memory a script may use: " + scriptHeapLimits.text, `"type":"string","pattern":` + quoteJSON(sizePattern), `"64MiB"`,
		func(t *table, c *Codemode) { c.Heap = t.size("heap", c.Heap, scriptHeapLimits) }},
	upTo("calls", "how many calls a script may make", 1, 1000, 1000, func(c *Codemode) *int { return &c.Calls }),
	upTo("in_flight", "how many of a script's calls run at once", 1, 128, 16, func(c *Codemode) *int { return &c.InFlight }),
	upTo("output_tokens", "how much of a script's output a model gets if it does not ask for more or less, in tokens of 4 bytes", 100, 50_000, 10_000, func(c *Codemode) *int { return &c.OutputTokens }),
	upTo("max_output_tokens", "the most output that a model may ask for, in tokens of 4 bytes", 100, 50_000, 50_000, func(c *Codemode) *int { return &c.MaxOutputTokens }),
}

// unsaid is k with a default.
func unsaid[T any](value string, k key[T]) key[T] {
	k.unsaid = value
	return k
}

// upTo is a whole number; a faulty one leaves the default.
func upTo[T any](name, about string, least, most, unsaid int64, to target[T, int]) key[T] {
	return key[T]{name, fmt.Sprintf("%s: %d to %d", about, least, most), fmt.Sprintf(`"type":"integer","minimum":%d,"maximum":%d`, least, most), fmt.Sprint(unsaid), func(t *table, x *T) {
		if n := t.integer(name, least, most); n != 0 {
			*to(x) = int(n)
		}
	}}
}

func readCodemode(t *table, h *Host) {
	if t.layer == Project {
		// It would raise what a person has set for all scripts.
		t.fault(codemode, "has no effect in a project's file; write it into your own mcp.toml")
		return
	}
	if sub := t.table(codemode); sub != nil {
		say(sub, codemodeKeys, &h.Codemode, h, codemode+".")
	}
}
