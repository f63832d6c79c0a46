package adapter_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"

	"github.com/collet-dev/collet/sdk/adapter"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// patience bounds every wait for another process: generous, because it only
// matters when something is broken.
const patience = 30 * time.Second

// helloDir is where helloPath built; TestMain removes it.
var helloDir string

// helloPath builds the hello plugin once.
var helloPath = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "collet-hello-")
	if err != nil {
		return "", err
	}
	helloDir = dir
	path := filepath.Join(dir, "collet-plugin-hello")
	out, err := exec.Command("go", "build", "-o", path, "github.com/collet-dev/collet/sdk/examples/hello").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build hello: %w\n%s", err, out)
	}
	return path, nil
})

func hello(t *testing.T) *exec.Cmd {
	t.Helper()
	path, err := helloPath()
	if err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), path)
}

// stock is go-plugin's own idea of a plugin on the host's side.
type stock struct{ plugin.NetRPCUnsupportedPlugin }

type peer struct {
	adapterpb.AdapterClient
	broker *plugin.GRPCBroker
}

func (stock) GRPCServer(*plugin.GRPCBroker, *grpc.Server) error { panic("not a server") }
func (stock) GRPCClient(_ context.Context, broker *plugin.GRPCBroker, conn *grpc.ClientConn) (any, error) {
	return peer{adapter.Client(adapterpb.NewAdapterClient(conn)), broker}, nil
}

// lockedBuffer collects the stderr of a process.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// socketDir is where a plugin puts its socket: one that is killed leaves it behind,
// as those are that still run when their test ends.
func socketDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") // t.TempDir is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// dialStock starts cmd with the stock go-plugin client.
func dialStock(t *testing.T, cmd *exec.Cmd) (peer, *plugin.Client, *lockedBuffer) {
	t.Helper()
	stderr := &lockedBuffer{}
	cmd.Env = append(cmd.Env, plugin.EnvUnixSocketDir+"="+socketDir(t)) // UnixSocketConfig is for runners only
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue,
		},
		Plugins:          plugin.PluginSet{wire.PluginName: stock{}},
		Cmd:              cmd,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
		Stderr:           stderr,
		StartTimeout:     patience,
	})
	t.Cleanup(client.Kill)
	protocol, err := client.Client()
	if err != nil {
		t.Fatalf("start: %v\nstderr: %s", err, stderr)
	}
	raw, err := protocol.Dispense(wire.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	return raw.(peer), client, stderr
}

// address is the address that a handshake or a reattach entry names.
func address(t *testing.T, network, addr string) net.Addr {
	t.Helper()
	if network == "unix" {
		return &net.UnixAddr{Net: network, Name: addr}
	}
	a, err := net.ResolveTCPAddr(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// attach connects to a running plugin as a debugging host does.
func attach(t *testing.T, at plugin.ReattachConfig) peer {
	t.Helper()
	client := plugin.NewClient(&plugin.ClientConfig{
		HandshakeConfig: plugin.HandshakeConfig{
			ProtocolVersion: wire.ProtocolVersion, MagicCookieKey: wire.CookieKey, MagicCookieValue: wire.CookieValue,
		},
		Plugins:          plugin.PluginSet{wire.PluginName: stock{}},
		Reattach:         &at,
		AllowedProtocols: []plugin.Protocol{plugin.ProtocolGRPC},
		Logger:           hclog.NewNullLogger(),
	})
	protocol, err := client.Client()
	if err != nil {
		t.Fatal(err)
	}
	got, err := protocol.Dispense(wire.PluginName)
	if err != nil {
		t.Fatal(err)
	}
	return got.(peer)
}
