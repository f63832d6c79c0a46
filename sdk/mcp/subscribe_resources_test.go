package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// teller is a link to a modern server that keeps subscriptions, and tells of every
// resource but those with "deaf" in their name.
type teller struct {
	link
	c *Client

	mu      sync.Mutex
	filters []string
	refuse  *failure.Failure
	end     chan struct{} // ends the subscription that is open
}

func (s *teller) do(ctx context.Context, r request) (json.RawMessage, *failure.Failure) {
	params := r.write(nil, 1)
	filter := member(params, "notifications")
	s.mu.Lock()
	s.filters = append(s.filters, string(filter))
	refuse, end := s.refuse, make(chan struct{})
	s.end = end
	s.mu.Unlock()
	if refuse != nil {
		return nil, refuse
	}
	grant := strings.ReplaceAll(string(filter), "deaf", "else")
	r.acknowledged(json.RawMessage(`{"notifications":` + grant + `}`))
	select {
	case <-end:
		return json.RawMessage(`{}`), nil
	case <-ctx.Done():
		return nil, contextFailure(ctx, failure.DeliveryUnknown, r.method)
	}
}

func (s *teller) asked() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.filters, " ")
}

// telling is a client of such a server, and what it was told.
func telling(t *testing.T) (*teller, *Client, *[]string) {
	var told []string
	c := newClient(Options{OnNotification: func(method string, params json.RawMessage) { told = append(told, method+string(params)) }}.withDefaults())
	s := &teller{c: c}
	c.link = s
	c.session = newSession(nil, c.opt.Log, c.opt.OnNotification)
	c.server.Store(&ServerInfo{ProtocolVersion: modernVersion, Modern: true, Capabilities: json.RawMessage(`{"resources":{"subscribe":true}}`)})
	t.Cleanup(func() {
		c.stop()
		c.work.Wait()
	})
	return s, c, &told
}

func subscribe(t *testing.T, c *Client, what, uri string) error {
	t.Helper()
	_, err := c.Request(t.Context(), "resources/"+what, json.RawMessage(`{"uri":"`+uri+`"}`), RequestOptions{})
	return err
}

func failed(t *testing.T, err error) *failure.Failure {
	t.Helper()
	f, ok := err.(*failure.Failure)
	if !ok {
		t.Fatalf("%v is no failure", err)
	}
	return f
}

const lists = `{"resourcesListChanged":true`

// One subscription has all resources; a change of them ends it and begins another,
// in which nothing was missed.
func TestResourcesOfAModernServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, told := telling(t)
		c.subscribe()
		synctest.Wait()
		for _, uri := range []string{"a", "b", "a"} {
			if err := subscribe(t, c, "subscribe", uri); err != nil {
				t.Fatal(err)
			}
		}
		if err := subscribe(t, c, "unsubscribe", "a"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		want := lists + `} ` + lists + `,"resourceSubscriptions":["a"]} ` + lists + `,"resourceSubscriptions":["a","b"]} ` + lists + `,"resourceSubscriptions":["b"]}`
		if got := s.asked(); got != want {
			t.Errorf("asked for %s\nwant %s", got, want)
		}
		if len(*told) != 0 {
			t.Errorf("told %q", *told)
		}
	})
}

// What a subscription had when the server ended it counts as changed.
func TestResourcesAfterALoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, told := telling(t)
		if err := subscribe(t, c, "subscribe", "a"); err != nil {
			t.Fatal(err)
		}
		close(s.end)
		synctest.Wait()
		if err := subscribe(t, c, "subscribe", "a"); err != nil { // it is there, or about to be
			t.Error(err)
		}
		time.Sleep(2 * relistenDelay)
		synctest.Wait()
		if got := strings.Join(*told, " "); got != `notifications/resources/list_changed notifications/resources/updated{"uri":"a"}` {
			t.Errorf("told %s", got)
		}
	})
}

func TestResourcesThatAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, _ := telling(t)
		wantFailure(t, failed(t, subscribe(t, c, "subscribe", "deaf")), failure.NotFound, failure.Answered, "deaf")
		if err := subscribe(t, c, "subscribe", "a"); err != nil {
			t.Error(err)
		}
		if got := s.asked(); !strings.HasSuffix(got, `["a"]}`) {
			t.Errorf("what is not told is still asked for: %s", got)
		}

		s, c, _ = telling(t)
		s.refuse = failure.New(failure.InvalidArguments, failure.Answered, "no such method")
		for range 2 { // it may have learned to
			wantFailure(t, failed(t, subscribe(t, c, "subscribe", "a")), failure.InvalidArguments, failure.Answered, "no such method")
		}
		s.refuse = nil
		if err := subscribe(t, c, "subscribe", "a"); err != nil {
			t.Error(err)
		}

		_, err := c.Request(t.Context(), "resources/subscribe", json.RawMessage(`{"url":"a"}`), RequestOptions{})
		wantFailure(t, failed(t, err), failure.InvalidArguments, failure.NotSent, "no uri")
		c.server.Store(&ServerInfo{ProtocolVersion: modernVersion, Modern: true, Capabilities: json.RawMessage(`{"tools":{}}`)})
		wantFailure(t, failed(t, subscribe(t, c, "subscribe", "a")), failure.NotFound, failure.NotSent, "no resources")
	})
}

// A server that cannot be reached keeps who subscribes waiting, for as long as they do.
func TestResourcesOfAServerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, c, _ := telling(t)
		s.refuse = failure.New(failure.ConnectionRefused, failure.NotSent, "away")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := c.Request(ctx, "resources/subscribe", json.RawMessage(`{"uri":"a"}`), RequestOptions{})
		if f, ok := err.(*failure.Failure); !ok || f.Class != failure.Timeout {
			t.Errorf("%v", err)
		}
	})
}

// scribe is a link to an old server that does what it is asked, but what has "deaf"
// in it.
type scribe struct {
	link
	asked []string
}

func (s *scribe) do(_ context.Context, r request) (json.RawMessage, *failure.Failure) {
	params := string(r.write(nil, 1))
	s.asked = append(s.asked, r.method+params)
	if strings.Contains(params, "deaf") {
		return nil, failure.New(failure.NotFound, failure.Answered, "deaf")
	}
	return json.RawMessage(`{}`), nil
}

// An old server is asked as it always was, and in a new session again.
func TestResourcesOfAnOldServer(t *testing.T) {
	_, c, told := telling(t)
	s := &scribe{}
	c.link = s
	c.server.Store(&ServerInfo{ProtocolVersion: legacyVersions[0]})
	for _, uri := range []string{"a", "b"} {
		if err := subscribe(t, c, "subscribe", uri); err != nil {
			t.Fatal(err)
		}
	}
	wantFailure(t, failed(t, subscribe(t, c, "subscribe", "deaf")), failure.NotFound, failure.Answered)
	if err := subscribe(t, c, "unsubscribe", "a"); err != nil {
		t.Fatal(err)
	}
	if len(s.asked) != 4 || s.asked[3] != `resources/unsubscribe{"uri":"a"}` {
		t.Errorf("asked %q", s.asked)
	}
	s.asked = nil
	c.resubscribe()
	if len(s.asked) != 1 || s.asked[0] != `resources/subscribe{"uri":"b"}` {
		t.Errorf("in the new session asked %q", s.asked)
	}
	if len(*told) != 1 || (*told)[0] != `notifications/resources/updated{"uri":"b"}` {
		t.Errorf("told %q", *told)
	}
}
