package guard

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits bound what one principal, and a stranger, can make the process do. Zero
// means the default, a negative number no limit.
type Limits struct {
	// Body is the most bytes of a request's body. Default 4 MiB; there always is one.
	Body int64
	// InFlight is how many requests of one principal run at once, open streams among
	// them. Default 1024.
	InFlight int
	// PerSecond and Burst are the rate of one principal's requests. Default 1000 and
	// twice as many; without Auth, no limit.
	PerSecond float64
	Burst     int
	// FailuresPerSecond and FailuresBurst are how often one address (one /64 of
	// IPv6) may come without a valid credential before the answer is 429. Default 1
	// and 30.
	FailuresPerSecond float64
	FailuresBurst     int
}

const (
	openBody       = 4 << 10 // of paths that are open; nothing that is served there reads one
	mostPrincipals = 10_000  // that are kept count of at once, about 200 bytes each
	mostAddresses  = 4096    // likewise, of failures
)

func (l Limits) withDefaults(auth bool) (Limits, error) {
	if l.Body < 0 {
		return l, errors.New("a request's body always has a limit: write how many bytes, or nothing for 4 MiB")
	}
	set(&l.Body, 4<<20)
	set(&l.InFlight, 1024)
	if l.PerSecond == 0 && !auth {
		l.PerSecond = -1
	}
	set(&l.PerSecond, 1000)
	set(&l.Burst, max(1, int(2*l.PerSecond)))
	set(&l.FailuresPerSecond, 1)
	set(&l.FailuresBurst, 30)
	return l, nil
}

func set[T comparable](value *T, unsaid T) {
	var zero T
	if *value == zero {
		*value = unsaid
	}
}

// meter keeps one account per key: how fast, and how many at once. It holds at
// most a fixed number of accounts, however many keys there are: one that is as good
// as new is forgotten when room is needed.
type meter struct {
	most      int
	perSecond rate.Limit // 0: no limit
	burst     int
	inFlight  int // 0: no limit

	mu       sync.Mutex
	accounts map[string]*account
	swept    time.Time
}

type account struct {
	limiter  *rate.Limiter // nil: no limit
	inFlight int
}

func newMeter(most int, perSecond float64, burst, inFlight int) *meter {
	return &meter{
		most: most, perSecond: rate.Limit(max(perSecond, 0)), burst: burst, inFlight: max(inFlight, 0),
		accounts: map[string]*account{},
	}
}

// enter counts a request of key until leave is called.
func (m *meter) enter(key string, now time.Time) (leave func(), d *denial) {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.account(key, now)
	if a == nil {
		return nil, &denial{status: http.StatusServiceUnavailable, reason: TooManyUsers, retry: time.Second,
			message: "Too many principals use this server at the moment."}
	}
	if m.inFlight > 0 && a.inFlight >= m.inFlight {
		return nil, &denial{status: http.StatusTooManyRequests, reason: TooMany, retry: time.Second,
			message: "Too many requests of this principal are running: wait for one of them to end."}
	}
	if wait := a.take(now); wait > 0 {
		return nil, &denial{status: http.StatusTooManyRequests, reason: TooFast, retry: wait,
			message: "Requests of this principal come too fast."}
	}
	a.inFlight++
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		a.inFlight--
	}, nil
}

// take counts one event of key. When it is one too many, it returns how long it
// takes until there may be another.
func (m *meter) take(key string, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.account(key, now)
	if a == nil {
		return time.Second // so many keys are at it that a new one gets no credit
	}
	return a.take(now)
}

// exhausted is take without counting.
func (m *meter) exhausted(key string, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	a := m.accounts[key]
	switch {
	case a == nil && len(m.accounts) >= m.most && !m.sweep(now):
		return time.Second
	case a == nil || a.limiter == nil || a.limiter.TokensAt(now) >= 1:
		return 0
	}
	return a.wait(now)
}

func (a *account) take(now time.Time) time.Duration {
	if a.limiter == nil || a.limiter.AllowN(now, 1) {
		return 0
	}
	return a.wait(now)
}

func (a *account) wait(now time.Time) time.Duration {
	missing := 1 - a.limiter.TokensAt(now)
	return max(time.Millisecond, time.Duration(missing/float64(a.limiter.Limit())*float64(time.Second)))
}

// account finds or opens the account of key, or returns nil when all are in use.
func (m *meter) account(key string, now time.Time) *account {
	if a := m.accounts[key]; a != nil {
		return a
	}
	if len(m.accounts) >= m.most && !m.sweep(now) {
		return nil
	}
	a := &account{}
	if m.perSecond > 0 {
		a.limiter = rate.NewLimiter(m.perSecond, m.burst)
	}
	m.accounts[key] = a
	return a
}

// sweep forgets the accounts that are as good as new, and reports whether there is
// room. It looks at all of them, so not more than once a second.
func (m *meter) sweep(now time.Time) bool {
	if now.Sub(m.swept) < time.Second {
		return false
	}
	m.swept = now
	for key, a := range m.accounts {
		if a.inFlight == 0 && (a.limiter == nil || a.limiter.TokensAt(now) >= float64(m.burst)) {
			delete(m.accounts, key)
		}
	}
	return len(m.accounts) < m.most
}

// addressKey is whom failures are counted against. It is the connection's other
// end: a header that names another one could say anything.
func addressKey(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return ""
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() && !ip.IsLoopback() {
		prefix, err := ip.Prefix(64) // what one customer has, at least
		if err != nil {
			return ""
		}
		ip = prefix.Addr()
	}
	return ip.String()
}
