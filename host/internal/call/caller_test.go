package call

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/exposure"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// What comes with a call beside its arguments reaches the adapter as it is.
func TestWhatComesWithACall(t *testing.T) {
	var got *server.Request
	p := newPeer(func(_ context.Context, _ int, req *server.Request) (*server.Answer, error) {
		got = req
		req.OnLog("warning", "l", json.RawMessage(`{"n":1.0}`))
		return answer(`{}`), nil
	})
	var logged string
	_, err := pipeline(p, plain).Do(t.Context(), Request{
		Tool: "s/t", Meta: json.RawMessage(`{"traceparent": 1.0}`), InputResponses: json.RawMessage(` {"q":{}}`), RequestState: "s",
		OnLog: func(level, logger string, data json.RawMessage) { logged = level + " " + logger + " " + string(data) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if string(got.Meta) != `{"traceparent": 1.0}` || string(got.InputResponses) != ` {"q":{}}` || got.RequestState != "s" || got.Ask != nil {
		t.Errorf("the adapter got %+v", got)
	}
	if logged != `warning l {"n":1.0}` {
		t.Errorf("logged %q", logged)
	}
}

func TestWhatComesWithACallMustBeObjects(t *testing.T) {
	p := newPeer(nil)
	for _, raw := range []string{`[]`, `{`, `7`, ` `} {
		for what, req := range map[string]Request{
			"meta":      {Tool: "s/t", Meta: json.RawMessage(raw)},
			"responses": {Tool: "s/t", InputResponses: json.RawMessage(raw)},
		} {
			_, err := pipeline(p, plain).Do(t.Context(), req)
			if f := err.(*Failure); f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent {
				t.Errorf("%s %q: %+v", what, raw, f)
			}
		}
	}
}

// Who accepts a question gets it, and it is no result that a schema could refuse.
func TestAcceptedInput(t *testing.T) {
	p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) {
		return &server.Answer{Input: &server.InputRequired{Requests: []byte(`{"q":{}}`), State: "s"}}, nil
	})
	p.set.ValidateResults = "strict"
	res, err := pipeline(p, `{"name":"t","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}`).Do(t.Context(), Request{Tool: "s/t", AcceptInput: true})
	if err != nil {
		t.Fatal(err)
	}
	if res.Input == nil || string(res.Input.Requests) != `{"q":{}}` || res.Input.State != "s" || res.JSON != nil || res.Notices != nil {
		t.Errorf("%+v", res)
	}
}

func TestDeferredToolByBridge(t *testing.T) {
	p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) { return answer(`{}`), nil })
	p.set.Rules = exposure.Rules{Default: exposure.Deferred}
	for via, ok := range map[exposure.Via]bool{"": false, exposure.ByName: false, exposure.ByBridge: true} {
		if _, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Caller: exposure.Model, Via: via}); (err == nil) != ok {
			t.Errorf("via %q: %v", via, err)
		}
	}
}

// An open question suspends timeout and max_timeout, and has ten minutes.
func TestDeadlineRestsDuringQuestions(t *testing.T) {
	for name, test := range map[string]struct {
		answers time.Duration
		given   bool
	}{
		"longer than timeout":     {4 * time.Minute, true},
		"longer than max_timeout": {9 * time.Minute, true},
		"too long":                {11 * time.Minute, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(func(ctx context.Context, _ int, req *server.Request) (*server.Answer, error) {
					time.Sleep(20 * time.Second)
					asked := time.Now()
					_, err := req.Ask(ctx, "elicitation/create", nil)
					if took := time.Since(asked); test.given != (err == nil) || took != min(test.answers, questionWait) {
						t.Errorf("after %s: %v", took, err)
					}
					req.OnProgress(1, 2, "")
					time.Sleep(20 * time.Second) // the timeout runs anew
					return answer(`{}`), ctx.Err()
				})
				_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Retry: RetryNever, Ask: thinking(test.answers)})
				if err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// While a result waits to be received, no silence of the server counts; the time for
// the whole call goes on. After that the silence counts from the beginning.
func TestDeadlineWhileAResultWaits(t *testing.T) {
	for name, test := range map[string]struct {
		waits, then, ends time.Duration
		given             bool
		says              string
	}{
		"longer than timeout":     {4 * time.Minute, 25 * time.Second, 285 * time.Second, true, ""},
		"longer than max_timeout": {6 * time.Minute, 0, 300 * time.Second, false, "max_timeout"},
		"silence afterwards":      {time.Minute, time.Minute, 110 * time.Second, true, "(timeout)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				left := false
				p := newPeer(func(ctx context.Context, _ int, req *server.Request) (*server.Answer, error) {
					time.Sleep(20 * time.Second)
					leave, err := req.Admit(ctx, 7)
					if test.given != (err == nil) {
						t.Errorf("%v", err)
					}
					if err == nil {
						defer leave()
						select {
						case <-time.After(test.then):
						case <-ctx.Done():
						}
					}
					if ctx.Err() != nil {
						return nil, failing(failure.Canceled, failure.DeliveryUnknown, 0)
					}
					return answer(`{}`), nil
				})
				begun := time.Now()
				_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Retry: RetryNever, Admit: func(ctx context.Context, bytes int) (func(), error) {
					if bytes != 7 {
						t.Errorf("%d bytes", bytes)
					}
					_, err := thinking(test.waits)(ctx, "", nil)
					return func() { left = true }, err
				}})
				if took := time.Since(begun); took != test.ends || (test.says == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), test.says) || left != test.given {
					t.Errorf("%v after %s, left %t", err, took, left)
				}
			})
		})
	}
}

// thinking is a caller that takes that long to answer.
func thinking(takes time.Duration) Asker {
	return func(ctx context.Context, _ string, _ json.RawMessage) (json.RawMessage, error) {
		select {
		case <-time.After(takes):
			return json.RawMessage(`{}`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// A server that asks again and again keeps no call alive for ever, whether it waits for
// the end of a question before it asks the next one or not.
func TestQuestionsWithoutEnd(t *testing.T) {
	for name, overlap := range map[string]time.Duration{"one by one": questionWait + time.Second, "overlapping": questionWait / 2} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(func(ctx context.Context, _ int, req *server.Request) (*server.Answer, error) {
					var asking sync.WaitGroup
					defer asking.Wait()
					for range 100 {
						asking.Go(func() { _, _ = req.Ask(ctx, "elicitation/create", nil) })
						select {
						case <-time.After(overlap):
						case <-ctx.Done():
							return nil, failing(failure.Canceled, failure.DeliveryUnknown, 0)
						}
					}
					return answer(`{}`), nil
				})
				begun := time.Now()
				_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Retry: RetryNever, Ask: thinking(time.Hour)})
				f, ok := err.(*Failure)
				if took := time.Since(begun); !ok || f.Class != failure.Timeout || took < maxRest || took > maxRest+2*p.limits.MaxTimeout {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

// What is left of max_timeout is the same after a question as it was before.
func TestTimeForTheWholeCallGoesOnAfterAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(ctx context.Context, _ int, req *server.Request) (*server.Answer, error) {
			_, _ = req.Ask(ctx, "elicitation/create", nil)
			for ctx.Err() == nil {
				time.Sleep(10 * time.Second)
				req.OnProgress(1, 2, "")
			}
			return nil, failing(failure.Canceled, failure.DeliveryUnknown, 0)
		})
		begun := time.Now()
		_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Retry: RetryNever, Ask: thinking(7 * time.Minute)})
		f := err.(*Failure)
		if took := time.Since(begun) - 7*time.Minute; f.Class != failure.Timeout || !strings.Contains(f.Message, "max_timeout") || took < p.limits.MaxTimeout || took > p.limits.MaxTimeout+10*time.Second {
			t.Errorf("%v, %s besides the question", f, took)
		}
	})
}

// After a question the silence of the server counts again.
func TestDeadlineAfterAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(ctx context.Context, _ int, req *server.Request) (*server.Answer, error) {
			_, _ = req.Ask(ctx, "roots/list", nil)
			<-ctx.Done()
			return nil, failing(failure.Canceled, failure.DeliveryUnknown, 0)
		})
		begun := time.Now()
		_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Retry: RetryNever, Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			time.Sleep(time.Minute)
			return json.RawMessage(`{}`), nil
		}})
		if f := err.(*Failure); f.Class != failure.Timeout || time.Since(begun) != 90*time.Second {
			t.Errorf("%v after %s", f, time.Since(begun))
		}
	})
}

func forwarder(p *peer) *Pipeline {
	q := pipeline(p, plain)
	q.Server = func(name string) (Server, error) {
		if name != "s" {
			return nil, &server.Failure{Failure: *failure.New(failure.NotFound, failure.NotSent, "no server is called %s", name)}
		}
		return p, nil
	}
	return q
}

func TestForward(t *testing.T) {
	p := newPeer(nil)
	p.forward = func(_ context.Context, _ int, q *server.Passage) ([]byte, error) {
		q.OnProgress(1, 2, "half")
		return []byte(q.Method + string(q.Params)), nil
	}
	var progress Progress
	raw, err := forwarder(p).Forward(t.Context(), ForwardRequest{
		Server: "s", Method: "resources/read", Params: json.RawMessage(`{"uri": 1.0}`),
		OnProgress: func(q Progress) { progress = q },
	})
	if err != nil || string(raw) != `resources/read{"uri": 1.0}` || p.starts != 1 || p.left != 1 {
		t.Errorf("%s %v, %d starts, %d left", raw, err, p.starts, p.left)
	}
	if progress != (Progress{1, 2, "half"}) {
		t.Errorf("progress %+v", progress)
	}
	_, err = forwarder(p).Forward(t.Context(), ForwardRequest{Server: "x", Method: "prompts/list"})
	if f := err.(*Failure); f.Class != failure.NotFound || f.Server != "x" || f.Tool != "" {
		t.Errorf("%+v", f)
	}
	if _, err = forwarder(p).Forward(t.Context(), ForwardRequest{Server: "s", Params: json.RawMessage(`[`)}); err.(*Failure).Class != failure.InvalidArguments {
		t.Errorf("%v", err)
	}
}

// A request that is only passed on is repeated where it cannot have been sent,
// and nowhere else.
func TestForwardIsRepeated(t *testing.T) {
	for _, test := range []struct {
		class    failure.Class
		delivery failure.Delivery
		mode     Retry
		attempts int
	}{
		{failure.ConnectionRefused, failure.NotSent, RetrySafe, 2},
		{failure.ConnectionRefused, failure.NotSent, RetryNever, 1},
		{failure.ConnectionRefused, failure.DeliveryUnknown, RetryAlways, 1},
		{failure.RateLimited, failure.Answered, RetrySafe, 1},
		{failure.NotFound, failure.NotSent, RetryAlways, 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(nil)
			p.set = config.Server{Name: "s", Retry: string(test.mode)}
			p.forward = func(context.Context, int, *server.Passage) ([]byte, error) {
				return nil, failing(test.class, test.delivery, 0)
			}
			_, err := forwarder(p).Forward(t.Context(), ForwardRequest{Server: "s", Method: "prompts/get"})
			if f := err.(*Failure); f.Class != test.class || f.Attempts != test.attempts || p.dos != test.attempts {
				t.Errorf("%+v: %v, %d attempts of %d", test, f, f.Attempts, p.dos)
			}
		})
	}
}

func TestForwardEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(nil)
		p.forward = func(ctx context.Context, _ int, _ *server.Passage) ([]byte, error) {
			<-ctx.Done()
			return nil, failing(failure.Canceled, failure.DeliveryUnknown, 0)
		}
		_, err := forwarder(p).Forward(t.Context(), ForwardRequest{Server: "s", Method: "prompts/get", Timeout: time.Second})
		if f := err.(*Failure); f.Class != failure.Timeout {
			t.Error(f)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = forwarder(p).Forward(ctx, ForwardRequest{Server: "s", Method: "prompts/get"})
		if f, ok := errors.AsType[*Failure](err); !ok || f.Class != failure.Canceled {
			t.Error(err)
		}
	})
}

// inquisitive is a tool that asks its questions, one after the other, and then
// answers what it has been told.
func inquisitive(requests ...string) (*peer, *[]string) {
	var told []string
	return newPeer(func(_ context.Context, attempt int, req *server.Request) (*server.Answer, error) {
		told = append(told, req.RequestState+string(req.InputResponses))
		if attempt > len(requests) {
			return answer(`{"content":[]}`), nil
		}
		return &server.Answer{Input: &server.InputRequired{Requests: []byte(requests[attempt-1]), State: "s" + string(rune('0'+attempt))}}, nil
	}), &told
}

// Where a caller can only be asked, its answers go back with the same call.
func TestInputIsAskedFor(t *testing.T) {
	p, told := inquisitive(`{"a\u0062": {"method":"elicitation/create","params":{"n":1.0}},"r":{"method":"roots/list"}}`, ``)
	var asked []string
	res, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Ask: func(_ context.Context, method string, params json.RawMessage) (json.RawMessage, error) {
		asked = append(asked, method+string(params))
		return json.RawMessage(`{"n": 2.0}`), nil
	}})
	if err != nil || res.Attempts != 1 || string(res.JSON) != `{"content":[]}` {
		t.Fatalf("%+v %v", res, err)
	}
	if want := []string{`elicitation/create{"n":1.0}`, `roots/list`}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if want := []string{``, `s1{"a\u0062":{"n": 2.0},"r":{"n": 2.0}}`, `s2`}; !slices.Equal(*told, want) {
		t.Errorf("told %q, want %q", *told, want)
	}
}

func TestInputThatCannotBeHad(t *testing.T) {
	elicit, sample := `{"q":{"method":"elicitation/create"}}`, `{"q":{"method":"sampling/createMessage"}}`
	no := func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return nil, errors.New("no") }
	p, _ := inquisitive(elicit)
	_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"})
	if f := err.(*Failure); f.Class != failure.ConsentRequired || f.Delivery != failure.Answered {
		t.Errorf("nobody to ask: %+v", f)
	}
	p, _ = inquisitive(sample)
	_, err = pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Ask: no})
	if f := err.(*Failure); f.Class != failure.ConsentRequired || f.Delivery != failure.Answered {
		t.Errorf("no sample: %+v", f)
	}
	for _, odd := range []string{``, `[]`, `{`} {
		p, _ = inquisitive(sample)
		_, err = pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Ask: func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(odd), nil
		}})
		if f := err.(*Failure); f.Class != failure.ConsentRequired || p.dos != 1 {
			t.Errorf("%q: %+v", odd, f)
		}
	}
	p, told := inquisitive(elicit)
	if _, err = pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Ask: no}); err != nil || (*told)[1] != `s1{"q":{"action":"cancel"}}` {
		t.Errorf("no form: %v, told %q", err, *told)
	}
	nobody := func(context.Context, string, json.RawMessage) (json.RawMessage, error) {
		return nil, failure.New(failure.ConsentRequired, failure.NotSent, "no terminal")
	}
	p, _ = inquisitive(elicit)
	_, err = pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Ask: nobody})
	if f, ok := err.(*Failure); !ok || f.Class != failure.ConsentRequired || f.Delivery != failure.Answered || !strings.Contains(f.Message, "no terminal") || p.dos != 1 {
		t.Errorf("nobody saw it: %v", err)
	}
	many := make([]string, 100)
	p, _ = inquisitive(many...)
	_, err = pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Ask: no})
	if f := err.(*Failure); f.Class != failure.ConsentRequired || p.dos != maxRounds+1 {
		t.Errorf("no end of it: %+v after %d", f, p.dos)
	}
}

func TestInputTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := inquisitive(`{"q":{"method":"elicitation/create"}}`)
		begun := time.Now()
		_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Ask: thinking(time.Hour)})
		if f := err.(*Failure); f.Class != failure.Timeout || time.Since(begun) != questionWait {
			t.Errorf("%+v after %s", f, time.Since(begun))
		}
	})
}

// Each round has its time, and none is taken from the call.
func TestInputTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const q = `{"q":{"method":"elicitation/create"}}`
		p, _ := inquisitive(q, q, q)
		if _, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Ask: thinking(9 * time.Minute)}); err != nil {
			t.Error(err)
		}
	})
}
