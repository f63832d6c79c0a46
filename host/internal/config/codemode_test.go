package config

import (
	"strings"
	"testing"
	"time"
)

func TestCodemode(t *testing.T) {
	with := func(change func(*Codemode)) Codemode {
		c := defaultCodemode()
		change(&c)
		return c
	}
	unchanged := defaultCodemode()
	for _, c := range []struct {
		text     string
		want     Codemode
		problems string
	}{
		{"", unchanged, ""},
		{"[host.codemode]\n", unchanged, ""},
		{"[host.codemode]\ntimeout = '30s'\nmax_timeout = '100ms'\ncpu = '60s'\nheap = '256MiB'\ncalls = 1\nin_flight = 128\noutput_tokens = 100\nmax_output_tokens = 20_000\n",
			Codemode{30 * time.Second, 100 * time.Millisecond, 60 * time.Second, 256 << 20, 1, 128, 100, 20_000}, ""},
		// A fault in one key leaves the others, and its default.
		{"[host.codemode]\ntimeout = 30\ncalls = 7\n", with(func(c *Codemode) { c.Calls = 7 }), `m:2: host.codemode.timeout: must be a duration, not an integer; write "30s"`},
		{"[host.codemode]\nmax_timeout = '601s'\n", unchanged, `m:2: host.codemode.max_timeout: "601s" is out of range; allowed are 100ms to 600s`},
		{"[host.codemode]\ncpu = '500ms'\n", unchanged, `m:2: host.codemode.cpu: "500ms" is out of range; allowed are 1s to 60s`},
		{"[host.codemode]\nheap = '257MiB'\n", unchanged, `m:2: host.codemode.heap: "257MiB" is out of range; allowed are 8MiB to 256MiB`},
		{"[host.codemode]\nheap = 64\n", unchanged, `m:2: host.codemode.heap: must be a size, not an integer; write a number and a unit in quotes, such as "256KiB"`},
		{"[host.codemode]\ncalls = 1001\n", unchanged, "m:2: host.codemode.calls: 1001 is out of range; allowed are 1 to 1000"},
		{"[host.codemode]\nin_flight = 0\n", unchanged, "m:2: host.codemode.in_flight: 0 is out of range; allowed are 1 to 128"},
		{"[host.codemode]\noutput_tokens = '5'\n", unchanged, "m:2: host.codemode.output_tokens: must be an integer, not a string; write it as a whole number without quotes"},
		{"[host.codemode]\nmax_output_tokens = 50_001\n", unchanged, "m:2: host.codemode.max_output_tokens: 50001 is out of range; allowed are 100 to 50000"},
		{"[host.codemode]\n\ntimeuot = '1s'\n", unchanged, "m:3: host.codemode.timeuot: unknown key; did you mean timeout?"},
		{"[host]\ncodemode = 'off'\n", unchanged, "m:2: host.codemode: must be a table, not a string; write [host.codemode] above its keys"},
	} {
		cfg := Parse("m", []byte(c.text))
		if cfg.Host.Codemode != c.want || strings.TrimSpace(problems(cfg)) != c.problems {
			t.Errorf("%s\n%+v, want %+v\n%s\nwant %s", c.text, cfg.Host.Codemode, c.want, problems(cfg), c.problems)
		}
	}
}

// A project lets no script use more than the person who runs it does.
func TestCodemodeOfProject(t *testing.T) {
	c := layered("[host.codemode]\ntimeout = '5s'\n", "[host.codemode]\ntimeout = '500s'\ncalls = 1\n")
	want := defaultCodemode()
	want.Timeout = 5 * time.Second
	if c.Host.Codemode != want {
		t.Errorf("a project makes it %+v", c.Host.Codemode)
	}
	if !strings.Contains(problems(c), "/p/mcp.toml:1: host.codemode: has no effect in a project's file") {
		t.Errorf("%s", problems(c))
	}
}
