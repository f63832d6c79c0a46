package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/collet-dev/collet/sdk/failure"
)

// What the server asks is answered at once, in the middle of its call.
func TestServerRequests(t *testing.T) {
	for name, connect := range map[string]func() *Client{
		"stdio":        func() *Client { return connect(t, "") },
		"stdio modern": func() *Client { return connect(t, "modern") },
		"http":         func() *Client { return dial(t, Endpoint{URL: serve(t, "").url}, Options{}) },
		"http, no GET": func() *Client { return dial(t, Endpoint{URL: serve(t, "get405,nosession").url}, Options{}) },
	} {
		c := connect()
		for tool, want := range map[string]string{
			"a_ping":     "client result: {}",
			"a_sameid":   "client result: {}",
			"a_bigid":    "client result: {}", // the id came back byte for byte
			"a_roots":    `client error: {"code":-32601`,
			"a_sampling": `client error: {"code":-32601`,
			"a_elicit":   `client error: {"code":-32601`,
			"a_unknown":  `client error: {"code":-32601`,
		} {
			if got := said(t, callTool(t, c, tool, "{}")); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %s: the server got %q, want %q", name, tool, got, want)
			}
		}
	}
}

func TestNotifications(t *testing.T) {
	var (
		mu  sync.Mutex
		got []string
	)
	opt := Options{OnNotification: func(method string, params json.RawMessage) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, method+" "+string(params))
	}}
	// capsquiet: a server may notify of what it never declared.
	c := connectTo(t, faulty(t, "-fault", "earlynotif,capsquiet", "-n", "2"), opt)
	callTool(t, c, "x_notify", "{}")
	callTool(t, c, "t_progress", `{"ms":2,"step":1}`) // its progress goes to nobody
	mu.Lock()
	defer mu.Unlock()
	want := []string{
		`notifications/message {"level":"info","data":"early"}`,
		`notifications/tools/list_changed {}`,
		`notifications/tools/list_changed {}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("notifications %q, want %q", got, want)
	}
}

func TestProgress(t *testing.T) {
	c := connect(t, "")
	var got []Progress // never after CallTool returned: -race would tell
	_, err := c.CallTool(within(t), "t_progress", json.RawMessage(`{"ms":3,"step":1}`), RequestOptions{
		OnProgress: func(p Progress) { got = append(got, p) },
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []Progress{{1, 3, "step 1"}, {2, 3, "step 2"}, {3, 3, "step 3"}}
	if !slices.Equal(got, want) {
		t.Errorf("progress %v, want %v", got, want)
	}
	echoes(t, c) // after the late one
	if !slices.Equal(got, want) {
		t.Errorf("late progress was delivered: %v", got)
	}
}

// A caller may give its request more time with each progress.
func TestProgressExtendsADeadline(t *testing.T) {
	c := connect(t, "")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	timer := time.AfterFunc(2*time.Second, func() { cancel(context.DeadlineExceeded) })
	defer timer.Stop()
	n := 0
	_, err := c.CallTool(ctx, "t_progress_forever", nil, RequestOptions{OnProgress: func(Progress) {
		if n++; n < 5 {
			timer.Reset(2 * time.Second)
		} else {
			cancel(context.DeadlineExceeded)
		}
	}})
	wantFailure(t, asFailure(t, err), failure.Timeout, failure.DeliveryUnknown, "tools/call")
	if n < 5 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended after %d notifications with %v", n, err)
	}
}

// Each call's progress reaches that call alone.
func TestProgressIsRouted(t *testing.T) {
	c := connect(t, "")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			n := 0
			_, err := c.CallTool(within(t), "t_progress", fmt.Appendf(nil, `{"ms":%d,"step":1}`, i+1), RequestOptions{
				OnProgress: func(p Progress) {
					n++
					if int(p.Total) != i+1 {
						t.Errorf("call %d got progress of %v", i, p)
					}
				},
			})
			if err != nil || n != i+1 {
				t.Errorf("call %d: %d notifications, %v", i, n, err)
			}
		})
	}
	wg.Wait()
}

func TestCancellation(t *testing.T) {
	p := faulty(t)
	c := connectTo(t, p, Options{})
	for _, test := range []struct {
		cause error
		class failure.Class
	}{
		{context.Canceled, failure.Canceled},
		{context.DeadlineExceeded, failure.Timeout},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		progressed := make(chan struct{})
		var once sync.Once
		go func() {
			<-progressed // the server has the call
			cancel(test.cause)
		}()
		_, err := c.CallTool(ctx, "t_progress_forever", nil, RequestOptions{OnProgress: func(Progress) { once.Do(func() { close(progressed) }) }})
		wantFailure(t, asFailure(t, err), test.class, failure.DeliveryUnknown)
	}
	echoes(t, c) // the cancellations have arrived before this
	var calls, cancelled []string
	for _, e := range p.events(t) {
		params := member(e.Message, "params")
		switch m, _ := text(member(e.Message, "method")); {
		case m == "tools/call" && strings.Contains(string(params), "forever"):
			calls = append(calls, `{"requestId":`+string(member(e.Message, "id"))+`,"reason":"no longer needed"}`)
		case m == "notifications/cancelled":
			cancelled = append(cancelled, string(params))
		}
	}
	if len(calls) != 2 || !slices.Equal(calls, cancelled) {
		t.Errorf("cancelled %q, want %q", cancelled, calls)
	}
}

// The cancellation goes out even when the client closes right after it.
func TestCancellationBeforeClose(t *testing.T) {
	p := faulty(t)
	c := connectTo(t, p, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.CallTool(ctx, "t_progress_forever", nil, RequestOptions{OnProgress: func(Progress) { cancel() }})
	wantFailure(t, asFailure(t, err), failure.Canceled, failure.DeliveryUnknown)
	if err := c.Close(within(t)); err != nil {
		t.Fatal(err)
	}
	if n := p.count(t, "notifications/cancelled"); n != 1 {
		t.Errorf("%d cancellations arrived, want 1", n)
	}
}

func TestLateAnswersAreDropped(t *testing.T) {
	c := connect(t, "")
	if got := said(t, callTool(t, c, "w_late", "{}")); got != "once" {
		t.Errorf("w_late says %q", got)
	}
	echoes(t, c)
	if got := c.Stats().LateAnswers; got != 1 {
		t.Errorf("LateAnswers = %d, want 1", got)
	}
}

// A server that stops reading blocks no caller beyond its own context, and not
// Close. What was never begun is known not to have been sent.
func TestServerStopsReading(t *testing.T) {
	c := connect(t, "stdinstop")
	if _, err := c.ListTools(within(t)); err != nil {
		t.Fatal(err)
	}
	big := json.RawMessage(`{"text":"` + strings.Repeat("x", 4<<20) + `"}`)
	first, cancelFirst := context.WithCancel(t.Context())
	blocked := make(chan error, 1)
	go func() {
		_, err := c.CallTool(first, "echo", big, RequestOptions{})
		blocked <- err
	}()
	waitPending(t, c, 1)
	waitBegun(t, c)
	second, cancelSecond := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancelSecond()
	_, err := c.CallTool(second, "echo", nil, RequestOptions{})
	wantFailure(t, asFailure(t, err), failure.Timeout, failure.NotSent)
	cancelFirst()
	wantFailure(t, asFailure(t, <-blocked), failure.Canceled, failure.DeliveryUnknown)
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	if err := c.Close(ctx); err != nil || ctx.Err() != nil {
		t.Errorf("Close: %v, %v", err, ctx.Err())
	}
}

// waitBegun waits until the only open request is being written.
func waitBegun(t *testing.T, c *Client) {
	t.Helper()
	for ctx := within(t); ; time.Sleep(time.Millisecond) {
		c.session.mu.Lock()
		processOf(c).writer.mu.Lock()
		began := false
		for _, open := range c.session.pending {
			began = open.began
		}
		processOf(c).writer.mu.Unlock()
		c.session.mu.Unlock()
		if began {
			return
		}
		if ctx.Err() != nil {
			t.Fatal("the writer never took the message")
		}
	}
}

func TestCallsInParallel(t *testing.T) {
	c := connect(t, "")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want := fmt.Sprint("caller ", i)
			for range 20 {
				raw, err := c.CallTool(within(t), "echo", fmt.Appendf(nil, `{"text":%q}`, want), RequestOptions{})
				if err != nil || !strings.Contains(string(raw), `"`+want+`"`) {
					t.Errorf("caller %d got %s, %v", i, raw, err)
				}
			}
		})
	}
	wg.Wait()
}

func TestListGuards(t *testing.T) {
	for _, test := range []struct {
		faults string
		args   []string
		pages  int
		logged string
	}{
		{"samecursor", nil, 2, "repeated a cursor"},
		{"endlesscursor", nil, maxPages, "too many pages"},
		{"emptycursorend", nil, 1, ""},
		{"pages", []string{"-n", "7"}, 7, ""},
	} {
		t.Run(test.faults, func(t *testing.T) {
			t.Parallel()
			logged := &records{}
			p := faulty(t, append([]string{"-fault", test.faults}, test.args...)...)
			c := connectTo(t, p, Options{Log: logged.logger()})
			tools, err := c.ListTools(within(t))
			if err != nil {
				t.Fatal(err)
			}
			names := map[string]bool{}
			for _, tool := range tools {
				name, _ := text(member(tool, "name"))
				if names[name] {
					t.Errorf("%s is listed twice", name)
				}
				names[name] = true
			}
			want := 7
			if test.faults != "pages" {
				want = len(must(connect(t, "").ListTools(within(t))))
			}
			if len(tools) != want {
				t.Errorf("%d tools, want %d", len(tools), want)
			}
			if got := p.count(t, "tools/list"); got != test.pages {
				t.Errorf("%d pages were asked for, want %d", got, test.pages)
			}
			if !strings.Contains(logged.String(), test.logged) {
				t.Errorf("log lacks %q:\n%s", test.logged, logged)
			}
		})
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestOddTools(t *testing.T) {
	logged := &records{}
	c := connectTo(t, faulty(t, "-fault", "oddtools"), Options{Log: logged.logger()})
	tools, err := c.ListTools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(tools[0]), `{ "name": "odd",  "x":1.0, "inputSchema":{"type":"object"}}`; got != want {
		t.Errorf("first tool is %s, want %s", got, want)
	}
	if want := 1 + len(must(connect(t, "").ListTools(within(t)))); len(tools) != want {
		t.Errorf("%d tools, want %d", len(tools), want)
	}
	if !strings.Contains(logged.String(), `"without a name"=6`) || !strings.Contains(logged.String(), `"name seen before"=1`) {
		t.Errorf("log: %s", logged)
	}
	_, err = connect(t, "nolist").ListTools(within(t))
	wantFailure(t, asFailure(t, err), failure.InvalidResult, failure.Answered, "no list of tools")
}

func TestSchemasPassUnread(t *testing.T) {
	faults := "schema:anyof_root,schema:required_null,schema:prop_false,schema:dialect_only,schema:missing,schema:null,schema:deep,schema:wide,schema:bomb"
	c := connect(t, faults)
	tools, err := c.ListTools(within(t))
	if err != nil {
		t.Fatal(err)
	}
	odd := 0
	for _, tool := range tools {
		if name, _ := text(member(tool, "name")); strings.HasPrefix(name, "sch_") {
			odd++
		}
	}
	if want := strings.Count(faults, ",") + 1; odd != want {
		t.Errorf("%d tools with odd schemas, want %d", odd, want)
	}
}
