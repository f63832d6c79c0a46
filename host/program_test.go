package host_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// goSDKServer is the path of one of the official Go SDK's servers that `make
// servers` builds. Where COLLET_GOSDK_DIR says that they are there, they must be.
func goSDKServer(t *testing.T, name string) string {
	t.Helper()
	dir, must := os.LookupEnv("COLLET_GOSDK_DIR")
	if !must {
		dir = filepath.Join("..", ".cache", "gosdk")
	}
	path, err := exec.LookPath(filepath.Join(dir, name))
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil && !must {
		t.Skipf("no servers of the Go SDK, run make servers: %v", err)
	} else if err != nil {
		t.Fatalf("COLLET_GOSDK_DIR names no servers of the Go SDK: %v", err)
	}
	return path
}

// freeAddr is an address at which nobody listens.
func freeAddr(t *testing.T) (addr, port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err = net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().String(), port
}

// program is a server that runs by itself at an address, for url entries.
type program struct {
	t     *testing.T
	addr  string
	cmd   *exec.Cmd
	ended chan struct{}
	says  bytes.Buffer
}

// startProgram starts a program that will listen at addr, and ends it with the test.
func startProgram(t *testing.T, addr string, cmd *exec.Cmd) *program {
	t.Helper()
	p := &program{t: t, addr: addr, cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.says, &p.says
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	t.Cleanup(p.stop)
	return p
}

func (p *program) stop() {
	_ = p.cmd.Process.Kill()
	<-p.ended
	if p.t.Failed() && p.says.Len() > 0 {
		p.t.Logf("%s said:\n%s", filepath.Base(p.cmd.Path), p.says.Bytes())
	}
}

// await waits until the program listens. Nothing announces that of every program,
// so it is asked: a port that is closed says so at once.
func (p *program) await() {
	p.t.Helper()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	late := time.After(patience)
	for {
		if c, err := net.DialTimeout("tcp", p.addr, patience); err == nil {
			c.Close()
			return
		}
		select {
		case <-again.C:
		case <-p.ended:
			p.t.Fatalf("%s ended: %s", p.cmd, p.says.Bytes())
		case <-late:
			p.t.Fatalf("%s does not listen at %s: %s", p.cmd, p.addr, p.says.Bytes())
		}
	}
}
