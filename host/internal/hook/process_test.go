package hook

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
)

// A hook that cannot be started is tried at the pace of servers, however many calls
// there are, and each call that is made meanwhile is told when the next try is.
func TestStartsAreSpaced(t *testing.T) {
	for _, onError := range []string{config.OnErrorClosed, config.OnErrorOpen} {
		synctest.Test(t, func(t *testing.T) {
			var tries []time.Duration
			began := time.Now()
			c := New(Surroundings{
				Find: func(string, string) (string, error) {
					tries = append(tries, time.Since(began))
					return "", errors.New("there is no such file")
				},
				Describe: func(context.Context, string, []string) (*describe.Description, error) { panic("of no file") },
				Log:      slog.New(slog.DiscardHandler),
			})
			c.Apply([]*config.Hook{{Name: "h", Plugin: "none", Enabled: true, OnError: onError, Timeout: time.Second}})
			defer c.Close()
			postponed := 0
			for time.Since(began) < 50*time.Second {
				before := len(tries)
				out, fail := c.Before(t.Context(), Call{ID: "1", Server: "s", Tool: "t"})
				var text string
				switch {
				case onError == config.OnErrorOpen && (fail != nil || len(out.Notices) != 1):
					t.Fatalf("%v, notices %q", fail, out.Notices)
				case onError == config.OnErrorOpen:
					text = out.Notices[0].Text
				case fail == nil || fail.Class != failure.ServerError || fail.Delivery != failure.NotSent:
					t.Fatalf("%v", fail)
				default:
					text = fail.Message
				}
				if later := strings.Contains(text, "there is no such file; not tried again before "); later != (len(tries) == before) || !strings.Contains(text, "there is no such file") {
					t.Fatalf("after %d tries: %s", len(tries), text)
				} else if later {
					postponed++
				}
				time.Sleep(10 * time.Millisecond)
			}
			// 250 ms, 500 ms, 1 s, 2 s, and too many then: 30 s.
			if len(tries) != 6 || tries[5]-tries[4] < 30*time.Second || tries[4]-tries[3] < 2*time.Second || postponed < 4000 {
				t.Errorf("tries at %v, %d calls postponed", tries, postponed)
			}
		})
	}
}

// Whoever waits for a pause does not outlive the hook.
func TestCloseEndsAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProcess(&config.Hook{Name: "h"}, &Surroundings{})
		p.failed, p.started = errors.New("its process ended"), true
		p.pacing.Ended(time.Now())
		waited := make(chan error, 1)
		go func() {
			_, _, err := p.ready(t.Context())
			waited <- err
		}()
		synctest.Wait()
		began := time.Now()
		p.stop(0)
		if err := <-waited; !errors.Is(err, errStopped) || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
