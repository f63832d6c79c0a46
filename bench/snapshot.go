package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// running measures commands that need no start of a server, beside `collet version`:
// what is known of 50 servers with 20 tools each, and a call through a host that runs.
func running(ctx context.Context, t *table, bin, dir, echo string) error {
	config := filepath.Join(dir, "known.toml")
	var text strings.Builder
	for i := range manyServers {
		fmt.Fprintf(&text, "[servers.s%d]\ncommand = %q\nargs = [\"-tools\", \"20\"]\n", i, echo)
	}
	text.WriteString("[servers.echo]\ncommand = " + fmt.Sprintf("%q", echo) + "\n")
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		return err
	}
	env := append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "known"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"), "COLLET_DAEMON=off")
	collet := func(args ...string) (time.Duration, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "collet"), append([]string{"--config", config}, args...)...)
		cmd.Env = env
		begun := time.Now()
		out, err := cmd.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("collet %s: %w\n%s", strings.Join(args, " "), err, out)
		}
		return time.Since(begun), err
	}
	p50 := func(args ...string) (time.Duration, error) {
		var all []time.Duration
		for range 21 {
			took, err := collet(args...)
			if err != nil {
				return 0, err
			}
			all = append(all, took)
		}
		return median(all), nil
	}
	if _, err := collet("tools", "list"); err != nil { // asks them all
		return err
	}
	time.Sleep(3 * time.Second) // files that were written a moment ago are not known by their time
	version, err := p50("version")
	if err != nil {
		return err
	}
	list, err := p50("tools", "list")
	if err != nil {
		return err
	}
	t.atMost("tools list, 50 known servers, p50", millis(version), millis(list), float64(list)/float64(version), 3)
	if _, err := collet("daemon", "start"); err != nil {
		return err
	}
	defer collet("daemon", "stop")
	call := []string{"tools", "call", "echo/echo", "--args", `{"text":"x"}`}
	if _, err := collet(call...); err != nil { // starts it
		return err
	}
	through, err := p50(call...)
	if err != nil {
		return err
	}
	const limit = 15 * time.Millisecond
	t.line("tools call, running host, p50", millis(version), millis(through), "+"+millis(through-version), "<= +"+millis(limit), through-version <= limit)
	return nil
}
