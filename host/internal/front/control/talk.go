package control

import (
	"context"
	"sync"

	"github.com/collet-dev/collet/host"
)

// talk answers the questions of one call, on this side.
type talk struct {
	c       *Client
	ctx     context.Context
	cancel  context.CancelFunc
	consent host.Consenter
	ask     func(tool string) host.Asker
	work    sync.WaitGroup
}

func (c *Client) talk(ctx context.Context, consent host.Consenter, ask func(tool string) host.Asker) *talk {
	ctx, cancel := context.WithCancel(ctx)
	return &talk{c: c, ctx: ctx, cancel: cancel, consent: consent, ask: ask}
}

// end takes back what is still being asked: the call has ended. Whoever asks returns
// soon after that.
func (t *talk) end() {
	t.cancel()
	t.work.Wait()
}

func (t *talk) heard(m message) {
	var q question
	if m.op != opConsent && m.op != opAsk || unpack(m.body, &q) != nil {
		return
	}
	t.work.Go(func() {
		a := answer{ID: q.ID}
		var err error
		if m.op == opConsent {
			a.Consent, err = t.consent(t.ctx, q.Consent)
		} else {
			a.Result, err = t.ask(q.Tool)(t.ctx, q.Method, q.Params)
		}
		if err != nil {
			a.Failed = packError(err)
		}
		_ = t.c.s.write(opAnswer, m.id, pack(a)) // else the connection ends, and with it the call
	})
}
