package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/collet-dev/collet/bench/internal/bare"
)

// programs are the paths of what is measured, and a directory for files.
type programs struct{ bin, dir, echo, plugin, proxy string }

// serving is the configuration of collet serve: n echo servers, all of whose tools
// are in the list, and more.
func (p *programs) serving(n int, more string) (string, error) {
	var toml strings.Builder
	toml.WriteString("[host]\nexposure = \"direct\"\nresponse_budget = \"64MiB\"\n")
	for i := range n {
		fmt.Fprintf(&toml, "[servers.echo%d]\ncommand = %q\n", i, p.echo)
	}
	toml.WriteString(more)
	f, err := os.CreateTemp(p.dir, "serve-*.toml")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(toml.String())
	if err := f.Close(); err != nil {
		return "", err
	}
	return f.Name(), err
}

// serve is collet serve as a command, with state of its own.
func (p *programs) serve(ctx context.Context, config string, arguments ...string) (*exec.Cmd, error) {
	home, err := os.MkdirTemp(p.dir, "home-")
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(p.bin, "collet"), append([]string{"--config", config, "serve"}, arguments...)...)
	cmd.Env = os.Environ()
	for _, v := range []string{"STATE", "CACHE", "DATA", "CONFIG"} {
		cmd.Env = append(cmd.Env, "XDG_"+v+"_HOME="+filepath.Join(home, strings.ToLower(v)))
	}
	return cmd, nil
}

// serveStdio starts collet serve over stdio.
func (p *programs) serveStdio(ctx context.Context, config string) (*bare.Server, error) {
	cmd, err := p.serve(ctx, config)
	if err != nil {
		return nil, err
	}
	return bare.Start(cmd)
}

// serveHTTP starts collet serve --http.
func (p *programs) serveHTTP(ctx context.Context, config string) (*bare.HTTPServer, error) {
	cmd, err := p.serve(ctx, config, "--http", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return bare.StartHTTP(cmd)
}
