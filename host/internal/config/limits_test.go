package config

import (
	"strings"
	"testing"
)

// The edges of every range, from both sides.
func TestLimits(t *testing.T) {
	const server, host = "[servers.a]\ncommand='x'\n", "[host]\n"
	for _, c := range []struct {
		table, key   string
		least, most  string
		under, above string
	}{
		{server, "timeout", "'1s'", "'600s'", "'999ms'", "'600.001s'"},
		{server, "timeout", "'1000ms'", "'10m'", "'0s'", "'1h'"},
		{server, "max_timeout", "'1s'", "'1h'", "'0.9s'", "'60m1s'"},
		{server, "start_timeout", "'1s'", "'1h'", "'-1s'", "'1h1ns'"},
		{server, "idle_timeout", "'1s'", "'720h'", "'0s'", "'721h'"},
		{server, "max_concurrent", "1", "1000", "0", "1001"},
		{host, "connect_wait", "'0s'", "'600s'", "'-1ns'", "'601s'"},
		{host, "response_budget", "'1KiB'", "'64MiB'", "'1023B'", "'65537KiB'"},
		{host, "response_budget", "'1024 B'", "'65536KiB'", "'0B'", "'1GiB'"},
	} {
		for _, value := range []string{c.least, c.most} {
			if p := Parse("m", []byte(c.table+c.key+"="+value)).Problems; len(p) > 0 {
				t.Errorf("%s = %s: %v", c.key, value, p)
			}
		}
		for _, value := range []string{c.under, c.above} {
			p := Parse("m", []byte(c.table+c.key+"="+value)).Problems
			if len(p) != 1 || !strings.Contains(p[0].Message, "is out of range; allowed are ") || p[0].Line == 0 {
				t.Errorf("%s = %s: %v", c.key, value, p)
			}
		}
	}
}

// A call can take no less time than one attempt of it.
func TestMaxTimeoutHoldsTimeout(t *testing.T) {
	for text, faults := range map[string]int{"timeout='5s'\nmax_timeout='5s'": 0, "timeout='5s'\nmax_timeout='4.9s'": 1, "max_timeout='1s'": 0} {
		if p := Parse("m", []byte("[servers.a]\ncommand='x'\n"+text)).Problems; len(p) != faults {
			t.Errorf("%s: %v", text, p)
		}
	}
}
