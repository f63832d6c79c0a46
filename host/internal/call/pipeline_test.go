package call

import (
	"context"
	"errors"
	"log/slog"
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

// peer is a server that does what its fields say.
type peer struct {
	set    config.Server
	limits server.Limits
	ready  func(attempt int) error
	do     func(ctx context.Context, attempt int, req *server.Request) (*server.Answer, error)

	enter   func(patience time.Duration) error
	forward func(ctx context.Context, attempt int, q *server.Passage) ([]byte, error)

	starts, dos, left int
	patience          []time.Duration // of each start
}

func (p *peer) Settings() *config.Server { return &p.set }

func (p *peer) Limits(*config.Server) server.Limits { return p.limits }

func (p *peer) Enter(_ context.Context, patience time.Duration) error {
	if p.enter == nil {
		return nil
	}
	return p.enter(patience)
}

func (p *peer) Leave() { p.left++ }

func (p *peer) Ready(_ context.Context, patience time.Duration) error {
	p.starts++
	p.patience = append(p.patience, patience)
	if p.ready == nil {
		return nil
	}
	return p.ready(p.starts)
}

func (p *peer) Do(ctx context.Context, req *server.Request) (*server.Answer, error) {
	p.dos++
	return p.do(ctx, p.dos, req)
}

func (p *peer) Forward(ctx context.Context, q *server.Passage) ([]byte, error) {
	p.dos++
	return p.forward(ctx, p.dos, q)
}

func newPeer(do func(ctx context.Context, attempt int, req *server.Request) (*server.Answer, error)) *peer {
	return &peer{
		set:    config.Server{Name: "s", Rules: exposure.Rules{Default: exposure.Direct}},
		limits: server.Limits{Timeout: 30 * time.Second, MaxTimeout: 300 * time.Second},
		do:     do,
	}
}

func pipeline(p *peer, definition string) *Pipeline {
	tool := catalog.New("s", catalog.Offer{Name: "t", Definition: []byte(definition)})
	return &Pipeline{
		Find: func(context.Context, string) (*catalog.Tool, Server, error) { return tool, p, nil },
		Log:  slog.New(slog.DiscardHandler),
	}
}

func failing(class failure.Class, delivery failure.Delivery, retryAfter time.Duration) *server.Failure {
	return &server.Failure{Failure: failure.Failure{Class: class, Delivery: delivery, RetryAfter: retryAfter, Message: "it failed"}}
}

func answer(text string) *server.Answer { return &server.Answer{JSON: []byte(text)} }

const plain = `{"name":"t","inputSchema":{"type":"object"}}`

func TestSecondAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(_ context.Context, attempt int, _ *server.Request) (*server.Answer, error) {
			if attempt == 1 {
				return nil, failing(failure.ConnectionRefused, failure.NotSent, 0)
			}
			return answer(`{"content":[]}`), nil
		})
		begun := time.Now()
		res, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"})
		if err != nil || res.Attempts != 2 || p.starts != 2 {
			t.Fatalf("%+v %v, %d starts", res, err, p.starts)
		}
		if waited := time.Since(begun); waited < 800*time.Millisecond || waited > 1200*time.Millisecond {
			t.Errorf("waited %v between the attempts", waited)
		}
	})
}

func TestSecondFailureIsTheOneReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(_ context.Context, attempt int, _ *server.Request) (*server.Answer, error) {
			if attempt == 1 {
				return nil, failing(failure.DNSFailure, failure.NotSent, 0)
			}
			return nil, failing(failure.AuthFailure, failure.Answered, 0)
		})
		_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"})
		if f := err.(*Failure); f.Class != failure.AuthFailure || f.Attempts != 2 || f.Server != "s" || f.Tool != "t" {
			t.Errorf("%+v", f)
		}
	})
}

func TestLostAnswerIsNeverRepeated(t *testing.T) {
	p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) {
		return nil, failing(failure.ConnectionRefused, failure.DeliveryUnknown, 0)
	})
	_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"})
	if f := err.(*Failure); p.dos != 1 || f.Delivery != failure.DeliveryUnknown || !strings.Contains(f.Message, "outcome unknown") {
		t.Errorf("%d attempts, %+v", p.dos, f)
	}
}

func TestRetryAfterDecidesTheWait(t *testing.T) {
	for after, attempts := range map[time.Duration]int{90 * time.Second: 2, time.Hour: 1} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(func(_ context.Context, attempt int, _ *server.Request) (*server.Answer, error) {
				if attempt == 1 {
					return nil, failing(failure.RateLimited, failure.Answered, after)
				}
				return answer(`{}`), nil
			})
			begun := time.Now()
			_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"})
			if p.dos != attempts {
				t.Errorf("retry after %v: %d attempts, %v", after, p.dos, err)
			}
			if waited := time.Since(begun); attempts == 2 && waited != after || attempts == 1 && waited != 0 {
				t.Errorf("retry after %v: waited %v", after, waited)
			}
		})
	}
}

func TestMisconfiguredIsNotTriedAgain(t *testing.T) {
	p := newPeer(nil)
	p.ready = func(int) error {
		f := failing(failure.ConnectionRefused, failure.NotSent, 0)
		f.Misconfigured = true
		return f
	}
	_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"})
	if f := err.(*Failure); p.starts != 1 || !f.Misconfigured {
		t.Errorf("%d starts, %+v", p.starts, f)
	}
}

// untilCanceled answers only the cancellation, as a hung server does, after
// reporting progress n times every step.
func untilCanceled(ctx context.Context, req *server.Request, n int, step time.Duration) (*server.Answer, error) {
	for i := range n {
		select {
		case <-time.After(step):
			req.OnProgress(float64(i), 0, "")
		case <-ctx.Done():
		}
	}
	<-ctx.Done()
	return nil, failing(failure.Canceled, failure.DeliveryUnknown, 0)
}

func TestDeadlines(t *testing.T) {
	for _, c := range []struct {
		name     string
		progress int
		timeout  time.Duration // of the request
		ends     time.Duration
		says     string
	}{
		{"silence", 0, 0, 30 * time.Second, "(timeout)"},
		{"the caller's own timeout", 0, 2 * time.Second, 2 * time.Second, "(timeout)"},
		{"progress restarts it", 3, 0, 3*20*time.Second + 30*time.Second, "(timeout)"},
		{"progress for ever", 1000, 0, 300 * time.Second, "(max_timeout)"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(func(ctx context.Context, _ int, req *server.Request) (*server.Answer, error) {
				return untilCanceled(ctx, req, c.progress, 20*time.Second)
			})
			begun := time.Now()
			_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Timeout: c.timeout})
			f := err.(*Failure)
			if took := time.Since(begun); took != c.ends || f.Class != failure.Timeout || !strings.Contains(f.Message, c.says) {
				t.Errorf("%s: after %v: %v %q", c.name, took, f.Class, f.Message)
			}
			if f.Delivery != failure.DeliveryUnknown || p.dos != 1 {
				t.Errorf("%s: delivery %v, %d attempts", c.name, f.Delivery, p.dos)
			}
		})
	}
}

func TestStartingIsNoPartOfTheTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) { return answer(`{}`), nil })
		p.ready = func(int) error { time.Sleep(50 * time.Second); return nil }
		if _, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t"}); err != nil {
			t.Error(err)
		}
	})
}

func TestCanceledCallerIsNotATimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(func(ctx context.Context, _ int, req *server.Request) (*server.Answer, error) {
			return untilCanceled(ctx, req, 0, 0)
		})
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		_, err := pipeline(p, plain).Do(ctx, Request{Tool: "s/t", Retry: RetryAlways})
		if f := err.(*Failure); f.Class != failure.Canceled || p.dos != 1 {
			t.Errorf("%v after %d attempts", f.Class, p.dos)
		}
	})
}

func TestResults(t *testing.T) {
	const counted = `{"name":"t","outputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`
	for _, c := range []struct {
		name, result, mode string
		isError            bool
		notice, refused    bool
	}{
		{"fits", `{"content":[],"structuredContent":{"n":1}}`, "strict", false, false, false},
		{"does not fit", `{"structuredContent":{"n":"1"}}`, "warn", false, true, false},
		{"warn is the default", `{"structuredContent":{"n":"1"}}`, "", false, true, false},
		{"strict", `{"structuredContent":{"n":"1"}}`, "strict", false, false, true},
		{"off", `{"structuredContent":{"n":"1"}}`, "off", false, false, false},
		{"missing", `{"content":[{"type":"text","text":"{\"n\":1}"}]}`, "strict", false, false, true},
		{"an error answers to no schema", `{"isError":true,"structuredContent":{"error":7}}`, "strict", true, false, false},
	} {
		p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) {
			return &server.Answer{JSON: []byte(c.result), IsError: c.isError}, nil
		})
		p.set.ValidateResults = c.mode
		res, err := pipeline(p, counted).Do(t.Context(), Request{Tool: "s/t"})
		var f *Failure
		if errors.As(err, &f) != c.refused {
			t.Errorf("%s: %v", c.name, err)
		}
		if c.refused {
			if f.Class != failure.InvalidResult || f.Delivery != failure.Answered || len(f.Problems) == 0 || p.dos != 1 {
				t.Errorf("%s: %+v", c.name, f)
			}
			continue
		}
		if string(res.JSON) != c.result || (len(res.Notices) > 0) != c.notice {
			t.Errorf("%s: %s notices %q", c.name, res.JSON, res.Notices)
		}
	}
}

func TestRefusalsReachNoServer(t *testing.T) {
	const def = `{"name":"t","inputSchema":{"type":"object","required":["id"],"properties":{"id":{"type":"integer","maximum":9007199254740992}}}}`
	for _, args := range []string{`{}`, `{"id":"1"}`, `{"id":9007199254740993}`, `[]`, `{"id":1}}`, `null`, `{"id":` + strings.Repeat("[", 8<<20)} {
		p := newPeer(nil)
		_, err := pipeline(p, def).Do(t.Context(), Request{Tool: "s/t", Arguments: []byte(args)})
		if f := err.(*Failure); f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent || p.starts != 0 || f.Attempts != 0 {
			t.Errorf("%.80s: %+v", args, f)
		}
	}
	// A model may not call what only scripts may.
	p := newPeer(nil)
	p.set.Rules.Default = exposure.Codemode
	_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Caller: exposure.Model})
	if f := err.(*Failure); f.Class != failure.NotFound || !strings.Contains(f.Message, "codemode") || p.starts != 0 {
		t.Errorf("%+v", f)
	}
}

func TestArgumentsTravelAsWritten(t *testing.T) {
	const args = `{ "z":1.0,  "a":9007199254740993,"h":"<&>" }`
	p := newPeer(func(_ context.Context, _ int, req *server.Request) (*server.Answer, error) {
		if string(req.Arguments) != args {
			t.Errorf("the server got %s", req.Arguments)
		}
		return answer(`{}`), nil
	})
	if _, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Arguments: []byte(args)}); err != nil {
		t.Error(err)
	}
	if p.dos != 1 {
		t.Errorf("%d calls", p.dos)
	}
}

func TestArgumentsOverTheLimitAreNotSent(t *testing.T) {
	of := func(n int) []byte { return []byte(`{"a":"` + strings.Repeat("x", n-len(`{"a":""}`)) + `"}`) }
	p := newPeer(func(context.Context, int, *server.Request) (*server.Answer, error) { return answer(`{}`), nil })
	if _, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Arguments: of(maxArguments)}); err != nil {
		t.Error("at the limit:", err)
	}
	_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Arguments: of(maxArguments + 1)})
	var f *Failure
	if !errors.As(err, &f) || f.Class != failure.InvalidArguments || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "64 MiB") || p.dos != 1 {
		t.Errorf("over the limit: %v after %d attempts", err, p.dos)
	}
}
