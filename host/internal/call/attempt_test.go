package call

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// Waiting for a place counts toward max_timeout and not toward timeout.
func TestWaitingForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(ctx context.Context, _ int, req *server.Request) (*server.Answer, error) {
			return untilCanceled(ctx, req, 1000, 20*time.Second)
		})
		p.enter = func(patience time.Duration) error {
			if patience != p.limits.MaxTimeout {
				t.Errorf("waits for %v", patience)
			}
			time.Sleep(200 * time.Second) // longer than timeout
			return nil
		}
		begun := time.Now()
		_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"})
		if f := err.(*Failure); time.Since(begun) != p.limits.MaxTimeout || !strings.Contains(f.Message, "max_timeout") {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		// It may have stopped meanwhile, so it is asked again.
		if p.starts != 2 || p.left != 1 {
			t.Errorf("ready %d times, left %d times", p.starts, p.left)
		}
	})
}

// Who takes silence for so long and no longer does not wait longer for a start
// that was put off, nor beyond the end of the whole call.
func TestPatienceForAStart(t *testing.T) {
	for _, c := range []struct {
		timeout time.Duration // of the request
		want    time.Duration
	}{{0, 30 * time.Second}, {2 * time.Second, 2 * time.Second}, {400 * time.Second, 400 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) { return answer(`{}`), nil })
			if _, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Timeout: c.timeout}); err != nil || len(p.patience) != 1 || p.patience[0] != c.want {
				t.Errorf("timeout %v: %v %v", c.timeout, p.patience, err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(nil)
		p.ready = func(int) error {
			time.Sleep(290 * time.Second)
			return failing(failure.ConnectionRefused, failure.NotSent, 2*time.Second)
		}
		_, _ = pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"})
		if len(p.patience) != 2 || p.patience[1] != 8*time.Second {
			t.Errorf("%v", p.patience)
		}
	})
}

func TestNoPlaceInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(nil)
		p.enter = func(patience time.Duration) error {
			time.Sleep(patience)
			return failing(failure.Timeout, failure.NotSent, 0)
		}
		_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Retry: RetryAlways})
		if f := err.(*Failure); f.Class != failure.Timeout || f.Delivery != failure.NotSent || f.Attempts != 1 || p.left != 0 {
			t.Errorf("%+v, left %d times", f, p.left)
		}
	})
}

// Both attempts of a call have a place, and the pause between them has none.
func TestAPlaceForEachAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var entered int
		p := newPeer(func(_ context.Context, attempt int, _ *server.Request) (*server.Answer, error) {
			if attempt == 1 {
				return nil, failing(failure.ConnectionRefused, failure.NotSent, 0)
			}
			return answer(`{}`), nil
		})
		p.enter = func(time.Duration) error {
			if entered != p.left {
				t.Errorf("entered %d times and left %d times", entered, p.left)
			}
			entered++
			return nil
		}
		if _, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"}); err != nil || entered != 2 || p.left != 2 {
			t.Errorf("%v, entered %d times and left %d times", err, entered, p.left)
		}
	})
}

// A call ends with the tool and the settings it began with, whatever they are by
// then; the next one has the new ones.
func TestWhatChangesDuringACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := catalog.New("s", catalog.Offer{Name: "t", Definition: []byte(`{"name":"t","inputSchema":{"required":["a"]},"outputSchema":{"properties":{"n":{"type":"integer"}}}}`)})
		after := catalog.New("s", catalog.Offer{Name: "t", Definition: []byte(`{"name":"t","inputSchema":{"required":["b"]},"outputSchema":{"properties":{"n":{"type":"string"}}}}`)})
		now, set := before, &config.Server{Name: "s", Rules: exposure.Rules{Default: exposure.Direct}, ValidateResults: "strict", Retry: "safe"}
		p := &changing{settings: func() *config.Server { return set }}
		p.peer = newPeer(func(_ context.Context, attempt int, req *server.Request) (*server.Answer, error) {
			if attempt == 1 {
				now, set = after, &config.Server{Name: "s", Rules: exposure.Rules{Default: exposure.Hidden}, ValidateResults: "off", Retry: "never"}
				if req.Tool != before {
					t.Error("the first attempt has another tool")
				}
				return nil, failing(failure.ConnectionRefused, failure.NotSent, 0)
			}
			if attempt == 2 && req.Tool != before {
				t.Error("the second attempt has another tool")
			}
			return answer(`{"structuredContent":{"n":"x"}}`), nil
		})
		pipe := pipeline(p.peer, "")
		pipe.Find = func(context.Context, string) (*catalog.Tool, Server, error) { return now, p, nil }

		// The retry of before, and the result held against the schema of before.
		_, err := pipe.Do(t.Context(), Request{Tool: "s/t", Arguments: []byte(`{"a":1}`)})
		if f, ok := err.(*Failure); !ok || f.Class != failure.InvalidResult || f.Attempts != 2 {
			t.Errorf("%v", err)
		}
		for args, class := range map[string]failure.Class{`{"a":1}`: failure.InvalidArguments, `{"b":1}`: 0} {
			set = &config.Server{Name: "s", Rules: exposure.Rules{Default: exposure.Direct}, ValidateResults: "strict"}
			_, err := pipe.Do(t.Context(), Request{Tool: "s/t", Arguments: []byte(args)})
			if f, ok := err.(*Failure); ok != (class != 0) || ok && f.Class != class {
				t.Errorf("%s: %v", args, err)
			}
		}
	})
}

// changing is a peer whose settings change.
type changing struct {
	*peer
	settings func() *config.Server
}

func (p *changing) Settings() *config.Server { return p.settings() }
