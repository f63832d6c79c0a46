//go:build unix

package control

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/collet-dev/collet/host"
)

// A host that does not answer is given up at the time that was given, not later: what
// was only asked cannot be in the middle of anything.
func TestDialGivesUp(t *testing.T) {
	p := place(t)
	if err := os.MkdirAll(p.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", p.socket())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	took := time.Duration(0)
	for range 5 { // the machine may be busy, but not each time
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		begun := time.Now()
		c, err := Dial(ctx, p, build)
		took = time.Since(begun)
		cancel()
		if c != nil || !Silent(err) {
			t.Fatalf("it is reached: %v", err)
		}
		if silent, _ := errors.AsType[*SilentError](err); runtime.GOOS == "linux" && silent.Pid != os.Getpid() {
			t.Errorf("who does not answer is pid %d: %v", silent.Pid, err)
		}
		if took < cancelWait {
			return
		}
	}
	t.Errorf("it takes %s", took)
}

// Who comes when the host has let go of its place is turned away: Clients has counted all
// there will be.
func TestTooLate(t *testing.T) {
	s := serve(t, "none", native())
	owner := s.owner
	stays := s.dial(t)
	s.mu.Lock() // between two lines of Move
	s.owner = nil
	s.mu.Unlock()
	if c, err := Dial(t.Context(), s.place, build); err == nil || Silent(err) {
		t.Errorf("who comes late: %v %v", c, err)
	}
	owner.Release()
	if n, _ := s.Clients(); n != 1 {
		t.Errorf("%d clients", n)
	}
	if _, err := stays.Status(patient(t)); err != nil {
		t.Error(err)
	}
}

// What processes have used leaves nothing behind when they have gone, however they went.
func TestNothingIsLeft(t *testing.T) {
	s := serve(t, "", native())
	first := s.dial(t)
	if err := call(t, first, "n/echo", `{"text":"x"}`); err != nil {
		t.Fatal(err)
	}
	s.until(t, 1)
	before := runtime.NumGoroutine()
	files := descriptors(t)
	for i := range 200 {
		c := s.dial(t)
		if err := call(t, c, "n/echo", `{"text":"x"}`); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Tools(patient(t), host.Query{}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		err := c.Watch(ctx, func(News) { cancel() })
		if cancel(); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if i%2 == 0 {
			c.Close()
		} else {
			c.end(net.ErrClosed)
		}
	}
	s.until(t, 1)
	// Goroutines that were told to end do so soon, and nothing tells of that.
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before || descriptors(t) > files; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before; %d files, %d before\n%s", runtime.NumGoroutine(), before, descriptors(t), files, stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// descriptors is how many files this process has open, 0 where that cannot be seen.
func descriptors(t *testing.T) int {
	t.Helper()
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}
