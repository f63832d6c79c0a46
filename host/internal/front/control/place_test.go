//go:build unix

package control

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func place(t *testing.T) Place {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "x") // a socket's address is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Place{Dir: filepath.Join(dir, "run"), Name: "0123456789abcdef0123"}
}

// Of many that want a place one gets it; when that has gone, or was killed, the next.
func TestOneOwner(t *testing.T) {
	p := place(t)
	var mu sync.Mutex
	var owners []*Owner
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			o, err := Own(p)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				owners = append(owners, o)
			} else if !errors.Is(err, ErrOwned) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if len(owners) != 1 {
		t.Fatalf("%d owners", len(owners))
	}
	for path, want := range map[string]os.FileMode{p.Dir: 0o700, p.socket(): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	owners[0].Release()
	if _, err := os.Stat(p.socket()); err == nil {
		t.Error("the socket is left")
	}
	// What a process that was killed leaves: its socket, and a lock that nobody holds.
	l, err := net.Listen("unix", p.socket())
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if _, err := Dial(t.Context(), p, "b"); err == nil {
		t.Error("a dead one answers")
	}
	o, err := Own(p)
	if err != nil {
		t.Fatal(err)
	}
	o.Release()
}

func TestOwnRefuses(t *testing.T) {
	p := place(t)
	if err := os.Mkdir(p.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Own(p); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("a directory that others look into: %v", err)
	}
	if err := os.Remove(p.Dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), p.Dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Own(p); err == nil {
		t.Error("a link to a directory will do")
	}
}

// Locks of configurations that nobody uses any more go, those in use stay.
func TestSweep(t *testing.T) {
	p := place(t)
	used := Place{p.Dir, "used"}
	o, err := Own(used)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	old := time.Now().Add(-2 * abandoned)
	for _, n := range []string{"dead", "used"} {
		path := filepath.Join(p.Dir, n+lockSuffix)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	mine, err := Own(p)
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Release()
	if _, err := os.Stat(filepath.Join(p.Dir, "dead"+lockSuffix)); err == nil {
		t.Error("a dead one's lock is left")
	}
	if _, err := os.Stat(filepath.Join(p.Dir, "used"+lockSuffix)); err != nil {
		t.Error("one in use is gone")
	}
}

// A host that takes a connection and says nothing holds nobody up.
func TestSilentHost(t *testing.T) {
	p := place(t)
	o, err := Own(p)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	begun := time.Now()
	if _, err := Dial(t.Context(), p, "b"); err == nil {
		t.Error("nobody answered")
	}
	if took := time.Since(begun); took > 20*helloWait {
		t.Errorf("it took %s", took)
	}
}
