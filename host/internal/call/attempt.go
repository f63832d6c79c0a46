package call

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// attempt acquires the server and asks it, at most twice. The second failure is
// the one reported.
func (p *Pipeline) attempt(ctx context.Context, w *work) *Failure {
	if w.answered {
		return nil
	}
	limits := limitsOf(w.server, w.set, w.req.Timeout)
	begun := time.Now()
	left := func() time.Duration { return limits.MaxTimeout - time.Since(begun) + w.rested }
	w.attempts = 1
	for {
		fail := p.try(ctx, w, limits, left())
		if fail == nil && w.answer.Input != nil && !w.req.AcceptInput {
			// The same call goes on with the answers; that is no retry.
			if fail = w.ask(ctx, left()); fail == nil {
				continue
			}
			return fail
		}
		if fail == nil {
			return nil
		}
		wait, again := p.mayRetry(w, fail, left())
		if !again || ctx.Err() != nil {
			w.lost(fail)
			return fail
		}
		w.unanswered = fail.Delivery == failure.DeliveryUnknown
		p.Log.Warn("retry", "server", w.tool.Server, "tool", w.tool.Name,
			"attempt", w.attempts, "delayMs", wait.Milliseconds(), "errorClass", fail.Class.String())
		if !pause(ctx, wait) {
			w.lost(fail)
			return fail
		}
		w.attempts++
	}
}

// limitsOf are a server's limits for one request, which may bring a timeout of
// its own.
func limitsOf(s Server, set *config.Server, own time.Duration) server.Limits {
	limits := s.Limits(set)
	if own > 0 {
		limits.Timeout = own
		limits.MaxTimeout = max(limits.MaxTimeout, own)
	}
	return limits
}

// pause waits, unless ctx ends first.
func pause(ctx context.Context, wait time.Duration) bool {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// try makes one attempt at a call.
func (p *Pipeline) try(ctx context.Context, w *work, limits server.Limits, left time.Duration) *Failure {
	var answer *server.Answer
	ctx, meta := p.beginAttempt(ctx, &w.event, w.attempts, w.req.Meta)
	fail := use(ctx, w.server, limits, left, func(dl *deadline) (err error) {
		defer func() { w.rested += dl.spent() }()
		answer, err = w.server.Do(dl.ctx, &server.Request{
			Tool: w.tool, Arguments: w.req.Arguments, ID: w.event.ID, Meta: meta,
			InputResponses: w.req.InputResponses, RequestState: w.req.RequestState, MaxResult: w.req.MaxResult, Admit: dl.admitting(w.req.Admit),
			OnProgress: dl.reporting(w.req.OnProgress), OnLog: w.req.OnLog, Ask: dl.asking(w.req.Ask),
		})
		return err
	})
	p.endAttempt(ctx, answer != nil && answer.IsError, fail)
	if fail != nil {
		return fail
	}
	w.answer = answer
	w.event.IsError, w.event.Asked, w.event.ResultBytes = answer.IsError, answer.Input != nil, len(answer.JSON)
	return nil
}

// use acquires a server and makes one attempt at a request to it, under a
// deadline. Starting the server has its own limit and is no part of the
// request's; left is what remains of max_timeout for everything else.
func use(ctx context.Context, s Server, limits server.Limits, left time.Duration, do func(*deadline) error) *Failure {
	// Who would give up on silence after timeout does not wait longer for a start
	// that has not even begun.
	patience := min(limits.Timeout, left)
	if err := s.Ready(ctx, patience); err != nil {
		return wrap(err)
	}
	queued := time.Now()
	if err := s.Enter(ctx, left); err != nil {
		return wrap(err)
	}
	defer s.Leave()
	if waited := time.Since(queued); waited >= stale {
		left -= waited
		// It may have ended while others used it, or been stopped since.
		if err := s.Ready(ctx, min(patience, left)); err != nil {
			return wrap(err)
		}
	}
	dl := newDeadline(ctx, limits.Timeout, left)
	defer dl.stop()
	if err := do(dl); err != nil {
		return dl.explain(wrap(err))
	}
	return nil
}

// stale is how old a server's word that it runs may be.
const stale = time.Millisecond

// newID is a call's id in log lines: random, so that ids of several hosts do not
// collide in one adapter's log.
func newID() string { return rand.Text()[:16] }
