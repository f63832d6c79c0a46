package control

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

func place(t *testing.T) Place {
	t.Helper()
	parent := ""
	if runtime.GOOS != "windows" {
		parent = "/tmp" // a socket's address is short
	}
	dir, err := os.MkdirTemp(parent, "x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Place{Dir: filepath.Join(dir, "run"), Name: "0123456789abcdef0123"}
}

// Of many that want a place one gets it; when that has gone, or was killed, the next.
func TestOneOwner(t *testing.T) { everyTransport(t, testOneOwner) }

func testOneOwner(t *testing.T, via transport) {
	p := place(t)
	var mu sync.Mutex
	var owners []*Owner
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			o, err := own(p, via)
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
	owners[0].Release()
	if _, err := os.Stat(p.socket()); err == nil {
		t.Error("the socket is left")
	}
	o, err := own(p, via)
	if err != nil {
		t.Fatal(err)
	}
	o.Release()
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
func TestSilentHost(t *testing.T) { everyTransport(t, testSilentHost) }

func testSilentHost(t *testing.T, via transport) {
	p := place(t)
	o, err := own(p, via)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Release()
	begun := time.Now()
	if _, err := dial(t.Context(), p, "b", via); err == nil {
		t.Error("nobody answered")
	}
	if took := time.Since(begun); took > 20*helloWait {
		t.Errorf("it took %s", took)
	}
}

// A host whose socket or lock somebody has removed is found again, and says which
// process it is until then; where another has its place meanwhile, that one keeps it.
func TestTendsItsPlace(t *testing.T) {
	before := tendEvery
	t.Cleanup(func() { tendEvery = before })
	tendEvery = 10 * time.Millisecond
	everyTransport(t, func(t *testing.T, via transport) {
		s := serve(t, "none", via)
		lock := filepath.Join(s.place.Dir, s.place.Name+lockSuffix)
		for name, files := range map[string][]string{"socket": {s.place.socket()}, "lock": {lock}, "both": {s.place.socket(), lock}} {
			for _, file := range files {
				_ = os.Remove(file) // the lock cannot be removed on Windows
			}
			for ctx := patient(t); ; {
				s.mu.Lock()
				whole := s.owner != nil && s.owner.has()
				s.mu.Unlock()
				if c, err := dial(ctx, s.place, build, s.via); err == nil && whole {
					c.Close()
					break
				} else if c != nil {
					c.Close()
				}
				if ctx.Err() != nil {
					t.Fatalf("without its %s it is not found again", name)
				}
			}
		}
		if holder, ok := Holder(s.place); runtime.GOOS != "windows" && (!ok || holder != pid) {
			t.Errorf("who has it: %d %v", holder, ok)
		}
	})
}

// A runtime directory that is not there is nobody's to make: the place is in the
// state directory then, for all processes.
func TestNoRuntimeDirectory(t *testing.T) {
	state, missing := t.TempDir(), filepath.Join(t.TempDir(), "missing")
	t.Setenv("XDG_RUNTIME_DIR", missing)
	if p := PlaceOf(state, "00"); strings.HasPrefix(p.Dir, missing) {
		t.Errorf("the place is in %s", p.Dir)
	}
}
