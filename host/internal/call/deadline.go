package call

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// deadline ends an attempt that has been silent for too long, or has run for
// too long altogether. Progress restarts the first, never the second.
type deadline struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	idle   time.Duration
	timer  *time.Timer
	total  *time.Timer

	mu   sync.Mutex
	open int // questions
}

func newDeadline(parent context.Context, idle, total time.Duration) *deadline {
	d := &deadline{idle: idle}
	d.ctx, d.cancel = context.WithCancelCause(parent)
	d.timer = time.AfterFunc(idle, func() {
		d.cancel(&expired{fmt.Sprintf("no answer and no progress within %s (timeout)", idle)})
	})
	d.total = time.AfterFunc(total, func() {
		d.cancel(&expired{outOfTime})
	})
	return d
}

func (d *deadline) restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.open == 0 {
		d.timer.Reset(d.idle)
	}
}

// reporting is what takes the progress of the attempt: it restarts the deadline,
// and tells to, which may be nil.
func (d *deadline) reporting(to func(Progress)) func(done, total float64, message string) {
	return func(done, total float64, message string) {
		d.restart()
		if to != nil {
			to(Progress{Done: done, Total: total, Message: message})
		}
	}
}

// asking returns ask with the deadline suspended while it runs; nil stays nil.
func (d *deadline) asking(ask Asker) server.Asker {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		d.mu.Lock()
		d.open++
		d.timer.Stop()
		d.mu.Unlock()
		defer func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.open--; d.open == 0 {
				d.timer.Reset(d.idle)
			}
		}()
		return ask(ctx, method, params)
	}
}

func (d *deadline) stop() {
	d.timer.Stop()
	d.total.Stop()
	d.cancel(nil)
}

// explain turns the cancellation that a deadline caused into the timeout it is.
// A failure that came by itself in the same instant stays.
func (d *deadline) explain(f *Failure) *Failure {
	e, ok := context.Cause(d.ctx).(*expired)
	if !ok || f.Class != failure.Canceled {
		return f
	}
	f.Class, f.Origin, f.Message = failure.Timeout, failure.OriginHost, e.reason
	return f
}

const outOfTime = "no answer before the time for the whole call was up, retries and waits included (max_timeout)"

// expired is the cause of a context that a deadline ended.
type expired struct{ reason string }

func (e *expired) Error() string { return e.reason }
