// Package fakesearch is what search services look like from outside, for tests:
// their paths, credentials, parameters and answers, good and bad, as their
// documentation and reports have them. It finds nothing.
package fakesearch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Key is the one key that every fake takes.
const Key = "fake-key-1"

// Reply is what a service answers instead of results.
type Reply struct {
	Status int
	Header map[string]string
	Body   string
}

// Request is one request as a fake saw it.
type Request struct {
	Path   string
	Header http.Header
	Params map[string]any // of the query or the JSON body
}

// Fake is one service.
type Fake struct {
	URL string

	service service
	mu      sync.Mutex
	next    []Reply
	seen    []Request
}

// service is what a fake knows of one contract.
type service struct {
	name   string
	method string
	paths  []string
	params []string // that exist; another one is a fault of ours
	// refuse checks the credential; nil is fine.
	refuse func(http.Header) *Reply
	header map[string]string
	answer func(path string) string
}

// Start runs the fake of a service until the test ends.
func Start(t testing.TB, name string) *Fake {
	t.Helper()
	i := slices.IndexFunc(services, func(s service) bool { return s.name == name })
	if i < 0 {
		t.Fatalf("there is no fake of %q", name)
	}
	f := &Fake{service: services[i]}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	f.URL = s.URL
	return f
}

// Next makes the fake answer the next requests with these, in order.
func (f *Fake) Next(replies ...Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = append(f.next, replies...)
}

// Seen returns the requests so far.
func (f *Fake) Seen() []Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.seen)
}

func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req := Request{Path: r.URL.Path, Header: r.Header, Params: map[string]any{}}
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &req.Params); err != nil {
			f.write(w, Reply{Status: 400, Body: `{"message":"no JSON"}`})
			return
		}
	}
	for name, values := range r.URL.Query() {
		req.Params[name] = values[0]
	}
	f.mu.Lock()
	f.seen = append(f.seen, req)
	var told *Reply
	if len(f.next) > 0 {
		told, f.next = &f.next[0], f.next[1:]
	}
	f.mu.Unlock()
	s := f.service
	switch {
	case r.Method != s.method || !slices.Contains(s.paths, r.URL.Path):
		f.write(w, Reply{Status: 404, Body: "404 page not found"})
		return
	case told != nil:
		f.write(w, *told)
		return
	case s.refuse != nil:
		if bad := s.refuse(r.Header); bad != nil {
			f.write(w, *bad)
			return
		}
	}
	for name := range req.Params {
		if !slices.Contains(s.params, name) {
			f.write(w, Reply{Status: 400, Body: fmt.Sprintf(`{"message":"unknown parameter %s"}`, name)})
			return
		}
	}
	f.write(w, Reply{Status: 200, Header: s.header, Body: s.answer(r.URL.Path)})
}

func (f *Fake) write(w http.ResponseWriter, r Reply) {
	w.Header().Set("Content-Type", "application/json")
	if !strings.HasPrefix(strings.TrimSpace(r.Body), "{") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	}
	for name, value := range r.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(r.Status)
	_, _ = io.WriteString(w, r.Body)
}
