package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"
)

func sorted(s []string) []string {
	slices.Sort(s)
	return s
}

// Sixteen calls run at once, in the order of the script.
func TestCallsInFlight(t *testing.T) {
	r, h := newRunner(t), newHost()
	var mu sync.Mutex
	var order []string
	var now, most int
	full := make(chan struct{})
	h.tools["t/gate"] = func(ctx context.Context, c Call) (json.RawMessage, error) {
		mu.Lock()
		order = append(order, string(c.Arguments))
		now++
		most = max(most, now)
		if now == 16 {
			close(full)
		}
		mu.Unlock()
		<-full
		mu.Lock()
		now--
		mu.Unlock()
		return value(c.Arguments), nil
	}
	var events []CallEvent
	out := run(t, r, Script{
		Source: `return (await Promise.all(Array.from({length: 16}, (_, i) => call("t/gate", {i})))).map((v) => v.i)`,
		ID:     "parent", OnCall: func(e CallEvent) { events = append(events, e) },
	}, h)
	if string(out.Value) != `[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]` || most != 16 {
		t.Errorf("%s %+v, at most %d at once", out.Value, out.Error, most)
	}
	if len(events) != 32 || len(out.Calls) != 16 || out.Calls[15].ID != 16 || out.Calls[0].Status != "ok" || events[31].Made != 16 || !events[31].Ended {
		t.Errorf("%d events, calls %+v", len(events), out.Calls)
	}

	var inFlight, peak atomic.Int64
	var began []int
	h.tools["t/order"] = func(ctx context.Context, c Call) (json.RawMessage, error) {
		mu.Lock()
		began = append(began, c.ID)
		mu.Unlock()
		peak.Store(max(peak.Load(), inFlight.Add(1)))
		time.Sleep(time.Millisecond)
		inFlight.Add(-1)
		return value(c.Arguments), nil
	}
	mustReturn(t, r, h, `await Promise.all(Array.from({length: 200}, () => call("t/order", {}))); return 1`, `1`)
	if len(began) != 200 || peak.Load() > 16 {
		t.Errorf("%d calls, at most %d at once", len(began), peak.Load())
	}
	for i, id := range began {
		if id-1-i > 16 || i-(id-1) > 16 {
			t.Errorf("call %d was number %d", id, i+1)
		}
	}
}

// A call that waits for a person rests the script's time.
func TestRest(t *testing.T) {
	r, h := newRunner(t), newHost()
	h.tools["t/ask"] = func(ctx context.Context, c Call) (json.RawMessage, error) {
		defer c.Rest()()
		time.Sleep(700 * time.Millisecond)
		return value(c.Arguments), nil
	}
	out := run(t, r, Script{Source: `await call("t/ask", {}); return 1`, Limits: Limits{Timeout: 400 * time.Millisecond}}, h)
	if string(out.Value) != "1" {
		t.Errorf("%+v", out.Error)
	}
	out = run(t, r, Script{Source: `await call("t/ask", {}); for (;;);`, Limits: Limits{Timeout: 400 * time.Millisecond}}, h)
	if out.Error == nil || out.Error.Kind != KindTimeout {
		t.Errorf("%+v", out.Error)
	}
}

func TestResultLimits(t *testing.T) {
	r, h := newRunner(t), newHost()
	big := func(n int) func(context.Context, Call) (json.RawMessage, error) {
		result := value([]byte(`"` + strings.Repeat("x", n) + `"`))
		return func(context.Context, Call) (json.RawMessage, error) { return result, nil }
	}
	h.tools["t/hundred"] = big(100 << 20)
	h.tools["t/ten"] = big(10 << 20)
	mustReturn(t, r, h, `return await call("t/hundred", {}).catch((e) => [e.code, e.message.includes("the call itself succeeded")])`, `["result_too_large",true]`)
	mustReturn(t, r, h, `return (await call("t/ten", {})).length`, `10485760`)
	// All of those that arrive unannounced are delivered, too.
	out := run(t, r, Script{Source: `return (await Promise.all(Array.from({length: 16}, () => call("t/ten", {}).then((v) => v.length)))).reduce((a, b) => a + b)`, Limits: Limits{Heap: 256 << 20}}, h)
	if string(out.Value) != `167772160` {
		t.Errorf("%s %+v", out.Value, out.Error)
	}
	if n := out.Calls[0].ResultBytes; n < 10<<20 {
		t.Errorf("%d bytes are recorded", n)
	}
}

// What a tool says of its failure is kept in part: the records of a script are kept
// until it ends.
func TestLongFailures(t *testing.T) {
	r, h := newRunner(t), newHost()
	text := "why" + strings.Repeat("é", 1<<20)
	h.tools["t/long"] = func(context.Context, Call) (json.RawMessage, error) {
		return json.Marshal(map[string]any{"isError": true, "content": []any{map[string]any{"type": "text", "text": text}}})
	}
	out := run(t, r, Script{Source: `return await call("t/long", {}).catch((e) => e.code)`}, h)
	if string(out.Value) != `"tool_error"` || len(out.Calls) != 1 {
		t.Fatalf("%s %+v", out.Value, out.Error)
	}
	if got := out.Calls[0].Message; len(got) > maxRecorded+100 || !strings.HasPrefix(got, "why") || !utf8.ValidString(got) || !strings.HasSuffix(got, fmt.Sprintf("(%d bytes in all)", len(text))) {
		t.Errorf("%d bytes are recorded: %.20s ... %s", len(got), got, got[max(0, len(got)-40):])
	}
}

func TestSourceLimit(t *testing.T) {
	out := run(t, newRunner(t), Script{Source: strings.Repeat(" ", MaxSource+1)}, newHost())
	if out.Error == nil || out.Error.Kind != KindSyntax {
		t.Errorf("%+v", out)
	}
	out = run(t, newRunner(t), Script{Source: "return '" + strings.Repeat("x", MaxSource-20) + "'.length"}, newHost())
	if string(out.Value) != fmt.Sprint(MaxSource-20) {
		t.Errorf("%s %+v", out.Value, out.Error)
	}
}

// The console keeps what it has room for and counts the rest.
func TestConsole(t *testing.T) {
	r, h := newRunner(t), newHost()
	out := run(t, r, Script{Source: `
		console.log("a", 1, {b: 2n}, undefined, null, () => 1, Symbol("s"), tools.t.echo({}), 3n);
		console.error(new TypeError("wrong"));
		console.warn({toJSON() { throw new Error("no") }});
		return 1`}, h)
	if len(out.Console) != 3 || out.Console[0] != (Line{Level: "log", Text: `a 1 {"b":2} undefined null [function anonymous] Symbol(s) [promise] 3n`}) {
		t.Fatalf("%+v", out.Console)
	}
	if l := out.Console[1]; l.Level != "error" || !strings.HasPrefix(l.Text, "TypeError: wrong\n    at ") {
		t.Errorf("%+v", l)
	}
	if l := out.Console[2]; l.Level != "warn" || l.Text != "[unprintable: no]" {
		t.Errorf("%+v", l)
	}
	out = run(t, r, Script{Source: `for (let i = 0; i < 100000; i++) console.log("line " + i); return 1`}, h)
	size := 0
	for _, l := range out.Console {
		size += len(l.Text)
	}
	if size > MaxConsole || len(out.Console)+out.Dropped != 100000 || out.Console[0].Text != "line 0" {
		t.Errorf("%d bytes in %d lines, %d dropped", size, len(out.Console), out.Dropped)
	}
}

func TestOutput(t *testing.T) {
	r, h := newRunner(t), newHost()
	out := run(t, r, Script{Source: `
		text("a"); text({b: 1}); text(undefined); text(12n);
		image({type: "image", data: "AA==", mimeType: "image/png", extra: 1});
		image("data:image/jpeg;base64,AAAA");
		const wrong = [];
		for (const bad of ["x", {data: "A", mimeType: "image/png"}, {data: "AA==", mimeType: "text/plain"}, {data: "AA==\n", mimeType: "image/png"}, null, "data:image/png;base64,!!"]) {
			try { image(bad); wrong.push("taken") } catch (e) { wrong.push(e.name) }
		}
		return wrong`}, h)
	if string(out.Value) != `["TypeError","TypeError","TypeError","TypeError","TypeError","TypeError"]` {
		t.Errorf("%s %+v", out.Value, out.Error)
	}
	var got []string
	for _, i := range out.Output {
		got = append(got, i.Text+string(i.Block))
	}
	want := []string{"a", `{"b":1}`, "undefined", "12", `{"type":"image","data":"AA==","mimeType":"image/png"}`, `{"type":"image","data":"AAAA","mimeType":"image/jpeg"}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// What a script stores is there for the next, if it succeeded.
func TestStore(t *testing.T) {
	r, h := newRunner(t), newHost()
	var s Store
	for _, c := range []struct{ source, want string }{
		{`store("a", {n: 1}); store("b", 2); return load("a").n`, `1`},
		{`return [load("a"), load("b"), load("c") ?? "none"]`, `[{"n":1},2,"none"]`},
		{`store("a", 9); throw new Error("no")`, ``},
		{`store("a", undefined); exit(load("a") ?? "gone")`, `"gone"`},
		{`return [load("a") ?? "gone", load("b")]`, `["gone",2]`},
		{`try { store("big", "x".repeat(262145)); return 1 } catch (e) { return e.name }`, `"RangeError"`},
		{`let n = 0; try { for (;;) store("k" + n++, "x".repeat(250000)) } catch (e) { return [n, e.name] }`, `[5,"RangeError"]`},
		{`return Object.keys(load("k0")).length`, `250000`},
	} {
		out := run(t, r, Script{Source: c.source, Store: &s}, h)
		if string(out.Value) != c.want {
			t.Errorf("%s: %s %+v", c.source, out.Value, out.Error)
		}
	}
	mustReturn(t, r, h, `return load("b") ?? "none"`, `"none"`) // without a store
}

// Whoever gives a script up ends it.
func TestAbort(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, source := range []string{`for (;;);`, `await tools.t.wait({ms: 60000})`} {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		out, err := r.Run(ctx, Script{Source: source}, h)
		cancel()
		if err != nil || out.Error == nil || out.Error.Kind != KindAborted {
			t.Errorf("%s: %+v %v", source, out.Error, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := r.Run(ctx, Script{Source: `return 1`}, h); err != nil || out.Error == nil || out.Error.Kind != KindAborted {
		t.Errorf("%+v %v", out, err)
	}
}

// Four scripts run at once, and others wait for them; Close ends all.
func TestQueue(t *testing.T) {
	r, h := New(program), newHost()
	running := make(chan struct{}, 5)
	h.tools["t/stay"] = func(ctx context.Context, c Call) (json.RawMessage, error) {
		running <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ends := make(chan error, 5)
	for range 5 {
		go func() {
			out, err := r.Run(context.Background(), Script{Source: `await call("t/stay", {})`}, h)
			if err == nil && (out.Error == nil || out.Error.Kind != KindAborted) {
				err = fmt.Errorf("%+v", out.Error)
			}
			ends <- err
		}()
	}
	for range 4 {
		<-running
	}
	select {
	case <-running:
		t.Error("a fifth script runs")
	case <-time.After(100 * time.Millisecond):
	}
	r.Close()
	for range 5 {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	if _, err := r.Run(t.Context(), Script{Source: `return 1`}, h); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

// A process that cannot be started is an error that says so.
func TestNoProcess(t *testing.T) {
	for _, command := range [][]string{{"/nowhere/collet"}, {"/bin/false"}, {"/bin/echo", "hello"}} {
		r := New(command...)
		if _, err := r.Run(t.Context(), Script{Source: `return 1`}, newHost()); err == nil || !strings.Contains(err.Error(), command[0]) {
			t.Errorf("%v: %v", command, err)
		}
		r.Close()
	}
}
