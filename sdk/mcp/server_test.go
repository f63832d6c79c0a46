package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func init() {
	peers["server"] = func() {
		s := NewServer(&desk{}, ServerOptions{Name: "desk", Version: "1"})
		if err := s.ServeStdio(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		_ = s.Close(context.Background())
	}
}

// desk is the handler of the tests.
type desk struct {
	began    chan *Incoming // of "wait", if not nil
	canceled chan string    // likewise
	release  chan struct{}

	mu      sync.Mutex
	watched map[string]int
}

const deskSchema = `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"Count"}}}`

func (d *desk) Describe(context.Context, *Caller) Description {
	return Description{
		Instructions: "ask\nnicely",
		Capabilities: json.RawMessage(`{"tools":{"listChanged":true},"resources":{"subscribe":true},"logging":{}}`),
		TTL:          1500 * time.Millisecond,
		CacheScope:   "public",
	}
}

func content(text string) json.RawMessage {
	return append(appendString([]byte(`{"content":[{"type":"text","text":`), text), "}]}"...)
}

func (d *desk) Handle(ctx context.Context, r *Incoming) (json.RawMessage, error) {
	switch r.Method {
	case "tools/list":
		return json.RawMessage(`{"tools":[{"name":"echo","inputSchema":{"type":"object"}},{"name":"mirror","inputSchema":` + deskSchema + `}],"ttlMs":0,"cacheScope":"private"}`), nil
	case "tools/call":
	default:
		return nil, ErrMethodNotFound
	}
	name, _ := text(member(r.Params, "name"))
	args := member(r.Params, "arguments")
	switch name {
	case "echo", "mirror":
		s, _ := text(member(args, "text"))
		return content(s), nil
	case "raw":
		return member(args, "result"), nil
	case "steps":
		for i := range 3 {
			if r.Progress == nil {
				break
			}
			r.Progress(json.RawMessage(fmt.Sprintf(`{"progress":%d,"total":3,"progressToken":"forged"}`, i+1)))
		}
		if pause, ok := number(member(args, "pause")); ok {
			time.Sleep(time.Duration(pause) * time.Millisecond)
		}
		return content("stepped"), nil
	case "big":
		n, _ := number(member(args, "bytes"))
		if r.Progress != nil {
			r.Progress(json.RawMessage(`{"progress":1}`))
		}
		return content(strings.Repeat("x", int(min(max(n, 0), 4<<20)))), nil
	case "log":
		if r.Log != nil {
			for _, level := range []string{"debug", "info", "error"} {
				r.Log(json.RawMessage(`{"level":"` + level + `","data":"` + level + `"}`))
			}
		}
		return content(r.LogLevel), nil
	case "ask":
		if r.Ask == nil {
			return content("nobody to ask"), nil
		}
		method, _ := text(member(args, "method"))
		answer, err := r.Ask(ctx, method, member(args, "params"))
		if err != nil {
			return content(err.Error()), nil
		}
		return content(string(answer)), nil
	case "wait":
		if d.began != nil {
			d.began <- r
		}
		select {
		case <-ctx.Done():
			if d.canceled != nil {
				d.canceled <- name
			}
			return nil, ctx.Err()
		case <-d.release:
			return content("released"), nil
		}
	case "fail":
		return nil, &WireError{Code: -32021, Message: "no", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	case "secret":
		return nil, fmt.Errorf("the password is %s", "swordfish")
	}
	return nil, &WireError{Code: codeInvalidParams, Message: "Unknown tool"}
}

func (d *desk) Watch(_ context.Context, _ *Caller, uri string) (func(), error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.watched == nil {
		d.watched = map[string]int{}
	}
	d.watched[uri]++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.watched[uri]--
	}, nil
}

func (d *desk) watching(uri string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.watched[uri]
}

func deskServer(t testing.TB, d *desk, opt ServerOptions) *Server {
	t.Helper()
	opt.Name, opt.Version = "desk", "1"
	opt.InputSchema = func(_ context.Context, _ *Caller, tool string) json.RawMessage {
		if tool == "mirror" {
			return json.RawMessage(deskSchema)
		}
		return nil
	}
	s := NewServer(d, opt)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return s
}

// console is a client that writes and reads lines.
type console struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string // of what the server says; closed at its end
	ended chan error  // ServeStdio
}

func newConsole(t *testing.T, s *Server) *console {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &console{t: t, in: inW, lines: make(chan string, 100), ended: make(chan error, 1)}
	var running sync.WaitGroup
	running.Go(func() {
		c.ended <- s.ServeStdio(context.Background(), inR, outW)
		outW.Close()
	})
	running.Go(func() {
		defer close(c.lines)
		r := bufio.NewReader(outR)
		for {
			l, err := r.ReadString('\n')
			if err != nil {
				return
			}
			c.lines <- strings.TrimSuffix(l, "\n")
		}
	})
	t.Cleanup(func() {
		inW.Close()
		for range c.lines {
		}
		running.Wait()
	})
	return c
}

func (c *console) say(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatalf("write: %v", err)
	}
}

func (c *console) hear() string {
	c.t.Helper()
	select {
	case l, ok := <-c.lines:
		if !ok {
			c.t.Fatal("the server has ended")
		}
		return l
	case <-time.After(deadline):
		c.t.Fatal("no answer")
	}
	return ""
}

// expect says a line and compares the answer.
func (c *console) expect(line, want string) {
	c.t.Helper()
	c.say(line)
	if got := c.hear(); got != want {
		c.t.Errorf("%s\n got %s\nwant %s", line, got, want)
	}
}

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

const deskInfo = `"io.modelcontextprotocol/serverInfo":{"name":"desk","version":"1"}`

func legacyHello(version, capabilities string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version + `","capabilities":` + capabilities + `,"clientInfo":{"name":"c","version":"1"}}}`
}
