package server

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/sdk/failure"
)

func kill(t *testing.T, s *Server) {
	t.Helper()
	p, err := os.FindProcess(s.Status().Pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestCrashBetweenCalls(t *testing.T) {
	s, st := open(t, adapterEntry())
	mustStart(t, s)
	first := s.Status().Pid
	kill(t, s)
	st.await(t, BackingOff)
	if f := s.Status().Failure; f == nil || f.Class != failure.ConnectionRefused || !strings.Contains(f.Message, "signal: killed") {
		t.Errorf("status says %+v", f)
	}
	// Nothing runs, so nothing was sent.
	if _, err := do(t, s, "echo", `{}`); AsFailure(err).Delivery != failure.NotSent {
		t.Errorf("call: %+v", err)
	}
	mustStart(t, s)
	if now := s.Status().Pid; now == first || now == 0 {
		t.Errorf("pid %d after %d", now, first)
	}
	if _, err := do(t, s, "echo", `{}`); err != nil {
		t.Error(err)
	}
}

func TestCrashesDuringACall(t *testing.T) {
	for tool, says := range map[string]string{"exit": "exit status 7", "kill": "signal: killed", "panic": "exit status 2"} {
		s, st := open(t, adapterEntry())
		mustStart(t, s)
		_, err := do(t, s, tool, `{}`)
		f := AsFailure(err)
		if f.Class != failure.ConnectionRefused || f.Delivery != failure.DeliveryUnknown || f.Origin != failure.OriginHost || !strings.Contains(f.Message, says) || len(f.StderrTail) == 0 {
			t.Errorf("%s: %+v", tool, f)
		}
		st.await(t, BackingOff)
		mustStart(t, s)
	}
}

func TestStoppedProcessIsNoticed(t *testing.T) {
	s, st := open(t, adapterEntry(), func(env *Surroundings) { env.HealthEvery = 50 * time.Millisecond })
	mustStart(t, s)
	_, err := do(t, s, "stop", `{}`)
	if f := AsFailure(err); f.Class != failure.ConnectionRefused || !strings.Contains(f.Message, "health checks") {
		t.Errorf("%+v", f)
	}
	st.await(t, BackingOff)
	mustStart(t, s)
}

func TestHealthyProcessIsLeftAlone(t *testing.T) {
	s, st := open(t, adapterEntry(), func(env *Surroundings) { env.HealthEvery = 5 * time.Millisecond })
	mustStart(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	_, err := s.Do(ctx, &Request{Tool: tool(t, s, "hang"), Arguments: []byte(`{}`)})
	if f := AsFailure(err); f.Class != failure.Timeout {
		t.Errorf("%+v", f)
	}
	if got := st.list(); got != "starting ready" {
		t.Errorf("states: %s", got)
	}
}

func TestCloseWithACallInFlight(t *testing.T) {
	s, _ := open(t, "command = \"${BUILT}/faultserver\"\n")
	mustStart(t, s)
	running, ended := make(chan struct{}, 100), make(chan error, 1)
	x := tool(t, s, "t_progress_forever")
	go func() {
		_, err := s.Do(t.Context(), &Request{Tool: x, Arguments: []byte(`{}`), OnProgress: func(float64, float64, string) {
			select {
			case running <- struct{}{}:
			default:
			}
		}})
		ended <- err
	}()
	<-running
	if err := s.Close(patient(t)); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil {
		t.Error("the call was answered")
	}
}

func TestToolsThatChange(t *testing.T) {
	listed := make(chan struct{}, 100)
	s, _ := open(t, "command = \"${BUILT}/faultserver\"\n", func(env *Surroundings) {
		env.Listed = func(string) { listed <- struct{}{} }
	})
	mustStart(t, s)
	<-listed
	before, _ := s.Tools()
	if _, err := do(t, s, "x_grow", `{}`); err != nil {
		t.Fatal(err)
	}
	for late := time.After(patience); ; {
		select {
		case <-listed:
		case <-late:
			t.Fatal("the new list never came")
		}
		if now, _ := s.Tools(); len(now) > len(before) {
			break
		}
	}
	tool(t, s, "x_grown")
	if err := s.Refresh(patient(t)); err != nil {
		t.Error(err)
	}
	tool(t, s, "x_grown")
}

func TestEnvironments(t *testing.T) {
	s, _ := open(t, adapterEntry()+"env = { MINE = \"1\" }\n")
	mustStart(t, s)
	res, err := do(t, s, "environ", `{}`)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(res.JSON, []byte("SECRET")) || !bytes.Contains(res.JSON, []byte("MINE")) || !bytes.Contains(res.JSON, []byte("PATH")) {
		t.Errorf("a plugin sees %s", res.JSON)
	}
	for _, c := range []struct {
		body string
		want map[string]string // "-" stands for a variable that is not there
	}{
		{"", map[string]string{"SECRET": "s3cret"}},
		{"inherit_env = false\n", map[string]string{"SECRET": "-", "HOME": "?"}},
		{"inherit_env = [\"SECRET\"]\n", map[string]string{"SECRET": "s3cret", "BUILT": "-", "HOME": "?"}},
		{"env = { SECRET = \"\", B = \"x\" }\n", map[string]string{"SECRET": "", "B": "x", "HOME": "?"}},
	} {
		s, _ := open(t, "command = \"${BUILT}/faultserver\"\n"+c.body)
		env := s.childEnv(s.Settings(), mustResolve(t, s).Env)
		for k, want := range c.want {
			got, ok := env[k]
			if !ok {
				got = "-"
			}
			if got != want && (want != "?" || !ok) {
				t.Errorf("%q: %s=%s, want %s", c.body, k, got, want)
			}
		}
		if _, ok := env["PATH"]; !ok {
			t.Errorf("%q: no PATH", c.body)
		}
	}
}

func mustResolve(t *testing.T, s *Server) *config.Resolved {
	t.Helper()
	res, err := s.Settings().Resolve(t.Context(), s.env.Resolver)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestLogFile(t *testing.T) {
	s, _ := open(t, fault("stderr=a line of text"))
	mustStart(t, s)
	if err := s.Close(patient(t)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(s.LogFile())
	if err != nil || !strings.Contains(string(text), "Z a line of text\n") {
		t.Errorf("log: %q %v", text, err)
	}
}

func TestALogThatCannotBeKept(t *testing.T) {
	s, _ := open(t, adapterEntry(), func(env *Surroundings) { env.LogDir = "/dev/null/logs" })
	mustStart(t, s)
}

func TestReattach(t *testing.T) {
	cmd := exec.Command(built+"/collet-plugin-hello", "-debug")
	out, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	var text []byte
	for buf := make([]byte, 4096); ; {
		n, err := out.Read(buf)
		text = append(text, buf[:n]...)
		if i := bytes.Index(text, []byte("COLLET_REATTACH=")); i >= 0 && bytes.Contains(text[i:], []byte("\n")) {
			text, _, _ = bytes.Cut(text[i+len("COLLET_REATTACH="):], []byte("\n"))
			break
		}
		if err != nil {
			t.Fatalf("no reattach line in %q", text)
		}
	}
	entry := gjson.GetBytes(bytes.Trim(text, "' "), "hello").Raw
	s, _ := open(t, "plugin = \"hello\"\n", func(env *Surroundings) {
		env.Environ = append(env.Environ, `COLLET_REATTACH={"s":`+entry+`}`)
	})
	mustStart(t, s)
	if pid := s.Status().Pid; pid != cmd.Process.Pid {
		t.Errorf("pid %d is not the debugged process %d", pid, cmd.Process.Pid)
	}
	s.mu.Lock()
	debugged := s.run.debugged
	s.mu.Unlock()
	if !debugged {
		t.Error("a breakpoint will be taken for a process that hangs")
	}
	if res, err := do(t, s, "greet", `{"name":"you"}`); err != nil || !bytes.Contains(res.JSON, []byte("Hello, you!")) {
		t.Errorf("%v %+v", err, res)
	}
}

func TestPlain(t *testing.T) {
	for line, want := range map[string]string{
		`{"@level":"warn","@message":"slow","@timestamp":"t","ms":12,"who":"a b"}`: "WARN slow ms=12 who=a b",
		`{"@message":1}`:     " 1",
		`goroutine 1 [run]:`: "goroutine 1 [run]:",
		`{"level":"info"}`:   `{"level":"info"}`,
	} {
		if got := plain([]byte(line)); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// A call made in the moment after the process died, before anybody has cleaned
// up, was not sent and says so: then it can be made again, whatever the tool does.
func TestCallRightAfterACrash(t *testing.T) {
	s, _ := open(t, adapterEntry())
	mustStart(t, s)
	x := tool(t, s, "echo")
	s.mu.Lock()
	r := s.run
	s.mu.Unlock()
	kill(t, s)
	<-r.lost
	_, err := s.Do(patient(t), &Request{Tool: x, Arguments: []byte(`{}`)})
	if f := AsFailure(err); err == nil || f.Class != failure.ConnectionRefused || f.Delivery != failure.NotSent {
		t.Errorf("%+v", f)
	}
	mustStart(t, s)
	if !r.gone() {
		t.Error("two processes at once")
	}
	if _, err := do(t, s, "echo", `{}`); err != nil {
		t.Error(err)
	}
	if f := r.exited(false); f.Message != "the adapter process ended: signal: killed" {
		t.Errorf("%q", f.Message)
	}
}

func TestUpstreamInTroubleIsDegraded(t *testing.T) {
	s, st := open(t, "command = \"${BUILT}/faultserver\"\n")
	mustStart(t, s)
	if _, err := do(t, s, "x_exit", `{}`); err == nil {
		t.Fatal("answered")
	}
	st.await(t, Degraded)
	if now := s.Status(); now.Failure == nil || !strings.Contains(now.Failure.Message, "exit status 3") || now.Pid == 0 {
		t.Errorf("%+v", now)
	}
	// The adapter lives: the next call has a new upstream, and the same process.
	if _, err := do(t, s, "echo", `{}`); err != nil {
		t.Error(err)
	}
	st.await(t, Ready)
	if got := st.list(); got != "starting ready degraded degraded ready" && got != "starting ready degraded ready" {
		t.Errorf("states: %s", got)
	}
}

// What a restart lists again is no news, and keeps its compiled schemas.
func TestRestartWithTheSameTools(t *testing.T) {
	listed := make(chan struct{}, 100)
	s, st := open(t, adapterEntry(), func(env *Surroundings) { env.Listed = func(string) { listed <- struct{}{} } })
	mustStart(t, s)
	before, _ := s.Tools()
	kill(t, s)
	st.await(t, BackingOff)
	mustStart(t, s)
	if now, _ := s.Tools(); len(now) == 0 || !slices.Equal(now, before) {
		t.Error("the tools are others")
	}
	if n := len(listed); n != 1 {
		t.Errorf("%d announcements of a list", n)
	}
}

// B068: env adds to what is inherited, and an empty value is one.
func TestEnvironmentOfACommand(t *testing.T) {
	s, _ := open(t, "command = \"${BUILT}/faultserver\"\nenv = { A = \"\", B = \"x\" }\n")
	mustStart(t, s)
	res, err := do(t, s, "x_env", `{"names":["A","B","HOME","SECRET","NONE","COLLET_PLUGIN"]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"A":"","B":"x","COLLET_PLUGIN":null,"HOME":"` + variable(s.env.Environ, "HOME") + `","NONE":null,"SECRET":"s3cret"}`
	if got := gjson.GetBytes(res.JSON, "content.0.text").String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Whatever the order of starts, calls and crashes, every call ends, and the
// server comes back.
func TestCrashesUnderLoad(t *testing.T) {
	s, _ := open(t, adapterEntry())
	mustStart(t, s)
	x, crash := tool(t, s, "echo"), tool(t, s, "kill")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 10 {
				if err := s.Ready(patient(t), 0); err != nil {
					t.Error("start:", err)
					return
				}
				req := &Request{Tool: x, Arguments: []byte(`{}`)}
				if i == 0 && n%3 == 0 {
					req.Tool = crash
				}
				if _, err := s.Do(patient(t), req); err != nil && AsFailure(err).Class != failure.ConnectionRefused {
					t.Errorf("call: %+v", err)
				}
				if i == 1 {
					_ = s.Refresh(patient(t)) // may meet a crash
				}
			}
		})
	}
	wg.Wait()
	mustStart(t, s)
	if _, err := do(t, s, "echo", `{}`); err != nil {
		t.Error(err)
	}
}
