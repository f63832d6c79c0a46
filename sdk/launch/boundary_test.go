package launch

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	adapterpb "github.com/collet-dev/collet/sdk/adapterpb/v1"
	"github.com/collet-dev/collet/sdk/internal/wire"
)

// What a plugin prints, when and where, never disturbs it or us.
func TestOutput(t *testing.T) {
	for _, test := range []struct{ fault, then string }{
		{"poison", "poisoned"},
		{"flood=8000000", "flooded"},
		{"longline=200000", "wrote the long line"},
		{"longline=20000000", "wrote the long line"},
		{"junk,slow=50ms", ""},
	} {
		t.Run(test.fault, func(t *testing.T) {
			l := newLog()
			s := spec(test.fault)
			s.OnStderr = l.line
			p := startSpec(t, s)
			if test.then != "" {
				l.await(t, test.then)
			}
			if got := callText(t, p, "count", "{}"); got != "1" {
				t.Errorf("count: %s", got)
			}
			if test.fault == "poison" && !slices.Contains(p.Tail(), `{"@message":1}`) {
				t.Errorf("tail: %q", p.Tail())
			}
		})
	}
	t.Run("os.Stdout", func(t *testing.T) {
		l := newLog()
		s := spec("")
		s.OnStderr = l.line
		p := startSpec(t, s)
		callText(t, p, "print", "{}")
		l.await(t, "printed to os.Stdout")
		l.await(t, "printed to os.Stderr")
	})
}

// A callback that never returns stops neither the plugin nor the end.
func TestSlowCallback(t *testing.T) {
	block := make(chan struct{})
	s := spec("flood=16000000")
	s.OnStderr = func([]byte) { <-block }
	p := startSpec(t, s)
	eventually(t, "the flood does not end", func() bool {
		tail := p.Tail()
		return len(tail) > 0 && tail[len(tail)-1] == "flooded"
	})
	if err := p.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	close(block)
	<-p.out.idle
}

func TestStdinIsTheLease(t *testing.T) {
	l := newLog()
	s := spec("readstdin")
	s.OnStderr = l.line
	p := startSpec(t, s)
	callText(t, p, "count", "{}")
	for _, line := range l.all() {
		if strings.HasPrefix(line, "stdin:") {
			t.Error(line)
		}
	}
	_ = p.runner.child.lease.Close()
	if line := l.await(t, "stdin:"); line != `stdin: "" <nil>` {
		t.Error(line)
	}
}

func TestEnvironment(t *testing.T) {
	t.Setenv("COLLET_TEST_SECRET", "s3cret")
	s := spec("")
	s.Env = []string{"FAULT=", "ONLY=this", "PATH=" + os.Getenv("PATH"), wire.LeaseEnv + "=broken", wire.CookieKey + "=broken"}
	p := startSpec(t, s)
	want := []string{
		wire.LeaseEnv, wire.CookieKey, "FAULT", "ONLY", "PATH",
		"PLUGIN_MAX_PORT", "PLUGIN_MIN_PORT", "PLUGIN_PROTOCOL_VERSIONS", "PLUGIN_UNIX_SOCKET_DIR",
	}
	if runtime.GOOS == "windows" {
		want = append(want, "PLUGIN_CLIENT_CERT", "SYSTEMROOT")
	}
	slices.Sort(want)
	if got := callText(t, p, "environ", "{}"); got != strings.Join(want, " ") {
		t.Errorf("got  %s\nwant %s", got, strings.Join(want, " "))
	}
}

// Start does not write to the caller's slices.
func TestSpecIsNotTouched(t *testing.T) {
	s := spec("")
	env := make([]string, len(s.Env), len(s.Env)+32)
	copy(env, s.Env)
	s.Env = env
	startSpec(t, s)
	if extra := env[:cap(env)][len(env)]; extra != "" {
		t.Errorf("Start appended %q to Spec.Env", extra)
	}
}

func TestMessageSizes(t *testing.T) {
	p := start(t, "")
	const size = 20 << 20
	if got := callText(t, p, "big", fmt.Sprintf(`{"bytes":%d}`, size)); len(got) != size {
		t.Errorf("a result of %d bytes came as %d", size, len(got))
	}
	args := `{"x":"` + strings.Repeat("x", size) + `"}`
	if got, err := call(t.Context(), p, "echo", args); err != nil || !strings.Contains(got, args) {
		t.Errorf("arguments of %d bytes: %v", len(args), err)
	}
	if _, err := call(t.Context(), p, "big", fmt.Sprintf(`{"bytes":%d}`, wire.MaxMessage)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a result over the limit: %v", err)
	}
	if got := callText(t, p, "count", "{}"); got != "4" {
		t.Errorf("afterwards: %s", got)
	}
}

type testHost struct {
	adapterpb.UnimplementedHostServer
	got chan int
}

func (h *testHost) Token(ctx context.Context, req *adapterpb.TokenRequest) (*adapterpb.TokenResponse, error) {
	h.got <- len(req.GetResource())
	return &adapterpb.TokenResponse{Token: req.GetResource()}, nil
}

func (h *testHost) Ask(ctx context.Context, _ *adapterpb.AskRequest) (*adapterpb.AskResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestServeHost(t *testing.T) {
	p := start(t, "")
	host := &testHost{got: make(chan int, 1)}
	id, err := p.ServeHost(host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Adapter().Configure(t.Context(), &adapterpb.ConfigureRequest{HostService: id}); err != nil {
		t.Fatal(err)
	}
	const size = 20 << 20
	if got := callText(t, p, "token", fmt.Sprintf(`{"bytes":%d}`, size)); got != fmt.Sprint(size) {
		t.Errorf("the adapter got a token of %s bytes", got)
	}
	if got := <-host.got; got != size {
		t.Errorf("the host got a request of %d bytes", got)
	}
}

func TestConcurrentCalls(t *testing.T) {
	p := start(t, "")
	var calls sync.WaitGroup
	for i := range 64 {
		calls.Go(func() {
			args := fmt.Sprintf(`{"i":%d,"big":9007199254740993,"f":1.0}`, i)
			if got, err := call(t.Context(), p, "echo", args); err != nil || got != `{"content":[],"structuredContent":`+args+`}` {
				t.Errorf("%d: %s, %v", i, got, err)
			}
		})
	}
	calls.Wait()
}

// The whole of Process at once, for the race detector.
func TestConcurrentUse(t *testing.T) {
	p := start(t, "flood=100000")
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() { _, _ = p.ServeHost(&testHost{}) })
		users.Go(func() { _ = p.Healthy(t.Context()) })
		users.Go(func() { _, _, _ = p.Tail(), p.Pid(), p.Exit() })
		users.Go(func() { _, _ = call(t.Context(), p, "count", "{}") })
		users.Go(func() { <-p.Done() })
	}
	users.Go(func() { _ = p.Stop(t.Context()) })
	users.Go(func() { _ = p.Stop(t.Context()) })
	users.Wait()
	if exit := p.Exit(); !exit.Requested {
		t.Errorf("%+v", exit)
	}
}

// Cycles of all kinds leave nothing: no goroutine, descriptor, socket, process.
func TestCyclesLeakNothing(t *testing.T) {
	needProc(t)
	cycles := 100
	if testing.Short() {
		cycles = 9
	}
	cycle := func(i int) {
		p, err := Start(t.Context(), spec("grandchild"))
		if err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		case 1:
			p.Kill()
		case 2:
			_, _ = call(t.Context(), p, "kill", "{}")
		}
		await(t, p)
		if _, err := Start(t.Context(), spec("version=9")); err == nil {
			t.Fatal("started")
		}
	}
	cycle(0) // what is made once
	goroutines, files, before := runtime.NumGoroutine(), openFiles(t), len(processes(t))
	for i := range cycles {
		cycle(i)
	}
	eventually(t, "goroutines leak", func() bool { return runtime.NumGoroutine() <= goroutines })
	if now := openFiles(t); now > files {
		t.Errorf("%d descriptors, %d before", now, files)
	}
	if now := len(processes(t)); now > before {
		t.Errorf("%d processes, %d before", now, before)
	}
	for _, base := range socketBases() {
		if left, _ := filepath.Glob(filepath.Join(base, fmt.Sprint(os.Getpid())+"*")); len(left) > 0 {
			t.Errorf("sockets left: %v", left)
		}
	}
}

func TestParallelStarts(t *testing.T) {
	var starts sync.WaitGroup
	for range 8 {
		starts.Go(func() {
			p, err := Start(t.Context(), spec("slow=200ms"))
			if err != nil {
				t.Error(err)
				return
			}
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	began := time.Now()
	starts.Wait()
	t.Logf("8 starts of 200 ms each took %s", time.Since(began))
}
