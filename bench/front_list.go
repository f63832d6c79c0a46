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
)

// frontList measures tools/list beside a server that writes the same bytes from
// memory, over the same transport to the same client.
func frontList(ctx context.Context, t *table, p *programs) error {
	for _, tools := range []int{10, 1000, 10000} {
		config, err := p.serving(0, fmt.Sprintf("[servers.many]\ncommand = %q\nargs = [\"-tools\", \"%d\"]\n", p.echo, tools))
		if err != nil {
			return err
		}
		if err := listStdio(ctx, t, p, config, tools); err != nil {
			return err
		}
		if err := listHTTP(ctx, t, p, config, tools); err != nil {
			return err
		}
	}
	return nil
}

func listStdio(ctx context.Context, t *table, p *programs, config string, tools int) error {
	collet, err := p.serveStdio(ctx, config)
	if err != nil {
		return err
	}
	defer collet.Close()
	answer, err := collet.List()
	if err != nil {
		return err
	}
	file, err := p.memorized(answer, tools)
	if err != nil {
		return err
	}
	floor, err := bare.Start(exec.CommandContext(ctx, p.echo, "-list", file))
	if err != nil {
		return err
	}
	defer floor.Close()
	return listFigure(ctx, t, tools, "stdio", len(answer), ignoring(floor.List), ignoring(collet.List))
}

func listHTTP(ctx context.Context, t *table, p *programs, config string, tools int) error {
	collet, err := p.serveHTTP(ctx, config)
	if err != nil {
		return err
	}
	defer collet.Close()
	if err := collet.Open(ctx); err != nil {
		return err
	}
	answer, err := collet.List(ctx)
	if err != nil {
		return err
	}
	file, err := p.memorized(answer, tools)
	if err != nil {
		return err
	}
	floor, err := bare.StartHTTP(exec.CommandContext(ctx, p.echo, "-http", "127.0.0.1:0", "-list", file))
	if err != nil {
		return err
	}
	defer floor.Close()
	return listFigure(ctx, t, tools, "HTTP", len(answer),
		ignoring(func() ([]byte, error) { return floor.List(ctx) }), ignoring(func() ([]byte, error) { return collet.List(ctx) }))
}

// memorized is a file with the result in an answer of collet, for the floor.
func (p *programs) memorized(answer []byte, tools int) (string, error) {
	_, result, ok := bytes.Cut(bytes.TrimSpace(answer), []byte(`"result":`))
	if n := bytes.Count(result, []byte(`"name":"many__`)); !ok || n != tools {
		return "", fmt.Errorf("%d of %d tools are listed: %.300s", n, tools, answer)
	}
	file := filepath.Join(p.dir, fmt.Sprintf("list-%d.json", tools))
	return file, os.WriteFile(file, result[:len(result)-1], 0o600)
}

func ignoring(list func() ([]byte, error)) peer {
	return func(context.Context, string, []byte) ([]byte, error) { return list() }
}

func listFigure(ctx context.Context, t *table, tools int, transport string, bytes int, floor, collet peer) error {
	rounds := map[int]int{10: 100, 1000: 60, 10000: 25}[tools]
	m, err := latencies(ctx, rounds, 4, "", nil, floor, collet)
	if err != nil {
		return err
	}
	t.atMost(fmt.Sprintf("list of %d tools, %s, %s, p50", tools, size(int64(bytes)), transport), micros(m[0]), micros(m[1]), float64(m[1])/float64(m[0]), 2)
	return nil
}

// connectWait is the configuration's default.
const connectWait = 10 * time.Second

// frontDead measures the first list after the start when one server cannot be
// started and when one never answers.
func frontDead(ctx context.Context, t *table, p *programs) error {
	for _, c := range []struct {
		words, entry string
		wait         time.Duration
	}{
		{"cannot be started", fmt.Sprintf("command = %q\n", filepath.Join(p.dir, "no-such-file")), connectWait},
		{"never answers, connect_wait 1s", fmt.Sprintf("command = %q\nargs = [\"-mute\"]\n", p.echo), time.Second},
	} {
		wait := ""
		if c.wait != connectWait {
			wait = fmt.Sprintf("[host]\nexposure = \"direct\"\nconnect_wait = %q\n", c.wait)
		}
		config := filepath.Join(p.dir, "dead.toml")
		if err := os.WriteFile(config, fmt.Appendf([]byte(wait), "[servers.echo0]\ncommand = %q\nexposure = \"direct\"\n[servers.dead]\n%s", p.echo, c.entry), 0o600); err != nil {
			return err
		}
		var took []time.Duration
		for range 5 {
			s, err := p.serveStdio(ctx, config)
			if err != nil {
				return err
			}
			begun := time.Now()
			answer, err := s.List()
			took = append(took, time.Since(begun))
			if err == nil && !bytes.Contains(answer, []byte("echo0__echo")) {
				err = fmt.Errorf("the list lacks the server that lives: %.300s", answer)
			}
			_ = s.Close() // the mute server may have to be killed
			if err != nil {
				return err
			}
		}
		m := median(took)
		t.line("first list beside a server that "+c.words, "-", millis(m), "", "<= "+millis(c.wait), m <= c.wait)
	}
	return nil
}
