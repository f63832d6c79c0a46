package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// Places are given in the order in which they were asked for, as many as there is room
// for.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r room
		var mu sync.Mutex
		var in []int // who has come, or has given up
		var leaves [7]func()
		var cancels [7]context.CancelFunc
		ask := func(n, bytes int) {
			ctx, cancel := context.WithCancel(t.Context())
			cancels[n] = cancel
			go func() {
				leave, err := r.enter(ctx, bytes)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					in = append(in, -n)
					return
				}
				in = append(in, n)
				leaves[n] = leave
			}()
			synctest.Wait()
		}
		expect := func(when string, want ...int) {
			t.Helper()
			synctest.Wait()
			slices.Sort(in)
			if !slices.Equal(in, want) {
				t.Errorf("%s: %v, want %v", when, in, want)
			}
			in = nil
		}
		ask(1, 2*maxUnread)
		expect("more than there is room for, alone", 1)
		ask(2, maxUnread/2)
		ask(3, maxUnread/2)
		ask(4, maxUnread)
		ask(5, 1)
		expect("beside it")
		leaves[1]()
		leaves[1]()
		expect("after it", 2, 3)
		leaves[3]()
		expect("half free: a small one does not overtake")
		cancels[4]()
		expect("given up: who was behind it comes", -4, 5)
		ask(6, 3*maxUnread)
		leaves[2]()
		expect("one byte is taken")
		leaves[5]()
		expect("nothing is taken", 6)
		leaves[6]()
		if r.taken != 0 || len(r.waiting) != 0 {
			t.Errorf("%d bytes taken, %d wait", r.taken, len(r.waiting))
		}
		for _, cancel := range cancels[1:] {
			cancel()
		}
	})
}

// Of forty large results, no more are on their way to a script than there is room for,
// and the script gets all of them. A call whose first attempt failed after it had a
// place does not keep that while it waits for another.
func TestLargeResultsTakeTurns(t *testing.T) {
	p, err := spawn(t.Context(), []string{program})
	if err != nil {
		t.Fatal(err)
	}
	const size = 3 << 20
	h := newHost()
	var s *session
	var most atomic.Int64
	result := value([]byte(`"` + strings.Repeat("x", size) + `"`))
	h.tools["t/large"] = func(ctx context.Context, c Call) (json.RawMessage, error) {
		for range 1 + c.ID%2 {
			if _, err := c.Admit(ctx, len(result)); err != nil {
				return nil, err
			}
			s.room.mu.Lock()
			most.Store(max(most.Load(), int64(s.room.taken)))
			s.room.mu.Unlock()
		}
		return bytes.Clone(result), nil
	}
	s = newSession(p, &Script{Source: `
		const all = await Promise.all(Array.from({length: 40}, () => call("t/large", {}).then((v) => v.length)));
		return all.reduce((a, b) => a + b)`, Limits: Limits{Heap: 256 << 20}}, h)
	out := s.run(t.Context())
	if string(out.Value) != fmt.Sprint(40*size) {
		t.Errorf("%s %+v", out.Value, out.Error)
	}
	if n := most.Load(); n > maxUnread || n < 2*size {
		t.Errorf("%d bytes at once, there is room for %d", n, maxUnread)
	}
	if s.room.taken != 0 || len(s.room.waiting) != 0 || s.unread != 0 {
		t.Errorf("%d bytes taken, %d wait, %d are unread", s.room.taken, len(s.room.waiting), s.unread)
	}
}

// A script that ends leaves nobody waiting.
func TestScriptEndsWhileResultsWait(t *testing.T) {
	r, h := newRunner(t), newHost()
	first := make(chan struct{})
	h.tools["t/hold"] = func(ctx context.Context, c Call) (json.RawMessage, error) {
		_, err := c.Admit(ctx, maxUnread)
		if err != nil {
			return nil, err
		}
		close(first)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ended := make(chan error, 3)
	h.tools["t/behind"] = func(ctx context.Context, c Call) (json.RawMessage, error) {
		<-first
		_, err := c.Admit(ctx, 1)
		ended <- err
		return nil, err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { <-first; cancel() }()
	out, err := r.Run(ctx, Script{Source: `await Promise.all([call("t/hold", {}), ...Array.from({length: 3}, () => call("t/behind", {}))])`}, h)
	if err != nil || out.Error == nil || out.Error.Kind != KindAborted {
		t.Errorf("%+v %v", out.Error, err)
	}
	close(ended)
	for err := range ended {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
}
