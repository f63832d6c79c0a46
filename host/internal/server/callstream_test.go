package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/collet-dev/collet/host/internal/catalog"
	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/failure"
)

// streamingAdapter is the test adapter when it announces streams of calls.
const streamingAdapter = `plugin = "teststreams"` + "\n"

// What holds for a call on a stream of its own holds for one among others.
func TestOnStreams(t *testing.T) {
	before := testadapter
	testadapter = "teststreams"
	defer func() { testadapter = before }()
	t.Run("crashes", TestCrashesDuringACall)
	t.Run("crash between calls", TestCrashBetweenCalls)
	t.Run("right after a crash", TestCallRightAfterACrash)
	t.Run("under load", TestCrashesUnderLoad)
	t.Run("stopped", TestStoppedProcessIsNoticed)
	t.Run("close", TestCloseWithACallInFlight)
	t.Run("results", TestCallEnds)
}

func odd(t *testing.T, s *Server, do string) (*Answer, error) {
	t.Helper()
	return s.Do(patient(t), &Request{Tool: &catalog.Tool{Name: "odd"}, Arguments: fmt.Appendf(nil, `{"do":%q}`, do), ID: "c"})
}

// TestCallEnds is of everything that a call can end in.
func TestCallEnds(t *testing.T) {
	s, _ := open(t, adapterEntry())
	mustStart(t, s)
	if a, err := do(t, s, "echo", `{"n":1.0}`); err != nil || string(a.JSON) != `{"content":[],"structuredContent":{"n":1.0}}` || a.IsError {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err := do(t, s, "isError", `{}`); err != nil || !a.IsError {
		t.Errorf("%+v, %v", a, err)
	}
	var seen []float64
	if _, err := s.Do(patient(t), &Request{Tool: tool(t, s, "progress"), Arguments: []byte(`{}`), OnProgress: func(done, _ float64, _ string) { seen = append(seen, done) }}); err != nil || fmt.Sprint(seen) != "[1 2 3]" {
		t.Errorf("progress %v, %v", seen, err)
	}
	_, err := s.Do(patient(t), &Request{Tool: &catalog.Tool{Name: "no such tool"}, Arguments: []byte(`{}`)})
	if f := AsFailure(err); f.Class != failure.Unknown || !strings.Contains(f.Message, `no tool "no such tool"`) {
		t.Errorf("%+v", f)
	}

	// The limit is the caller's, and the call itself went well.
	_, err = s.Do(patient(t), &Request{Tool: tool(t, s, "big"), Arguments: []byte(`{"bytes":3000000}`), MaxResult: 1 << 20})
	if f := AsFailure(err); f.Class != failure.OverBudget || f.Delivery != failure.Answered {
		t.Errorf("%+v", f)
	}
	if a, err := s.Do(patient(t), &Request{Tool: tool(t, s, "big"), Arguments: []byte(`{"bytes":3000000}`), MaxResult: 4 << 20}); err != nil || len(a.JSON) < 3_000_000 {
		t.Errorf("%v", err)
	}

	ctx, cancel := context.WithCancel(patient(t))
	runs := func(float64, float64, string) { cancel() }
	_, err = s.Do(ctx, &Request{Tool: tool(t, s, "hang"), Arguments: []byte(`{}`), OnProgress: runs})
	if f := AsFailure(err); f.Class != failure.Canceled || f.Delivery != failure.DeliveryUnknown {
		t.Errorf("%+v", f)
	}
}

func TestOddStreams(t *testing.T) {
	s, _ := open(t, streamingAdapter)
	mustStart(t, s)
	for _, what := range []string{"unknown", "twice", "after", "empty", "unknown"} {
		if a, err := odd(t, s, what); err != nil || string(a.JSON) != `{"odd":1}` {
			t.Errorf("%s: %+v, %v", what, a, err)
		}
	}
	for what, says := range map[string]string{"nothing": "without a result", "status": "from the future", "nowhere": "Unimplemented"} {
		if _, err := odd(t, s, what); what != "nowhere" && !strings.Contains(fmt.Sprint(err), says) || AsFailure(err).Delivery != failure.DeliveryUnknown {
			t.Errorf("%s: %+v", what, err)
		}
	}
	// The stream ends, and with it whoever is on it. The process lives.
	pid := s.Status().Pid
	if _, err := odd(t, s, "toolarge"); AsFailure(err).Class != failure.InvalidResult || !strings.Contains(err.Error(), "65 MiB") {
		t.Errorf("%+v", err)
	}
	if a, err := odd(t, s, "twice"); err != nil || string(a.JSON) != `{"odd":1}` || s.Status().Pid != pid {
		t.Errorf("after that: %+v, %v", a, err)
	}
}

// An adapter that announces what it does not have is called as before.
func TestStreamsThatAreNotThere(t *testing.T) {
	s, _ := open(t, "plugin = \"teststreams\"\nenv = { FAULT = \"nocalls\" }\n")
	mustStart(t, s)
	for range 3 {
		if _, err := do(t, s, "echo", `{}`); err != nil {
			t.Error(err)
		}
	}
	if a, err := do(t, s, "count", `{}`); err != nil || !strings.Contains(string(a.JSON), `"4"`) {
		t.Errorf("%s, %v; no call must have been made twice", a.JSON, err)
	}
}

// Calls that are open are no obstacle to others, to many, and to large ones.
func TestManyOnStreams(t *testing.T) {
	s, _ := open(t, streamingAdapter)
	mustStart(t, s)
	ctx, cancel := context.WithCancel(patient(t))
	var begun, hang sync.WaitGroup
	for range 50 {
		begun.Add(1)
		hang.Go(func() {
			once := sync.OnceFunc(begun.Done)
			_, err := s.Do(ctx, &Request{Tool: &catalog.Tool{Name: "hang"}, Arguments: []byte(`{}`), OnProgress: func(float64, float64, string) { once() }})
			if f := AsFailure(err); f.Class != failure.Canceled {
				t.Errorf("%+v", f)
			}
		})
	}
	begun.Wait()
	var calls sync.WaitGroup
	for i := range 200 {
		calls.Go(func() {
			arguments, want := fmt.Sprintf(`{"n":%d}`, i), ""
			if i%10 == 0 { // larger than what goes on a stream
				arguments = fmt.Sprintf(`{"n":%d,"pad":%q}`, i, strings.Repeat("p", 20<<10))
			}
			want = `{"content":[],"structuredContent":` + arguments + `}`
			a, err := s.Do(ctx, &Request{Tool: &catalog.Tool{Name: "echo"}, Arguments: []byte(arguments)})
			if err != nil || string(a.JSON) != want {
				t.Errorf("call %d: %.200v, %v", i, a, err)
			}
		})
	}
	calls.Wait()
	cancel()
	hang.Wait()
}

// An adapter that does not read holds no call beyond its deadline, however many there
// are.
func TestStoppedAdapterAndDeadlines(t *testing.T) {
	s, _ := open(t, streamingAdapter, func(env *Surroundings) { env.HealthEvery = time.Hour })
	mustStart(t, s)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		_, _ = do(t, s, "stop", `{}`)
	}()
	arguments := fmt.Appendf(nil, `{"pad":%q}`, strings.Repeat("p", 8<<10))
	for range 60 { // about half a megabyte: more than sockets and windows of senders take
		ctx, cancel := context.WithTimeout(patient(t), 10*time.Millisecond)
		for ctx.Err() == nil {
			if _, err := s.Do(ctx, &Request{Tool: &catalog.Tool{Name: "echo"}, Arguments: arguments}); err != nil && ctx.Err() == nil {
				t.Fatal(err)
			}
		}
		cancel()
	}
	kill(t, s)
	<-stopped
}

// Who takes its time over one event does not hold up the others, and a flood waits.
func TestSlowCaller(t *testing.T) {
	s, _ := open(t, streamingAdapter)
	mustStart(t, s)
	slow, release, entered := sync.WaitGroup{}, make(chan struct{}), make(chan struct{})
	for range maxStreams { // one on each stream
		slow.Go(func() {
			once := sync.OnceFunc(func() { entered <- struct{}{}; <-release })
			_, err := s.Do(patient(t), &Request{Tool: &catalog.Tool{Name: "progress"}, Arguments: []byte(`{}`), OnProgress: func(float64, float64, string) { once() }})
			if err != nil {
				t.Error(err)
			}
		})
		<-entered
	}
	for range 10 {
		if _, err := do(t, s, "echo", `{}`); err != nil {
			t.Error(err)
		}
	}
	close(release)
	slow.Wait()

	seen := 0
	if _, err := s.Do(patient(t), &Request{Tool: &catalog.Tool{Name: "flood"}, Arguments: []byte(`{"bytes":50000000}`), OnProgress: func(float64, float64, string) { seen++ }}); err != nil || seen != 763 {
		t.Errorf("%d events, %v", seen, err)
	}
}

func TestFlightIsBounded(t *testing.T) {
	c := &callStream{calls: map[uint64]*flight{}}
	f := newFlight(c)
	ev := &adapterpb.CallsEvent{Call: 1, Event: &adapterpb.CallsEvent_Progress{Progress: &adapterpb.Progress{Message: strings.Repeat("x", maxQueued/4)}}}
	for range 4 {
		f.put(ev)
	}
	var waiting sync.WaitGroup
	put := make(chan struct{})
	waiting.Go(func() { f.put(ev); close(put) })
	select {
	case <-put:
		t.Error("there is no limit")
	default:
	}
	if events, err := f.next(t.Context()); len(events) < 4 || err != nil {
		t.Errorf("%d events, %v", len(events), err)
	}
	<-put
	f.end(status.Error(codes.Unavailable, "gone"))
	f.close()
	f.put(ev) // nobody takes it
	if len(f.queue) != 0 {
		t.Error("kept after the call was over")
	}
	waiting.Wait()
}

// A large result is received when the caller admits it. One that is not received leaves
// again, and one that waits while its process ends fails with it.
func TestAdmission(t *testing.T) {
	s, _ := open(t, streamingAdapter)
	mustStart(t, s)
	of := func(ctx context.Context, what string, admit func(context.Context, int) (func(), error)) (*Answer, *Failure) {
		a, err := s.Do(ctx, &Request{Tool: &catalog.Tool{Name: "odd"}, Arguments: fmt.Appendf(nil, `{"do":%q}`, what), MaxResult: 4 << 20, Admit: admit})
		if err != nil {
			return nil, AsFailure(err)
		}
		return a, nil
	}
	big := func(ctx context.Context, admit func(context.Context, int) (func(), error)) (*Answer, *Failure) {
		return of(ctx, "large", admit)
	}
	announced, left := 0, 0
	at := func(then func()) func(context.Context, int) (func(), error) {
		return func(_ context.Context, bytes int) (func(), error) {
			announced = bytes
			then()
			return func() { left++ }, nil
		}
	}
	if a, f := big(patient(t), at(func() {})); f != nil || len(a.JSON) != announced || announced != 3_000_000 || left != 0 {
		t.Errorf("%v, %d announced, left %d times", f, announced, left)
	}
	ctx, cancel := context.WithCancel(patient(t))
	if _, f := big(ctx, at(cancel)); f == nil || f.Class != failure.Canceled || left != 1 {
		t.Errorf("canceled: %+v, left %d times", f, left)
	}
	if _, f := of(patient(t), "larger", at(func() {})); f == nil || f.Class != failure.InvalidResult || announced != 1000 || left != 2 {
		t.Errorf("larger than announced: %+v, left %d times", f, left)
	}

	waits := func(then func()) func(context.Context, int) (func(), error) {
		return func(ctx context.Context, bytes int) (func(), error) {
			then()
			<-ctx.Done()
			return nil, ctx.Err()
		}
	}
	ctx, cancel = context.WithCancel(patient(t))
	if _, f := big(ctx, waits(cancel)); f == nil || f.Class != failure.Canceled || f.Delivery != failure.DeliveryUnknown {
		t.Errorf("canceled while it waits: %+v", f)
	}
	if a, f := big(patient(t), nil); f != nil || len(a.JSON) != 3_000_000 {
		t.Errorf("after these: %v", f)
	}
	if _, f := big(patient(t), waits(func() { kill(t, s) })); f == nil || f.Class != failure.ConnectionRefused || !strings.Contains(f.Message, "killed") {
		t.Errorf("killed while it waits: %+v", f)
	}
}
