package mcpadapter

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/sdk/adapter"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/mcp"
)

var exited = failure.New(failure.ConnectionRefused, failure.DeliveryUnknown, "exit status 2")

// The adapter is open at once; who needs the server waits as long as it may.
func TestConnectsInTheBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, host := open(t, func(ctx context.Context, _ int) (Upstream, error) {
			time.Sleep(20 * time.Second)
			return newFake(), nil
		})
		synctest.Wait()
		host.wantStates(t, adapter.Connecting)

		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := s.Tools(short)
		f := wantFailure(t, err, failure.Timeout, failure.NotSent)
		if !strings.Contains(f.Message, "still starting") {
			t.Errorf("message %q", f.Message)
		}
		gone, leave := context.WithCancel(t.Context())
		leave()
		if _, err := s.Call(gone, &adapter.Call{Tool: "x"}); !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that left got %v", err)
		}
		if _, err := s.Tools(t.Context()); err != nil {
			t.Errorf("Tools: %v", err)
		}
		host.wantStates(t, adapter.Connecting, adapter.Ready)
	})
}

// All who find the upstream gone share one attempt, and no call is made twice.
func TestReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		dials, calls := 0, 0
		s, host := open(t, func(_ context.Context, n int) (Upstream, error) {
			dials++
			up := newFake()
			up.call = func(context.Context, string, json.RawMessage, mcp.RequestOptions) (json.RawMessage, error) {
				mu.Lock()
				calls++
				mu.Unlock()
				if n == 0 {
					up.die(exited)
					return nil, exited
				}
				return json.RawMessage(`{"content":[]}`), nil
			}
			time.Sleep(time.Second)
			return up, nil
		})
		_, err := s.Call(t.Context(), &adapter.Call{Tool: "x"})
		wantFailure(t, err, failure.ConnectionRefused, failure.DeliveryUnknown)
		synctest.Wait()
		host.wantStates(t, adapter.Connecting, adapter.Ready, adapter.Unavailable)
		if host.why == nil || host.why.Message != "exit status 2" {
			t.Errorf("unavailable because of %v", host.why)
		}
		if dials != 1 || calls != 1 {
			t.Fatalf("%d dials and %d calls before anybody asked again", dials, calls)
		}

		var callers sync.WaitGroup
		for range 10 {
			callers.Go(func() {
				if _, err := s.Call(t.Context(), &adapter.Call{Tool: "x"}); err != nil {
					t.Errorf("a call after the end: %v", err)
				}
			})
		}
		callers.Wait()
		if dials != 2 || calls != 11 {
			t.Errorf("%d dials and %d calls, want 2 and 11", dials, calls)
		}
		host.wantStates(t, adapter.Connecting, adapter.Ready, adapter.Unavailable, adapter.Connecting, adapter.Ready)
	})
}

// A failure to connect is the failure of whoever waited: certainly not sent,
// unless the server itself refused.
func TestConnectFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refusal := failure.New(failure.AuthFailure, failure.Answered, "no")
		refusal.UpstreamCode = 401
		s, host := open(t, func(_ context.Context, n int) (Upstream, error) {
			if n == 0 {
				time.Sleep(time.Second) // so that Tools joins this attempt
				return nil, failure.New(failure.Timeout, failure.DeliveryUnknown, "no answer to initialize")
			}
			return nil, refusal
		})
		_, err := s.Tools(t.Context())
		wantFailure(t, err, failure.Timeout, failure.NotSent)
		host.wantStates(t, adapter.Connecting, adapter.Unavailable)
		_, err = s.Tools(t.Context())
		if f := wantFailure(t, err, failure.AuthFailure, failure.Answered); f.UpstreamCode != 401 {
			t.Errorf("code %d", f.UpstreamCode)
		}
	})
}

// A server that ends all the time is started five times, then once in 30 s;
// after a quiet while it has its five again.
func TestKeepsEnding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		s, _ := open(t, func(context.Context, int) (Upstream, error) {
			dials++
			return nil, exited
		})
		for range 20 {
			_, err := s.Tools(t.Context())
			wantFailure(t, err, failure.ConnectionRefused, failure.NotSent)
		}
		if dials != 5 {
			t.Fatalf("%d dials, want 5", dials)
		}
		time.Sleep(10 * time.Second)
		_, err := s.Tools(t.Context())
		if f := wantFailure(t, err, failure.ConnectionRefused, failure.NotSent); f.RetryAfter != 20*time.Second {
			t.Errorf("retry after %s, want 20s", f.RetryAfter)
		}
		if exited.RetryAfter != 0 {
			t.Error("the original failure was changed")
		}
		time.Sleep(20 * time.Second)
		for range 3 {
			_, _ = s.Tools(t.Context())
		}
		if dials != 6 {
			t.Errorf("%d dials after 30 s, want 6", dials)
		}
		time.Sleep(endsWindow)
		for range 20 {
			_, _ = s.Tools(t.Context())
		}
		if dials != 11 {
			t.Errorf("%d dials after a quiet while, want 11", dials)
		}
	})
}

// An end after a handshake counts like a failed one, however clean: some servers
// end right after it.
func TestEndsAfterTheHandshakeCount(t *testing.T) {
	for name, why := range map[string]error{"crash": exited, "clean": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dials := 0
				s, _ := open(t, func(context.Context, int) (Upstream, error) {
					dials++
					up := newFake()
					up.tools = func(context.Context) ([]json.RawMessage, error) {
						up.die(why)
						return nil, exited
					}
					return up, nil
				})
				for range 20 {
					if _, err := s.Tools(t.Context()); err == nil {
						t.Fatal("a list of a server that ended")
					} // and asked again before its keeper knows
				}
				if dials != manyEnds {
					t.Errorf("%d dials, want %d", dials, manyEnds)
				}
			})
		})
	}
}

// Each end doubles the pause before the next start, until a connection lasted.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var up *fake
		began := time.Now()
		var dialed []time.Duration
		s, host := open(t, func(context.Context, int) (Upstream, error) {
			dialed = append(dialed, time.Since(began))
			up = newFake()
			return up, nil
		})
		call := func() {
			t.Helper()
			if _, err := s.Call(t.Context(), &adapter.Call{Tool: "x"}); err != nil {
				t.Fatal(err)
			}
		}
		call()
		for _, want := range []time.Duration{250 * time.Millisecond, 500 * time.Millisecond, time.Second} {
			up.die(exited)
			synctest.Wait()
			began, dialed = time.Now(), nil
			host.wantLast(t, adapter.Unavailable)
			call()
			if len(dialed) != 1 || dialed[0] != want {
				t.Errorf("started after %v, want %v", dialed, want)
			}
		}
		time.Sleep(steadyRun)
		up.die(exited)
		synctest.Wait()
		began, dialed = time.Now(), nil
		call()
		if len(dialed) != 1 || dialed[0] != firstBackoff {
			t.Errorf("after a steady run started after %v, want %v", dialed, firstBackoff)
		}
	})
}

// Whoever has no time for the pause learns at once why there is one.
func TestNoTimeForBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := open(t, func(context.Context, int) (Upstream, error) { return nil, exited })
		synctest.Wait()
		began := time.Now()
		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		_, err := s.Tools(short)
		f := wantFailure(t, err, failure.ConnectionRefused, failure.NotSent)
		if f.RetryAfter != firstBackoff || f.Message != "exit status 2; not tried again for 250ms" || time.Since(began) != 0 {
			t.Errorf("after %s: %q, retry after %s", time.Since(began), f.Message, f.RetryAfter)
		}
	})
}

// To reach a server that runs by itself costs nothing, so every use tries.
func TestRemoteIsAlwaysTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		dials := 0
		var up *fake
		s, _ := openAs(t, true, func(context.Context, int) (Upstream, error) {
			if dials++; dials <= 30 {
				return nil, exited
			}
			up = newFake()
			return up, nil
		})
		synctest.Wait()
		for range 29 {
			_, err := s.Tools(t.Context())
			wantFailure(t, err, failure.ConnectionRefused, failure.NotSent)
		}
		for range 30 {
			if _, err := s.Tools(t.Context()); err != nil {
				t.Fatal(err)
			}
			up.die(exited)
			synctest.Wait()
		}
		if dials != 60 || time.Since(began) != 0 {
			t.Errorf("%d dials in %s, want 60 at once", dials, time.Since(began))
		}
	})
}

// Close ends what runs and does not wait longer than an adapter may.
func TestClose(t *testing.T) {
	t.Run("while connected", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := newFake()
			s, host := open(t, func(context.Context, int) (Upstream, error) { return up, nil })
			synctest.Wait()
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			select {
			case <-up.Done():
			default:
				t.Error("the upstream was not closed")
			}
			_, err := s.Call(t.Context(), &adapter.Call{Tool: "x"})
			wantFailure(t, err, failure.ConnectionRefused, failure.NotSent)
			host.wantStates(t, adapter.Connecting, adapter.Ready)
		})
	})
	t.Run("while connecting", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, _ := open(t, func(ctx context.Context, _ int) (Upstream, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			})
			synctest.Wait()
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	})
	t.Run("an upstream that stays", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			up := newFake()
			release := make(chan struct{})
			up.close = func(context.Context) error { <-release; return nil }
			s, _ := open(t, func(context.Context, int) (Upstream, error) { return up, nil })
			synctest.Wait()
			began := time.Now()
			if err := s.Close(); err == nil {
				t.Error("Close said nothing of an upstream that is still there")
			}
			if took := time.Since(began); took != closeTimeout {
				t.Errorf("Close took %s, want %s", took, closeTimeout)
			}
			close(release)
		})
	})
}

// The first attempt ends in time to tell the host why; later ones have their own.
func TestReportsBeforeTheHostGivesUp(t *testing.T) {
	for by, want := range map[time.Duration]time.Duration{
		0:                 connectTimeout, // the host does not say
		time.Second:       750 * time.Millisecond,
		8 * time.Second:   7 * time.Second,
		100 * time.Second: 95 * time.Second,
		time.Hour:         connectTimeout,
		minReportTime / 2: connectTimeout, // too late for that
	} {
		synctest.Test(t, func(t *testing.T) {
			var limits []time.Duration
			l := newLink(func(ctx context.Context) (Upstream, error) {
				deadline, _ := ctx.Deadline()
				limits = append(limits, time.Until(deadline))
				return nil, exited
			}, false, quiet{})
			defer l.close(t.Context())
			var at time.Time
			if by > 0 {
				at = time.Now().Add(by)
			}
			l.start(at)
			synctest.Wait()
			_, _ = l.acquire(t.Context())
			if len(limits) != 2 || limits[0] != want || limits[1] != connectTimeout {
				t.Errorf("by %v: %v", by, limits)
			}
		})
	}
}

// quiet is an observer that does nothing.
type quiet struct{}

func (quiet) connecting()                   {}
func (quiet) connected(Upstream)            {}
func (quiet) disconnected(*failure.Failure) {}
