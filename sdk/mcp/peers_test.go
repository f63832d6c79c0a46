package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	official "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/collet-dev/collet/sdk/failure"
)

// peers are servers this binary turns into when MCP_TEST_PEER names one.
var peers = map[string]func(){
	"official": officialServer,
	"lines":    func() { answerLines(os.Stdin, os.Stdout) },
	"echo":     func() { _, _ = io.Copy(os.Stdout, os.Stdin) },
}

// officialServer is a server on the official Go SDK, an implementation that
// shares no line with ours.
func officialServer() {
	s := official.NewServer(&official.Implementation{Name: "official", Version: "1.8.0"}, nil)
	type input struct {
		Text string `json:"text"`
	}
	official.AddTool(s, &official.Tool{Name: "greet", Description: "greets"},
		func(_ context.Context, _ *official.CallToolRequest, in input) (*official.CallToolResult, any, error) {
			return &official.CallToolResult{Content: []official.Content{&official.TextContent{Text: "hello " + in.Text}}}, nil, nil
		})
	official.AddTool(s, &official.Tool{Name: "steps"},
		func(ctx context.Context, r *official.CallToolRequest, _ struct{}) (*official.CallToolResult, any, error) {
			for i := range 3 {
				if err := r.Session.NotifyProgress(ctx, &official.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 3,
				}); err != nil {
					return nil, nil, err
				}
			}
			return &official.CallToolResult{}, nil, nil
		})
	official.AddTool(s, &official.Tool{Name: "wait"},
		func(ctx context.Context, _ *official.CallToolRequest, _ struct{}) (*official.CallToolResult, any, error) {
			fmt.Fprintln(os.Stderr, "waiting")
			<-ctx.Done()
			fmt.Fprintln(os.Stderr, "wait was cancelled")
			return nil, nil, ctx.Err()
		})
	if err := s.Run(context.Background(), &official.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

func TestOfficialServer(t *testing.T) {
	for _, test := range []struct {
		name, version string
		opt           Options
	}{
		{"modern", "2026-07-28", Options{}},
		{"legacy", "2025-11-25", Options{SkipProbe: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			stderr := make(chan string, 16)
			opt := test.opt
			opt.OnStderr = func(l []byte) { stderr <- string(l) }
			c := connectTo(t, peer{cmd: self(t, "official")}, opt)
			if s := c.Server(); s.ProtocolVersion != test.version || s.Modern != (test.name == "modern") || !strings.Contains(string(s.Info), `"official"`) {
				t.Errorf("Server() = %+v", s)
			}
			tools, err := c.ListTools(within(t))
			if err != nil || len(tools) != 3 {
				t.Fatalf("ListTools = %s, %v", tools, err)
			}
			if got := said(t, callTool(t, c, "greet", `{"text":"<&>"}`)); got != "hello <&>" {
				t.Errorf("greet says %q", got)
			}
			n := 0
			if _, err := c.CallTool(within(t), "steps", nil, RequestOptions{OnProgress: func(Progress) { n++ }}); err != nil || n != 3 {
				t.Errorf("steps: %d notifications, %v", n, err)
			}
			f := callFails(t, c, "no-such-tool", "{}")
			wantFailure(t, f, failure.InvalidArguments, failure.Answered)
			if f.UpstreamCode != -32602 {
				t.Errorf("upstream code %d, want -32602", f.UpstreamCode)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-stderr
				cancel()
			}()
			_, err = c.CallTool(ctx, "wait", nil, RequestOptions{})
			wantFailure(t, asFailure(t, err), failure.Canceled, failure.DeliveryUnknown)
			select {
			case l := <-stderr:
				if l != "wait was cancelled" {
					t.Errorf("stderr says %q", l)
				}
			case <-time.After(deadline):
				t.Error("the server was never told of the cancellation")
			}
		})
	}
}

// answerLines is the least MCP server there is: it knows initialize and answers
// everything else with the same result.
func answerLines(in io.Reader, out io.Writer) {
	r := bufio.NewReader(in)
	var answer []byte
	for {
		l, err := r.ReadSlice('\n')
		if err != nil {
			return
		}
		rest, ok := bytes.CutPrefix(l, []byte(`{"jsonrpc":"2.0","id":`))
		if !ok {
			continue
		}
		id, rest, _ := bytes.Cut(rest, []byte{','})
		answer = append(append(answer[:0], `{"jsonrpc":"2.0","id":`...), id...)
		if bytes.HasPrefix(rest, []byte(`"method":"initialize"`)) {
			answer = append(answer, `,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"lines","version":"1"}}}`...)
		} else {
			answer = append(answer, `,"result":{"content":[{"type":"text","text":"ok"}]}}`...)
		}
		if _, err := out.Write(append(answer, '\n')); err != nil {
			return
		}
	}
}

// BenchmarkCall is a tool call over stdio to the least server there is.
// BenchmarkFloor is the same bytes echoed by a process with nothing of ours but
// two pipes: the ratio of the two is what the package costs.
func BenchmarkCall(b *testing.B) {
	c, err := Start(b.Context(), self(b, "lines"), Options{SkipProbe: true})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close(context.Background())
	args := json.RawMessage(`{"x":1}`)
	one := func(b *testing.B) {
		if _, err := c.CallTool(context.Background(), "echo", args, RequestOptions{}); err != nil {
			b.Error(err)
		}
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one(b)
		}
	})
	b.Run("sixteen", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(8) // times GOMAXPROCS
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				one(b)
			}
		})
	})
}

func BenchmarkFloor(b *testing.B) {
	p, err := newPipes()
	if err != nil {
		b.Fatal(err)
	}
	cmd := self(b, "echo")
	proc, err := os.StartProcess(cmd.Path, []string{cmd.Path}, &os.ProcAttr{Env: cmd.Env, Files: []*os.File{p.stdinR, p.stdoutW, p.stderrW}})
	if err != nil {
		b.Fatal(err)
	}
	p.closeChildEnds()
	message := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"x":1},"_meta":{"progressToken":7}}}` + "\n")
	r := bufio.NewReader(p.stdoutR)
	for b.Loop() {
		if _, err := p.stdinW.Write(message); err != nil {
			b.Fatal(err)
		}
		if _, err := r.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	p.closeOwnEnds()
	if _, err := proc.Wait(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkScan(b *testing.B) {
	for name, result := range map[string]string{
		"text":   `{"content":[{"type":"text","text":"` + strings.Repeat("all work and no play ", 50000) + `"}]}`,
		"tokens": `{"content":[],"structuredContent":[` + strings.Repeat(`{"id":12345,"name":"n","ok":true},`, 30000) + `0]}`,
	} {
		b.Run(name, func(b *testing.B) {
			message := []byte(`{"jsonrpc":"2.0","id":7,"result":` + result + `}`)
			b.SetBytes(int64(len(message)))
			for b.Loop() {
				if _, _, err := scanEnvelope(message, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// memory is a session over in-memory pipes to answerLines.
func memory(t testing.TB) *Client {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := newClient(Options{}.withDefaults())
	w := newWriter(inW, func(error) {})
	c.session = newSession(w, c.opt.Log, nil)
	c.link = &stdio{session: c.session}
	d := &decoder{to: c.session, log: c.opt.Log, max: 1 << 20, counts: &counts{}}
	done := make(chan struct{}, 3)
	go func() { w.run(); done <- struct{}{} }()
	go func() { answerLines(inR, outW); outW.Close(); done <- struct{}{} }()
	go func() {
		defer func() { done <- struct{}{} }()
		for r := newLineReader(outR, d.max); ; {
			l, err := r.next()
			if err != nil || d.line(l) != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		w.close()
		for range 3 {
			<-done
		}
	})
	return c
}

// A call costs few allocations whatever the size of its result: the call and its
// channel, the message, the line, and what building and reading them takes.
func TestAllocations(t *testing.T) {
	const limit = 8
	c := memory(t)
	args := json.RawMessage(`{"x":1}`)
	got := testing.AllocsPerRun(500, func() {
		if _, err := c.CallTool(context.Background(), "echo", args, RequestOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Logf("%.1f allocations per call", got)
	if got > limit {
		t.Errorf("%.1f allocations per call, want at most %d", got, limit)
	}
}
