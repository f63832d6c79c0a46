package mcpadapter

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// connectTimeout ends an attempt to connect that nobody ends otherwise. Whoever
// waits for it has a deadline of its own (the host's start_timeout, a call's
// timeout); a package runner that downloads may well need more than one of them.
const connectTimeout = 5 * time.Minute

// How long before the host gives a start up the first attempt ends, so that the
// host hears why and not only that it took too long: an eighth of what is left,
// within these bounds. An upstream that floods its output takes time to end.
const (
	minReportTime = 250 * time.Millisecond
	maxReportTime = 5 * time.Second
)

// observer learns how the connection is. Its methods must not block.
type observer interface {
	connecting()
	connected(up Upstream)
	disconnected(why *failure.Failure)
}

// link holds the one connection to the upstream and replaces it on demand: all
// who need it while there is none share one attempt.
type link struct {
	dial   func(context.Context) (Upstream, error)
	remote bool // see Options.Remote
	to     observer

	base context.Context // ends with close
	stop context.CancelFunc
	work sync.WaitGroup // what close waits for: attempts, keepers, and the owner's goroutines

	mu      sync.Mutex
	up      Upstream  // nil while there is none
	since   time.Time // when up came about
	attempt *attempt  // nil while none runs
	ends    ends
	closed  bool
}

// attempt is one try to connect; up and err are set before done is closed.
type attempt struct {
	done chan struct{}
	up   Upstream
	err  *failure.Failure
}

func newLink(dial func(context.Context) (Upstream, error), remote bool, to observer) *link {
	l := &link{dial: dial, remote: remote, to: to}
	l.base, l.stop = context.WithCancel(context.Background())
	return l
}

// start begins the first attempt. by is when the host gives it up, zero when it
// does not say.
func (l *link) start(by time.Time) {
	limit := connectTimeout
	if left := time.Until(by); !by.IsZero() && left > minReportTime {
		limit = min(limit, left-min(max(left/8, minReportTime), maxReportTime))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begin(0, limit)
}

// acquire returns the connection, making one when there is none. The error is a
// failure with delivery NotSent, unless the upstream itself refused.
func (l *link) acquire(ctx context.Context) (Upstream, error) {
	l.mu.Lock()
	if up := l.alive(); up != nil {
		l.mu.Unlock()
		return up, nil
	}
	a := l.attempt
	if a == nil {
		if l.closed {
			l.mu.Unlock()
			return nil, closing()
		}
		wait, f := l.ends.hold(ctx, time.Now())
		if f != nil {
			l.mu.Unlock()
			return nil, f
		}
		a = l.begin(wait, connectTimeout)
	}
	l.mu.Unlock()
	select {
	case <-a.done:
	case <-ctx.Done():
		return nil, l.stillConnecting(ctx)
	}
	if a.err != nil {
		return nil, a.err
	}
	return a.up, nil
}

// current returns the connection there is, or nil; it never makes one.
func (l *link) current() Upstream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alive()
}

// alive returns the connection unless it has ended, which its keeper may not
// have noticed yet. The caller holds mu.
func (l *link) alive() Upstream {
	if l.up != nil {
		select {
		case <-l.up.Done():
			l.lost(l.up)
		default:
		}
	}
	return l.up
}

// lost takes note of the end of a connection, whoever notices it first. The caller
// holds mu.
func (l *link) lost(up Upstream) {
	if l.up != up {
		return
	}
	l.up = nil
	if l.closed {
		return // it was ended
	}
	why := ended(up.Err())
	l.over(time.Since(l.since), why)
	l.to.disconnected(why)
}

// begin starts an attempt of at most limit, after a pause. The caller holds mu.
func (l *link) begin(pause, limit time.Duration) *attempt {
	a := &attempt{done: make(chan struct{})}
	l.attempt = a
	if pause == 0 {
		l.to.connecting()
	}
	l.work.Go(func() { l.connect(a, pause, limit) })
	return a
}

// connect carries out an attempt and, once connected, keeps watch until the
// connection ends.
func (l *link) connect(a *attempt, pause, limit time.Duration) {
	if pause > 0 {
		l.rest(pause)
	}
	ctx, cancel := context.WithTimeout(l.base, limit)
	up, err := l.dial(ctx)
	cancel()

	l.mu.Lock()
	l.attempt = nil
	a.up, a.err = up, notConnected(err)
	if a.err != nil {
		l.over(0, a.err)
		l.to.disconnected(a.err)
	} else {
		l.up, l.since = up, time.Now()
		l.to.connected(up)
	}
	l.mu.Unlock()
	close(a.done)
	if a.err == nil {
		l.keep(up)
	}
}

// rest waits before an attempt, or until close.
func (l *link) rest(pause time.Duration) {
	select {
	case <-time.After(pause):
	case <-l.base.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.to.connecting()
}

// over takes note of an end or a failed attempt. To ask for a server that runs by
// itself costs nothing, and only asking tells that it is back. The caller holds mu.
func (l *link) over(lasted time.Duration, why *failure.Failure) {
	if !l.remote {
		l.ends.add(time.Now(), lasted, why)
	}
}

// keep waits for the end of a connection and leaves nothing of it behind.
func (l *link) keep(up Upstream) {
	select {
	case <-l.base.Done():
	case <-up.Done():
		l.mu.Lock()
		l.lost(up)
		l.mu.Unlock()
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = up.Close(ctx) // it can only say that a process outlived SIGKILL
}

// close ends the connection and any attempt, and waits for both until ctx ends.
func (l *link) close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.stop()
	over := make(chan struct{})
	go func() {
		l.work.Wait()
		close(over)
	}()
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return errors.New("close the upstream: it is still running; it ends with this process")
	}
}

// closing is the failure of whoever comes too late.
func closing() *failure.Failure {
	f := failure.New(failure.ConnectionRefused, failure.NotSent, "the adapter is closing")
	f.Origin = failure.OriginAdapter
	return f
}

// stillConnecting is for who could not wait any longer.
func (l *link) stillConnecting(ctx context.Context) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ctx.Err()
	}
	f := failure.New(failure.Timeout, failure.NotSent,
		"the server is still starting (a package runner may be downloading it); try again, or raise start_timeout")
	if l.remote {
		f.Message = "there is no connection to the server yet; it is slow to answer, or cannot be reached"
	}
	f.Err = ctx.Err()
	return f
}

// notConnected is err as a failure of whoever wanted the connection: their
// request was never sent. An answer of the upstream stays one.
func notConnected(err error) *failure.Failure {
	if err == nil {
		return nil
	}
	f := *failure.Classify(err)
	if f.Delivery == failure.DeliveryUnknown {
		f.Delivery = failure.NotSent
	}
	return &f
}

// ended is the reason why a connection is gone, as a failure.
func ended(err error) *failure.Failure {
	var f *failure.Failure
	switch {
	case errors.As(err, &f):
		return notConnected(f)
	case err == nil:
		f = failure.New(failure.ConnectionRefused, failure.NotSent, "the server closed the connection")
	default:
		f = failure.New(failure.ConnectionRefused, failure.NotSent, "the server ended: %w", err)
	}
	f.Origin = failure.OriginUpstream
	return f
}
