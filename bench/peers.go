package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/collet-dev/collet/bench/internal/bare"
	"github.com/collet-dev/collet/bench/internal/load"
	"github.com/collet-dev/collet/host"
)

// peer is something a tool can be called through.
type peer func(ctx context.Context, tool string, arguments []byte) ([]byte, error)

// peers are the two floors and collet. Each has processes of its own.
type peers struct {
	g, s, collet peer
	close        func()
}

type peersConfig struct{ bin, dir, echo, plugin string }

func openPeers(ctx context.Context, c peersConfig) (*peers, error) {
	g, err := bare.StartPlugin(c.plugin)
	if err != nil {
		return nil, err
	}
	s, err := bare.StartServer(c.echo)
	if err != nil {
		g.Close()
		return nil, err
	}
	h, err := openHost(ctx, c.bin, c.dir, c.echo, 1)
	if err != nil {
		g.Close()
		return nil, errors.Join(err, s.Close())
	}
	p := &peers{g: g.Call, s: s.Call, collet: through(h), close: func() {
		g.Close()
		if err := errors.Join(s.Close(), h.Close()); err != nil {
			fmt.Fprintln(os.Stderr, "bench: close:", err)
		}
	}}
	// What is measured has to be the same call: the floors answer as collet does.
	for tool, arguments := range map[string][]byte{"echo": load.Echo, "blob": load.Blob(1 << 20)} {
		want, err := p.collet(ctx, tool, arguments)
		if err == nil {
			err = same(ctx, p, tool, arguments, want)
		}
		if err != nil {
			p.close()
			return nil, err
		}
	}
	return p, nil
}

func same(ctx context.Context, p *peers, tool string, arguments, want []byte) error {
	got, err := p.g(ctx, tool, arguments)
	if err != nil {
		return fmt.Errorf("the bare plugin: %w", err)
	}
	line, err := p.s(ctx, tool, arguments)
	if err != nil {
		return fmt.Errorf("the bare client: %w", err)
	}
	if string(got) != string(want) || !strings.Contains(string(line), string(want)) {
		return fmt.Errorf("the floors do not answer %s with what collet answers", tool)
	}
	return nil
}

// openHost opens a host with n servers, echo0 and so on, all of them the echo
// server. dir holds its configuration and its files.
func openHost(ctx context.Context, bin, dir, echo string, n int) (*host.Host, error) {
	file, err := writeConfig(dir, echo, n)
	if err != nil {
		return nil, err
	}
	return openConfig(ctx, bin, dir, file)
}

func openConfig(ctx context.Context, bin, dir, file string) (*host.Host, error) {
	h, err := host.Open(ctx, host.Options{
		ConfigFiles: []string{file},
		PluginDirs:  []string{bin},
		StateDir:    filepath.Join(dir, "state"),
		CacheDir:    filepath.Join(dir, "cache"),
	})
	if err != nil {
		return nil, err
	}
	if problems := h.Problems(); len(problems) > 0 {
		return nil, fmt.Errorf("the configuration: %v", problems[0].Error())
	}
	return h, nil
}

func writeConfig(dir, echo string, n int) (string, error) {
	var toml strings.Builder
	for i := range n {
		fmt.Fprintf(&toml, "[servers.echo%d]\ncommand = %q\n", i, echo)
	}
	file := filepath.Join(dir, fmt.Sprintf("mcp%d.toml", n))
	return file, os.WriteFile(file, []byte(toml.String()), 0o600)
}

// through calls the tools of echo0.
func through(h *host.Host) peer {
	return func(ctx context.Context, tool string, arguments []byte) ([]byte, error) {
		res, err := h.Call(ctx, host.Request{Tool: "echo0/" + tool, Arguments: json.RawMessage(arguments)})
		if err != nil {
			return nil, fmt.Errorf("collet: %w", err)
		}
		return res.JSON, nil
	}
}
