package call

import (
	"math/rand/v2"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/sdk/failure"
)

// retryWait is the pause before the second attempt, give or take a fifth so that
// callers that failed together do not come back together.
const (
	retryWait   = time.Second
	retryJitter = 0.2
)

// mayRetry decides whether the attempt that ended in f is followed by another,
// and after what pause.
func (p *Pipeline) mayRetry(w *work, f *Failure, left time.Duration) (time.Duration, bool) {
	mode := w.req.Retry
	if mode == "" {
		mode = Retry(w.set.Retry)
	}
	return again(w.attempts, f, mode, harmless(w.tool, w.set.TrustHints), left)
}

// again is mayRetry for any request; harmless: making it twice does what making
// it once does.
func again(attempts int, f *Failure, mode Retry, harmless bool, left time.Duration) (time.Duration, bool) {
	if attempts > 1 || f.Misconfigured || f.Postponed || !repeatable(mode, &f.Failure, harmless) {
		return 0, false
	}
	wait := f.RetryAfter
	if wait == 0 {
		wait = time.Duration(float64(retryWait) * (1 - retryJitter + 2*retryJitter*rand.Float64()))
	}
	return wait, wait < left
}

// harmless reports whether calling the tool twice does what calling it once
// does: by its adapter's word, or by annotation where the user trusts that
// server's hints.
func harmless(t *catalog.Tool, trustHints bool) bool {
	if t.Word.ReadOnly || t.Word.Idempotent {
		return true
	}
	return trustHints && (t.Claim.ReadOnly || t.Claim.Idempotent)
}

// repeatable is the retry rule: the class must be one that may pass, and under
// safe the first attempt must have had no effect, or none that a second adds to.
func repeatable(mode Retry, f *failure.Failure, harmless bool) bool {
	switch f.Class {
	case failure.ConnectionRefused, failure.Timeout, failure.DNSFailure, failure.RateLimited:
	default:
		return false
	}
	switch mode {
	case RetryNever:
		return false
	case RetryAlways:
		return true
	}
	named := f.Class == failure.RateLimited && f.RetryAfter > 0
	return f.Delivery == failure.NotSent || named || harmless
}

// lost says, when the answer of a tool that may have acted never came, that
// nobody knows whether it did. A second attempt that got nowhere takes nothing
// back of the first.
func (w *work) lost(f *Failure) {
	if harmless(w.tool, w.set.TrustHints) {
		return
	}
	twice := w.unanswered && f.Delivery == failure.DeliveryUnknown
	if w.unanswered && f.Delivery == failure.NotSent {
		f.Delivery = failure.DeliveryUnknown
	}
	switch {
	case f.Delivery != failure.DeliveryUnknown || f.Class == failure.Canceled: // who gave up knows that
	case twice:
		f.Message += "; outcome unknown: the tool may have run, even twice"
	case w.attempts > 1:
		f.Message += "; outcome unknown: the tool may have run"
	default:
		f.Message += "; outcome unknown: the tool may have run, so the call was not repeated"
	}
}
