package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"

	"github.com/hashicorp/go-plugin/runner"

	"github.com/collet-dev/collet/sdk/internal/wire"
)

// errKilled is what starting returns after kill.
var errKilled = errors.New("killed before it was started")

// pluginRunner is what go-plugin sees of a child: one line of stdout, nothing
// of stderr, and no way to kill it, because when and how is decided here.
type pluginRunner struct {
	hello *handshake
	out   *output

	cmd       *exec.Cmd // complete but for what go-plugin's RunnerFunc adds
	socketDir string    // made by go-plugin

	mu      sync.Mutex
	child   *child
	killed  bool
	network string // where the plugin listens
	address string
}

var _ runner.Runner = (*pluginRunner)(nil)

// accept is go-plugin's RunnerFunc: template has the variables of go-plugin's
// own protocol, the magic cookie among them.
func (r *pluginRunner) accept(template *exec.Cmd, socketDir string) {
	r.socketDir = socketDir
	r.cmd.Env = append(r.cmd.Env, template.Env...)
	r.cmd.Env = append(r.cmd.Env, wire.LeaseEnv+"="+wire.LeaseStdin)
}

// Start implements runner.Runner.
func (r *pluginRunner) Start(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.killed {
		return errKilled
	}
	stderr := &lines{emit: r.out.line}
	c, err := spawn(r.cmd, r.hello, stderr)
	if err != nil {
		return err
	}
	r.child = c
	return nil
}

// started returns the process, or nil when there never was one.
func (r *pluginRunner) started() *child {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.child
}

// kill kills the session at once, or keeps it from being started.
func (r *pluginRunner) kill() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.killed = true
	if r.child != nil {
		r.child.kill()
	}
}

// dial connects to the plugin. The connection is closed with the process, so
// that no call waits for an answer from whoever inherited the socket.
func (r *pluginRunner) dial(ctx context.Context, _ string) (net.Conn, error) {
	r.mu.Lock()
	c, network, address := r.child, r.network, r.address
	r.mu.Unlock()
	if c == nil || c.exited.Err() != nil {
		return nil, errors.New("the adapter process has exited")
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(c.exited, func() { _ = conn.Close() })
	return conn, nil
}

// Stdout implements runner.Runner with the handshake alone (P5, P6).
func (r *pluginRunner) Stdout() io.ReadCloser { return r.hello }

// Stderr implements runner.Runner with nothing: go-plugin's log parser panics
// on some lines (P1).
func (r *pluginRunner) Stderr() io.ReadCloser { return io.NopCloser(strings.NewReader("")) }

// Wait implements runner.AttachedRunner.
func (r *pluginRunner) Wait(ctx context.Context) error {
	select {
	case <-r.started().exited.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Kill implements runner.AttachedRunner, and does nothing: go-plugin calls it
// two seconds after any Shutdown and after any failed start, the latter before
// the process could exit with a reason of its own.
func (r *pluginRunner) Kill(context.Context) error { return nil }

// Diagnose implements runner.Runner. Our own failures say more.
func (r *pluginRunner) Diagnose(context.Context) string { return "" }

// Name implements runner.Runner.
func (r *pluginRunner) Name() string { return r.cmd.Path }

// ID implements runner.AttachedRunner: the pid, "" when there never was one.
func (r *pluginRunner) ID() string {
	if c := r.started(); c != nil {
		return strconv.Itoa(c.cmd.Process.Pid)
	}
	return ""
}

// PluginToHost implements runner.AddrTranslator and learns the address on the
// way.
func (r *pluginRunner) PluginToHost(network, address string) (string, string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.address != "" {
		return "", "", fmt.Errorf("the host dials no second address (%s)", address)
	}
	r.network, r.address = network, address
	return network, address, nil
}

// HostToPlugin implements runner.AddrTranslator.
func (r *pluginRunner) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}
