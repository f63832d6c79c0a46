package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/collet-dev/collet/bench/internal/bare"
	"github.com/collet-dev/collet/bench/internal/load"
)

// overHTTP measures one small call at a time to an upstream over HTTP. Its floor
// is G + H, H being one POST to the same server by net/http alone.
func overHTTP(ctx context.Context, t *table, bin, dir, echo, plugin string) error {
	g, err := bare.StartPlugin(plugin)
	if err != nil {
		return err
	}
	defer g.Close()
	s, err := bare.StartHTTPServer(echo)
	if err != nil {
		return err
	}
	defer s.Close()
	file := filepath.Join(dir, "http.toml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "[servers.echo0]\nurl = %q\n", s.URL), 0o600); err != nil {
		return err
	}
	h, err := openConfig(ctx, bin, dir, file)
	if err != nil {
		return err
	}
	defer h.Close()
	collet := through(h)
	want, err := collet(ctx, "echo", load.Echo)
	if err != nil {
		return err
	}
	if got, err := s.Call(ctx, "echo", load.Echo); err != nil || !strings.Contains(string(got), string(want)) {
		return fmt.Errorf("the bare HTTP call does not answer what collet answers: %s (%w)", got, err)
	}
	m, err := latencies(ctx, 120, batch, "echo", load.Echo, g.Call, s.Call, collet)
	if err != nil {
		return err
	}
	floor := m[0] + m[1]
	words := fmt.Sprintf("%s (G %s + H %s)", micros(floor), micros(m[0]), micros(m[1]))
	t.atMost("warm call over HTTP, 100 B, p50", words, micros(m[2]), float64(m[2])/float64(floor), 1.5)
	return nil
}
