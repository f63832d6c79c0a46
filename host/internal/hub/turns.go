package hub

import (
	"context"
	"net/url"
	"strings"
	"sync"
)

// turns lets one server at a time start against a url: several entries may reach
// one endpoint with one credential, and none of them should ask for it, or be
// turned away, because the others do so at the same moment.
type turns struct {
	mu sync.Mutex
	at map[string]*place
}

// place is one url while somebody starts against it or waits for that.
type place struct {
	turn  chan struct{} // holds one while it is free
	users int
}

// take waits for the place of a url, and gives up with ctx. done must be called.
func (t *turns) take(ctx context.Context, rawURL string) (done func(), err error) {
	key := endpoint(rawURL)
	t.mu.Lock()
	p := t.at[key]
	if p == nil {
		if t.at == nil {
			t.at = map[string]*place{}
		}
		p = &place{turn: make(chan struct{}, 1)}
		p.turn <- struct{}{}
		t.at[key] = p
	}
	p.users++
	t.mu.Unlock()
	select {
	case <-p.turn:
		return func() {
			p.turn <- struct{}{}
			t.leave(key, p)
		}, nil
	case <-ctx.Done():
		t.leave(key, p)
		return nil, ctx.Err()
	}
}

func (t *turns) leave(key string, p *place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.users--; p.users == 0 {
		delete(t.at, key)
	}
}

// endpoint is what makes two urls one: RFC 3986 section 6.2.2 for what people
// write differently, without query and fragment.
func endpoint(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return rawURL
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Host) + strings.TrimSuffix(u.EscapedPath(), "/")
}
