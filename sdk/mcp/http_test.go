package mcp

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// web is a running faultserver: where it is reached and what it logged.
type web struct {
	peer
	url string
}

// serve runs a faultserver over HTTP until the end of the test.
func serve(t testing.TB, faults string, args ...string) web {
	t.Helper()
	log := filepath.Join(t.TempDir(), "log")
	args = append([]string{"-http", "127.0.0.1:0", "-log", log, "-fault", faults}, args...)
	cmd := exec.Command(filepath.Join(binDir, "faultserver"), args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return web{peer: peer{log: log}, url: strings.TrimSpace(url)}
}

// dial connects and closes at the end of the test.
func dial(t *testing.T, at Endpoint, opt Options) *Client {
	t.Helper()
	c, err := Dial(within(t), at, opt)
	if err != nil {
		t.Fatalf("Dial: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// Both eras, with answers as JSON and as events.
func TestDial(t *testing.T) {
	for _, faults := range []string{"", "sse", "nosession", "nosession,sse", "modern", "modern-only", "modern-only,sse", "gzip", "gzip,sse",
		"discover-silent", "discover-odd", "discover-empty", "discover-old", "batch", "id-string", "idlast", "errnull"} {
		t.Run(faults, func(t *testing.T) {
			w := serve(t, faults)
			c := dial(t, Endpoint{URL: w.url}, Options{ProbeTimeout: 300e6})
			if got, want := c.Server().Modern, strings.Contains(faults, "modern"); got != want {
				t.Errorf("modern %v, want %v", got, want)
			}
			if tools, err := c.ListTools(within(t)); err != nil || len(tools) < 10 {
				t.Errorf("%d tools, %v", len(tools), err)
			}
			echoes(t, c)
			echoes(t, c)
		})
	}
}
