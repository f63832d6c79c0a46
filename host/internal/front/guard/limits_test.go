package guard

import (
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter(10, 2, 3, 0)
		for i := range 3 {
			if leave, d := m.enter("a", time.Now()); d != nil {
				t.Fatalf("request %d of the burst: %s", i, d.reason)
			} else {
				leave()
			}
		}
		_, d := m.enter("a", time.Now())
		if d == nil || d.reason != TooFast || d.status != http.StatusTooManyRequests || d.retry != 500*time.Millisecond {
			t.Fatalf("one more than the burst: %+v", d)
		}
		if _, d := m.enter("b", time.Now()); d != nil {
			t.Errorf("another principal pays for it: %s", d.reason)
		}
		time.Sleep(d.retry) // of the bubble
		if _, d := m.enter("a", time.Now()); d != nil {
			t.Errorf("after the time that was named: %s", d.reason)
		}
	})
}

func TestInFlight(t *testing.T) {
	m := newMeter(10, 0, 0, 2)
	now := time.Now()
	first, _ := m.enter("a", now)
	if _, d := m.enter("a", now); d != nil {
		t.Fatal(d.reason)
	}
	if _, d := m.enter("a", now); d == nil || d.reason != TooMany || d.status != 429 || d.retry == 0 {
		t.Fatalf("a third at once: %+v", d)
	}
	if _, d := m.enter("b", now); d != nil {
		t.Errorf("another principal pays for it: %s", d.reason)
	}
	first()
	if _, d := m.enter("a", now); d != nil {
		t.Errorf("after one has ended: %s", d.reason)
	}
}

// However many keys come, the meter stays at its size, and those that are at
// something are not forgotten.
func TestMeterIsBounded(t *testing.T) {
	m := newMeter(100, 1, 2, 5)
	now := time.Now()
	_, d := m.enter("busy", now)
	if d != nil {
		t.Fatal(d.reason)
	}
	for i := range 10_000 {
		m.take(fmt.Sprint("stranger ", i), now)
		m.exhausted(fmt.Sprint("other ", i), now)
	}
	if len(m.accounts) != 100 {
		t.Fatalf("%d accounts; want 100", len(m.accounts))
	}
	if wait := m.take("new", now); wait == 0 {
		t.Error("a full meter gives credit")
	}
	if wait := m.exhausted("new", now); wait == 0 {
		t.Error("a full meter says that a key has credit")
	}
	if _, d := m.enter("new", now); d == nil || d.reason != TooManyUsers || d.status != 503 {
		t.Errorf("a full meter lets a principal in: %+v", d)
	}
	now = now.Add(time.Minute) // all are as good as new, but one is in flight
	if wait := m.take("new", now); wait != 0 {
		t.Error("what is as good as new is not forgotten")
	}
	if len(m.accounts) != 2 || m.accounts["busy"] == nil {
		t.Errorf("%d accounts are left, busy among them: %v", len(m.accounts), m.accounts["busy"] != nil)
	}
}

func TestAddressKey(t *testing.T) {
	for addr, want := range map[string]string{
		"192.0.2.1:1234":         "192.0.2.1",
		"[::ffff:192.0.2.1]:1":   "192.0.2.1",
		"[2001:db8:1:2:3::4]:1":  "2001:db8:1:2::",
		"[2001:db8:1:2:ffff::]:": "2001:db8:1:2::",
		"[::1]:1":                "::1",
		"[fe80::1%eth0]:1":       "fe80::",
		"@":                      "",
		"":                       "",
	} {
		if got := addressKey(&http.Request{RemoteAddr: addr, Header: http.Header{"X-Forwarded-For": {"203.0.113.9"}}}); got != want {
			t.Errorf("%s: %q; want %q", addr, got, want)
		}
	}
}

func TestDefaults(t *testing.T) {
	l, err := Limits{}.withDefaults(true)
	if want := (Limits{Body: 4 << 20, InFlight: 1024, PerSecond: 1000, Burst: 2000, FailuresPerSecond: 1, FailuresBurst: 30}); err != nil || l != want {
		t.Errorf("%+v, %v", l, err)
	}
	if l, _ := (Limits{}).withDefaults(false); l.PerSecond >= 0 {
		t.Errorf("without credentials requests are limited to %v/s", l.PerSecond)
	}
	m := newMeter(1, l.PerSecond*-1, 1, -1)
	for range 100 {
		if _, d := m.enter("a", time.Now()); d != nil {
			t.Fatalf("no limit: %s", d.reason)
		}
	}
}
