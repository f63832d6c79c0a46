package call

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/server"
	"github.com/collet-dev/collet/sdk/failure"
)

// toolKind is a tool with what is known of its effects.
type toolKind struct {
	name       string
	definition string
	word       *bool // the adapter's, on both hints
	readOnly   bool  // the word is on read-only, else on idempotent
	trust      bool  // trust_hints
	harmless   bool
}

// tools are all ways in which a tool can be known to be harmless, or not.
var tools = []toolKind{
	{"no hint", `{"name":"t"}`, nil, false, false, false},
	{"no hint, trusted", `{"name":"t"}`, nil, false, true, false},
	{"word: read-only", `{"name":"t"}`, ptr(true), true, false, true},
	{"word: idempotent", `{"name":"t"}`, ptr(true), false, false, true},
	{"word: neither", `{"name":"t"}`, ptr(false), true, false, false},
	{"claims read-only", `{"name":"t","annotations":{"readOnlyHint":true}}`, nil, false, false, false},
	{"claims read-only, trusted", `{"name":"t","annotations":{"readOnlyHint":true}}`, nil, false, true, true},
	{"claims idempotent", `{"name":"t","annotations":{"idempotentHint":true}}`, nil, false, false, false},
	{"claims idempotent, trusted", `{"name":"t","annotations":{"idempotentHint":true}}`, nil, false, true, true},
	{"claims a string, trusted", `{"name":"t","annotations":{"readOnlyHint":"true"}}`, nil, false, true, false},
	{"claims to destroy, trusted", `{"name":"t","annotations":{"destructiveHint":true}}`, nil, false, true, false},
}

func ptr(b bool) *bool { return &b }

// repeated is the rule of docs/architecture.md as a table: the classes whose
// failures may pass, and under "safe" what else must hold. Classes without a line
// are never repeated.
var repeated = map[string]struct{ notSent, answered, lost, harmless, named string }{
	//                     plain tool, by delivery          harmless  with a time to come back
	"connection-refused": {notSent: "yes", answered: "no", lost: "no", harmless: "yes", named: "as without"},
	"timeout":            {notSent: "yes", answered: "no", lost: "no", harmless: "yes", named: "as without"},
	"dns-failure":        {notSent: "yes", answered: "no", lost: "no", harmless: "yes", named: "as without"},
	"rate-limited":       {notSent: "yes", answered: "no", lost: "no", harmless: "yes", named: "yes"},
}

func expectRepeat(class failure.Class, delivery failure.Delivery, harmless bool, after time.Duration, mode string) bool {
	rule, may := repeated[class.String()]
	switch {
	case !may, mode == "never", after > maxTimeout:
		return false
	case mode == "always":
		return true
	case after > 0 && rule.named == "yes":
		return true
	case harmless:
		return rule.harmless == "yes"
	}
	return map[string]string{"not-sent": rule.notSent, "answered": rule.answered, "unknown": rule.lost}[delivery.String()] == "yes"
}

const maxTimeout = 300 * time.Second

// TestRetries walks every class, delivery, kind of tool, mode and time to come
// back, each through a whole call whose second attempt succeeds.
func TestRetries(t *testing.T) {
	classes := 0
	for class := failure.Class(0); class == 0 || class.String() != "unknown"; class++ {
		classes++
		synctest.Test(t, func(t *testing.T) { retriesOf(t, class) })
	}
	if classes != 13 {
		t.Errorf("walked %d classes", classes)
	}
}

func retriesOf(t *testing.T, class failure.Class) {
	for _, delivery := range []failure.Delivery{failure.NotSent, failure.Answered, failure.DeliveryUnknown} {
		for _, tool := range tools {
			for _, mode := range []string{"", "safe", "always", "never"} {
				for _, after := range []time.Duration{0, 7 * time.Second, maxTimeout + 1} {
					name := fmt.Sprintf("%v, %v, %s, retry %q, after %v", class, delivery, tool.name, mode, after)
					want := expectRepeat(class, delivery, tool.harmless, after, mode)
					tryOnce(t, name, failing(class, delivery, after), tool.offer(), tool.trust, mode, want, tool.harmless)
				}
			}
		}
	}
}

func tryOnce(t *testing.T, name string, first *server.Failure, offer catalog.Offer, trust bool, mode string, want, harmless bool) {
	t.Helper()
	p := newPeer(func(_ context.Context, attempt int, _ *server.Request) (*server.Answer, error) {
		if attempt == 1 {
			return nil, first
		}
		return answer(`{"content":[]}`), nil
	})
	p.set.Retry, p.set.TrustHints = mode, trust
	pipe := pipeline(p, "")
	pipe.Find = found(catalog.New("s", offer), p)
	var log bytes.Buffer
	pipe.Log = slog.New(slog.NewJSONHandler(&log, nil))

	begun := time.Now()
	res, err := pipe.Do(t.Context(), Request{Tool: "s/t"})
	waited := time.Since(begun)
	if !want {
		f, ok := err.(*Failure)
		if !ok || p.dos != 1 || f.Attempts != 1 || waited != 0 || log.Len() > 0 {
			t.Errorf("%s: repeated: %d attempts, %v, log %s", name, p.dos, err, log.Bytes())
			return
		}
		lost := first.Delivery == failure.DeliveryUnknown && first.Class != failure.Canceled && !harmless
		if strings.Contains(f.Message, "outcome unknown") != lost || f.Delivery != first.Delivery || f.Class != first.Class {
			t.Errorf("%s: %v %v %q", name, f.Class, f.Delivery, f.Message)
		}
		return
	}
	if err != nil || p.dos != 2 || res.Attempts != 2 {
		t.Errorf("%s: not repeated: %d attempts, %v", name, p.dos, err)
		return
	}
	if after := first.RetryAfter; after > 0 && waited != after || after == 0 && (waited < 800*time.Millisecond || waited > 1200*time.Millisecond) {
		t.Errorf("%s: waited for %v", name, waited)
	}
	line := gjson.ParseBytes(log.Bytes())
	if line.Get("level").Str != "WARN" || line.Get("server").Str != "s" || line.Get("tool").Str != "t" || line.Get("attempt").Int() != 1 ||
		line.Get("delayMs").Int() != waited.Milliseconds() || line.Get("errorClass").Str != first.Class.String() {
		t.Errorf("%s: logged %s", name, log.Bytes())
	}
}

// offer is the tool as an adapter offers it.
func (x *toolKind) offer() catalog.Offer {
	o := catalog.Offer{Name: "t", Definition: []byte(x.definition)}
	if x.readOnly {
		o.ReadOnly = x.word
	} else {
		o.Idempotent = x.word
	}
	return o
}

func found(tool *catalog.Tool, p *peer) func(context.Context, string) (*catalog.Tool, Server, error) {
	return func(context.Context, string) (*catalog.Tool, Server, error) { return tool, p, nil }
}

// What is known after two attempts is what is known of both.
func TestTwoFailures(t *testing.T) {
	for _, c := range []struct {
		name          string
		mode          Retry
		first, second *server.Failure
		delivery      failure.Delivery
		says          string
	}{
		{"both lost", RetryAlways, failing(failure.Timeout, failure.DeliveryUnknown, 0), failing(failure.Timeout, failure.DeliveryUnknown, 0), failure.DeliveryUnknown, "may have run, even twice"},
		{"the first lost", RetryAlways, failing(failure.Timeout, failure.DeliveryUnknown, 0), failing(failure.ConnectionRefused, failure.NotSent, 0), failure.DeliveryUnknown, "outcome unknown: the tool may have run"},
		{"the second lost", RetrySafe, failing(failure.ConnectionRefused, failure.NotSent, 0), failing(failure.Timeout, failure.DeliveryUnknown, 0), failure.DeliveryUnknown, "outcome unknown: the tool may have run"},
		{"none lost", RetrySafe, failing(failure.ConnectionRefused, failure.NotSent, 0), failing(failure.DNSFailure, failure.NotSent, 0), failure.NotSent, ""},
		{"an answer counts", RetryAlways, failing(failure.Timeout, failure.DeliveryUnknown, 0), failing(failure.ServerError, failure.Answered, 0), failure.Answered, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(func(_ context.Context, attempt int, _ *server.Request) (*server.Answer, error) {
				return nil, []*server.Failure{c.first, c.second}[attempt-1]
			})
			_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Retry: c.mode})
			f := err.(*Failure)
			if p.dos != 2 || f.Attempts != 2 || f.Class != c.second.Class || f.Delivery != c.delivery {
				t.Errorf("%s: %d attempts, %v %v", c.name, p.dos, f.Class, f.Delivery)
			}
			if !strings.Contains(f.Message, c.says) || c.says == "" && strings.Contains(f.Message, "outcome") || strings.Contains(f.Message, "twice") != (c.name == "both lost") {
				t.Errorf("%s: %q", c.name, f.Message)
			}
		})
	}
}

// A server that was not even tried is not waited for by trying again.
func TestPostponedIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(nil)
		p.ready = func(int) error {
			f := failing(failure.ConnectionRefused, failure.NotSent, 20*time.Second)
			f.Postponed = true
			return f
		}
		begun := time.Now()
		_, err := pipeline(p, plain).Do(t.Context(), Request{Tool: "s/t", Retry: RetryAlways})
		if f := err.(*Failure); p.starts != 1 || !f.Postponed || f.RetryAfter != 20*time.Second || time.Since(begun) != 0 {
			t.Errorf("%d starts, %+v", p.starts, f)
		}
	})
}
