package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"
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
	if _, err := collet("tools", "list", "--json"); err != nil { // looks at all schemas
		return err
	}
	full, err := p50("tools", "list", "--json")
	if err != nil {
		return err
	}
	t.atMost("tools list --json, 50 known servers, p50", millis(version), millis(full), float64(full)/float64(version), 3)
	completion, err := p50("__complete", "tools", "call", "s7/")
	if err != nil {
		return err
	}
	t.atMost("completion of a tool, 50 known servers, p50", millis(version), millis(completion), float64(completion)/float64(version), 2)
	first, err := firstList(ctx, filepath.Join(bin, "collet"), config, env)
	if err != nil {
		return err
	}
	const soon = 100 * time.Millisecond
	t.line("serve to its first list, 50 known servers, p50", "-", millis(first), millis(first), "<= "+millis(soon), first <= soon)
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

// firstList is how long `collet serve` takes from its start to a list of all tools of
// the servers that are known, 50 with 20 tools each, all of them direct.
func firstList(ctx context.Context, collet, config string, env []string) (time.Duration, error) {
	text, err := os.ReadFile(config)
	if err != nil {
		return 0, err
	}
	direct := strings.TrimSuffix(config, ".toml") + "-direct.toml"
	if err := os.WriteFile(direct, append([]byte("[host]\nexposure = \"direct\"\n"), text...), 0o600); err != nil {
		return 0, err
	}
	ask := exec.CommandContext(ctx, collet, "--config", direct, "tools", "list")
	ask.Env = env
	if out, err := ask.CombinedOutput(); err != nil { // asks them all
		return 0, fmt.Errorf("collet tools list: %w\n%s", err, out)
	}
	time.Sleep(3 * time.Second) // see running
	var all []time.Duration
	for range 11 {
		took, err := timeFirstList(ctx, collet, direct, env)
		if err != nil {
			return 0, err
		}
		all = append(all, took)
	}
	return median(all), nil
}

func timeFirstList(ctx context.Context, collet, config string, env []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, collet, "--config", config, "serve")
	cmd.Env = env
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer cmd.Wait()
	defer in.Close()
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`)
	if err != nil {
		return 0, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return 0, fmt.Errorf("collet serve: %w", err)
		}
		if gjson.GetBytes(line, "id").Int() != 2 {
			continue
		}
		took := time.Since(begun)
		if n := len(gjson.GetBytes(line, "result.tools").Array()); n < 20*manyServers {
			return 0, fmt.Errorf("collet serve: its first list has %d tools", n)
		}
		return took, nil
	}
}
