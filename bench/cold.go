package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/collet-dev/collet/bench/internal/bare"
	"github.com/collet-dev/collet/bench/internal/load"
)

// cold measures `collet tools call` from its start to its end, beside a bare
// client in this process that starts the same server, calls it once and ends it.
func cold(ctx context.Context, t *table, bin, dir, echo string) error {
	config, err := writeConfig(dir, echo, 1)
	if err != nil {
		return err
	}
	env := append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(dir, "state"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
	collet := func(context.Context, string, []byte) ([]byte, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(bin, "collet"), "--config", config, "tools", "call", "echo0/echo", "--args", string(load.Echo))
		cmd.Env = env
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("collet tools call: %w\n%s", err, stderr.Bytes())
		}
		return out, nil
	}
	client := func(ctx context.Context, tool string, arguments []byte) ([]byte, error) {
		s, err := bare.StartServer(echo)
		if err != nil {
			return nil, err
		}
		out, err := s.Call(ctx, tool, arguments)
		if err != nil {
			s.Close()
			return nil, err
		}
		return out, s.Close()
	}
	m, err := latencies(ctx, 21, 1, "echo", load.Echo, client, collet)
	if err != nil {
		return err
	}
	const limit = 80 * time.Millisecond
	over := m[1] - m[0]
	t.line("cold tools call, p50", millis(m[0]), millis(m[1]), "+"+millis(over), "<= +"+millis(limit), over <= limit)
	return nil
}
