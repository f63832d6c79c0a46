package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/excerpt"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// maxCaptured bounds what is kept of an output, in bytes: a description is at most 1 MiB.
const maxCaptured = 1<<20 + 1

// raw is a process of the plugin without package launch around it, which would hide
// what is looked at here: its stdout, its lease, the processes it leaves behind.
type raw struct {
	cmd            *exec.Cmd
	lease          *os.File // the write end of its stdin
	stdout, stderr *capture
	exited         chan struct{}
}

// capture keeps the beginning of one output and reads on for ever.
type capture struct {
	file *os.File
	mu   sync.Mutex
	kept []byte
	line chan struct{} // closed once there is a whole line, or the end
	done chan struct{}
}

func (c *capture) read() {
	defer close(c.done)
	buf := make([]byte, 32<<10)
	open := true
	for {
		n, err := c.file.Read(buf)
		c.mu.Lock()
		c.kept = append(c.kept, buf[:min(n, maxCaptured-len(c.kept))]...)
		whole := bytes.IndexByte(c.kept, '\n') >= 0
		c.mu.Unlock()
		if open && (whole || err != nil) {
			open = false
			close(c.line)
		}
		if err != nil {
			return
		}
	}
}

func (c *capture) text() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.kept)
}

// run starts the program with these arguments; attr may be nil.
func (s *subject) run(args, env []string, prepare func(*exec.Cmd)) (*raw, error) {
	r := &raw{exited: make(chan struct{})}
	var theirs []*os.File
	pipe := func() (*os.File, *os.File) {
		read, write, err := os.Pipe()
		if err != nil {
			return nil, nil
		}
		return read, write
	}
	stdin, lease := pipe()
	out, stdout := pipe()
	errs, stderr := pipe()
	theirs = []*os.File{stdin, stdout, stderr}
	for _, f := range []*os.File{stdin, lease, out, stdout, errs, stderr} {
		if f == nil {
			return nil, errors.New("no pipes for the plugin's output")
		}
	}
	dir, err := os.MkdirTemp(s.root, "cwd")
	if err != nil {
		return nil, err
	}
	r.cmd = &exec.Cmd{Path: s.opt.Path, Args: append([]string{s.opt.Path}, args...), Env: env, Dir: dir, Stdin: stdin, Stdout: stdout, Stderr: stderr}
	apart(r.cmd)
	if prepare != nil {
		prepare(r.cmd)
	}
	err = r.cmd.Start()
	for _, f := range theirs {
		_ = f.Close()
	}
	if err != nil {
		for _, f := range []*os.File{lease, out, errs} {
			_ = f.Close()
		}
		return nil, err
	}
	r.lease = lease
	r.stdout = &capture{file: out, line: make(chan struct{}), done: make(chan struct{})}
	r.stderr = &capture{file: errs, line: make(chan struct{}), done: make(chan struct{})}
	go r.stdout.read()
	go r.stderr.read()
	go func() {
		_ = r.cmd.Wait()
		close(r.exited)
	}()
	return r, nil
}

// wait waits for the process to exit by itself; false when it does not in time.
func (r *raw) wait(ctx context.Context) bool {
	select {
	case <-r.exited:
		return true
	case <-ctx.Done():
		return false
	}
}

// drainWait is how long the rest of an ended process's output may take to be read.
const drainWait = time.Second

// close kills what is left and reads the rest of the output.
func (r *raw) close() {
	killGroup(r.cmd)
	_ = r.lease.Close()
	<-r.exited // a killed process exits, or the kernel holds it and all of us
	timer := time.NewTimer(drainWait)
	defer timer.Stop()
	for _, c := range []*capture{r.stdout, r.stderr} {
		select {
		case <-c.done:
		case <-timer.C: // somebody holds the other end
			timer.Reset(0)
		}
		_ = c.file.Close()
		<-c.done
	}
}

// quote is the end of its stderr as the end of a sentence.
func (r *raw) quote() string {
	text := strings.TrimSpace(string(r.stderr.text()))
	if text == "" {
		return ""
	}
	return quoteTail(strings.Split(text, "\n"))
}

// served is a raw process that serves, with a connection to it.
type served struct {
	*raw
	conn   *grpc.ClientConn
	client adapterpb.AdapterClient
}

func (p *served) close() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	p.raw.close()
}

// serve starts the plugin with the cookie and a lease and reads its handshake.
func (s *subject) serve(ctx context.Context) (*served, error) {
	sockets, err := os.MkdirTemp(s.root, "s")
	if err != nil {
		return nil, err
	}
	cookie := wire.CookieValue
	if s.hook {
		cookie = wire.HookCookieValue
	}
	r, err := s.run(nil, s.env(wire.CookieKey+"="+cookie, wire.LeaseEnv+"="+wire.LeaseStdin,
		"PLUGIN_PROTOCOL_VERSIONS="+fmt.Sprint(wire.ProtocolVersion), "PLUGIN_UNIX_SOCKET_DIR="+sockets,
		"PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000"), nil)
	if err != nil {
		return nil, fmt.Errorf("it cannot be started: %w", err)
	}
	p := &served{raw: r}
	ctx, cancel := s.within(ctx, startLimit)
	defer cancel()
	select {
	case <-r.stdout.line:
	case <-ctx.Done():
		p.close()
		return nil, fmt.Errorf("no line on stdout within %s%s", s.patient(startLimit), r.quote())
	}
	line, _, whole := strings.Cut(string(r.stdout.text()), "\n")
	if !whole && line == "" {
		ended := p.wait(ctx)
		p.close()
		if ended {
			return nil, fmt.Errorf("it exited without a handshake (%s)%s", r.cmd.ProcessState, r.quote())
		}
		return nil, fmt.Errorf("it closed stdout without a handshake%s", r.quote())
	}
	network, address, err := handshake(line)
	if err != nil {
		p.close()
		return nil, err
	}
	p.conn, err = grpc.NewClient("passthrough:adapter", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		}))
	if err != nil {
		p.close()
		return nil, err
	}
	p.client = adapterpb.NewAdapterClient(p.conn)
	return p, nil
}

// handshake reads go-plugin's line, "core|protocol|network|address|grpc".
func handshake(line string) (network, address string, err error) {
	parts := strings.Split(strings.TrimSpace(line), "|")
	if len(parts) < 5 || parts[0] != "1" || parts[2] != "unix" && parts[2] != "tcp" || parts[4] != "grpc" {
		return "", "", fmt.Errorf("the first line on stdout is no handshake for gRPC: %q", excerpt.Of(line, maxQuoted))
	}
	if parts[1] != fmt.Sprint(wire.ProtocolVersion) {
		return "", "", fmt.Errorf("its handshake says version %s of the contract, and this is %d", excerpt.Of(parts[1], 20), wire.ProtocolVersion)
	}
	return parts[2], parts[3], nil
}
