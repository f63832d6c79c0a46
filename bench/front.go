package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/collet-dev/collet/bench/internal/bare"
	"github.com/collet-dev/collet/bench/internal/load"
)

// line is one transport between a client and collet serve: F is the same client
// with the echo server itself, collet and proxy what stands between both.
type line struct {
	name             string
	f, collet, proxy peer
}

// fronts are all that calls through collet serve are measured with.
type fronts struct {
	g, s  peer
	lines []line
	ends  []func()
}

func openFronts(ctx context.Context, p *programs) (_ *fronts, err error) {
	o := &fronts{}
	defer func() {
		if err != nil {
			o.close()
		}
	}()
	g, err := bare.StartPlugin(p.plugin)
	if err != nil {
		return nil, err
	}
	o.ends, o.g = append(o.ends, g.Close), g.Call
	stdio := func(s *bare.Server, err error) (peer, error) {
		if err != nil {
			return nil, err
		}
		o.ends = append(o.ends, func() {
			if err := s.Close(); err != nil {
				fmt.Fprintln(os.Stderr, "bench: close:", err)
			}
		})
		return s.Call, nil
	}
	http := func(s *bare.HTTPServer, err error) (*bare.HTTPServer, error) {
		if err != nil {
			return nil, err
		}
		o.ends = append(o.ends, s.Close)
		return s, s.Open(ctx)
	}
	config, err := p.serving(1, "")
	if err != nil {
		return nil, err
	}
	var first, second, third line
	first.name, second.name, third.name = "stdio", "HTTP", "HTTP, 2026-07-28"
	var errs [8]error
	o.s, errs[0] = stdio(bare.StartServer(p.echo))
	first.f, errs[1] = stdio(bare.StartServer(p.echo))
	first.collet, errs[2] = stdio(p.serveStdio(ctx, config))
	first.proxy, errs[3] = stdio(bare.Start(exec.CommandContext(ctx, p.proxy, p.echo)))
	echo, err := http(bare.StartHTTPServer(p.echo))
	errs[4] = err
	collet, err := http(p.serveHTTP(ctx, config))
	errs[5] = err
	proxy, err := http(bare.StartHTTP(exec.CommandContext(ctx, p.proxy, "-http", "127.0.0.1:0", p.echo)))
	errs[6] = err
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	second.f, second.collet, second.proxy = echo.Call, collet.Call, proxy.Call
	modernEcho, modern := echo.Another(), collet.Another()
	modernEcho.Modern, modern.Modern = true, true
	third.f, third.collet = modernEcho.Call, modern.Call
	first.collet, second.collet, third.collet = prefixed(first.collet), prefixed(second.collet), prefixed(third.collet)
	o.lines = []line{first, second, third}
	for _, l := range o.lines {
		if err := l.agree(ctx); err != nil {
			return nil, err
		}
	}
	return o, nil
}

func (o *fronts) close() {
	for _, end := range o.ends {
		end()
	}
}

// prefixed calls the tools of echo0 by their wire names.
func prefixed(p peer) peer {
	return func(ctx context.Context, tool string, arguments []byte) ([]byte, error) {
		return p(ctx, "echo0__"+tool, arguments)
	}
}

// agree says whether all answer with what the echo server does.
func (l *line) agree(ctx context.Context) error {
	for tool, arguments := range map[string][]byte{"echo": load.Echo, "blob": load.Blob(1 << 20)} {
		want, err := l.f(ctx, tool, arguments)
		if err != nil {
			return fmt.Errorf("%s, the bare server: %w", l.name, err)
		}
		_, text, _ := strings.Cut(string(want), `"text":`)
		text, _, _ = strings.Cut(text, `}`)
		for name, p := range map[string]peer{"collet": l.collet, "the proxy": l.proxy} {
			if p == nil {
				continue
			}
			if got, err := p(ctx, tool, arguments); err != nil || !strings.Contains(string(got), text) {
				return fmt.Errorf("%s, %s does not answer %s with what the server says: %.300s (%w)", l.name, name, tool, got, err)
			}
		}
	}
	return nil
}

// frontWarm measures one small call at a time.
func frontWarm(ctx context.Context, t *table, o *fronts) error {
	for _, l := range o.lines {
		peers := []peer{l.f, o.g, o.s, l.collet}
		if l.proxy != nil {
			peers = append(peers, l.proxy)
		}
		m, err := latencies(ctx, 120, batch, "echo", load.Echo, peers...)
		if err != nil {
			return err
		}
		floor, words := frontFloor(m)
		t.atMost("call through serve, "+l.name+", p50", words, micros(m[3]), float64(m[3])/float64(floor), 1.6)
		if l.proxy != nil {
			t.note("the same through the Go SDK's proxy", words, micros(m[4]), fmt.Sprintf("%.2f", float64(m[4])/float64(floor)))
		}
	}
	return nil
}

// frontFloor words the floor F + G + S.
func frontFloor(m []time.Duration) (time.Duration, string) {
	floor := m[0] + m[1] + m[2]
	return floor, fmt.Sprintf("%s (F %s + G %s + S %s)", micros(floor), micros(m[0]), micros(m[1]), micros(m[2]))
}

// frontLarge measures large results, one at a time.
func frontLarge(ctx context.Context, t *table, o *fronts) error {
	for _, l := range o.lines {
		for _, c := range []struct{ bytes, rounds, batch int }{{1 << 20, 40, 4}, {10 << 20, 16, 2}} {
			m, err := latencies(ctx, c.rounds, c.batch, "blob", load.Blob(c.bytes), l.f, o.g, o.s, l.collet)
			if err != nil {
				return err
			}
			floor, words := frontFloor(m)
			t.atMost("result of "+size(int64(c.bytes))+" through serve, "+l.name+", p50", words, micros(m[3]), float64(m[3])/float64(floor), 2)
		}
	}
	return nil
}

// frontThroughput measures calls per second with many in flight, beside what the
// floors allow, because all share the cores, and beside the proxy.
func frontThroughput(ctx context.Context, t *table, o *fronts) error {
	for _, l := range o.lines {
		for _, inFlight := range []int{16, 64} {
			peers := []peer{l.f, o.g, o.s, l.collet}
			if l.proxy != nil {
				peers = append(peers, l.proxy)
			}
			r, err := rates(ctx, inFlight, peers...)
			if err != nil {
				return err
			}
			floor := 1 / (1/r[0] + 1/r[1] + 1/r[2])
			words := fmt.Sprintf("%.0f (F %.0f, G %.0f, S %.0f)", floor, r[0], r[1], r[2])
			t.atLeast(fmt.Sprintf("calls/s through serve, %s, %d in flight", l.name, inFlight), words, fmt.Sprintf("%.0f", r[3]), r[3]/floor, 0.7)
			if l.proxy != nil {
				words := fmt.Sprintf("proxy of the Go SDK: %.0f", r[4])
				t.atLeast(fmt.Sprintf("the same, beside that proxy, %d in flight", inFlight), words, fmt.Sprintf("%.0f", r[3]), r[3]/r[4], 2)
			}
		}
	}
	return nil
}
