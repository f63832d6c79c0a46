package codemode

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/collet-dev/collet/host/internal/codemode/wire"
)

// A thousand scripts in a row, each another way to end, leave no process, no open
// file and no goroutine.
func TestNothingIsLeft(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 100
	}
	r, h := New(program), newHost()
	sources := []string{`return 1`, `throw 1`, `await tools.t.echo({})`, `tools.t.wait({ms: 60000}); exit()`, `const x: number = 1`, `let 1`, `await new Promise(() => {})`, `text("x".repeat(2e6))`}
	mustReturn(t, r, h, `return 1`, `1`)
	files, goroutines := countFiles(t), runtime.NumGoroutine()
	for i := range n {
		if i%10 == 0 { // a warm one, too
			if err := r.Prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		run(t, r, Script{Source: sources[i%len(sources)]}, h)
	}
	r.Close()
	if left := children(t); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	if now := countFiles(t); now > files+1 {
		t.Errorf("%d open files, %d before", now, files)
	}
	deadline := time.Now().Add(10 * time.Second)
	for runtime.NumGoroutine() > goroutines && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if now := runtime.NumGoroutine(); now > goroutines {
		t.Errorf("%d goroutines, %d before", now, goroutines)
	}
}

func countFiles(t *testing.T) int {
	if runtime.GOOS != "linux" {
		return 0
	}
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// children are the processes that this one has.
func children(t *testing.T) (list []string) {
	if runtime.GOOS != "linux" {
		return nil
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue // it has ended
		}
		_, rest, _ := strings.Cut(string(b), ") ")
		if f := strings.Fields(rest); len(f) > 1 && f[1] == fmt.Sprint(os.Getpid()) {
			list = append(list, strings.TrimSpace(string(b)))
		}
	}
	return list
}

// Whatever scripts do, the host stays small.
func TestHostMemory(t *testing.T) {
	r, h := newRunner(t), newHost()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	mustReturn(t, r, h, `return 1`, `1`)
	idle := heap()
	for _, source := range []string{
		`for (;;) text("x".repeat(1000))`, `for (;;) text("")`, `for (;;) console.log("x".repeat(1000))`,
		`const s = "x".repeat(1e6); for (let i = 0; i < 2000; i++) await tools.t.echo({s}).catch(() => {})`,
		`await Promise.allSettled(Array.from({length: 30000}, () => tools.t.wait({ms: 10})))`,
		`const a = []; for (;;) a.push(new Array(1000).fill(a.length));`,
	} {
		run(t, r, Script{Source: source, Limits: Limits{Timeout: time.Second}}, h)
		if now := heap(); now > idle+8<<20 {
			t.Errorf("%s\nleaves %d bytes, %d before", source, now, idle)
		}
	}
}

// The process has nothing of the host's, and hardly anything of the system's.
func TestConfinement(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what is checked is in /proc")
	}
	t.Setenv("SECRET_TOKEN", "x")
	p, err := spawn(t.Context(), []string{program})
	if err != nil {
		t.Fatal(err)
	}
	defer p.end()
	if err := p.limit(64<<20, 10*time.Second); err != nil {
		t.Fatal(err)
	}
	proc := fmt.Sprintf("/proc/%d/", p.cmd.Process.Pid)
	environ, err := os.ReadFile(proc + "environ")
	if err != nil || string(environ) != "GOMAXPROCS=1\x00TZ=UTC\x00" {
		t.Errorf("environment %q, %v", environ, err)
	}
	limits, err := os.ReadFile(proc + "limits")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Max cpu time 10 11 seconds", "Max file size 0 0 bytes", fmt.Sprintf("Max data size %d %[1]d bytes", 64<<20+dataSpare), "Max open files 32 32 files", "Max core file size 0 0 bytes"} {
		if !strings.Contains(strings.Join(strings.Fields(string(limits)), " "), want) {
			t.Errorf("%q is not among the limits\n%s", want, limits)
		}
	}
	files, err := os.ReadDir(proc + "fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		target, _ := os.Readlink(proc + "fd/" + f.Name())
		switch { // the runtime looks up how many processors it may use
		case strings.HasPrefix(target, "/sys/fs/cgroup/"), target == "/dev/null":
			continue
		}
		if !strings.HasPrefix(target, "pipe:") && !strings.HasPrefix(target, "anon_inode:") && !strings.HasPrefix(target, "host:") {
			t.Errorf("file %s is %s", f.Name(), target)
		}
	}
}

// The processor time of a script is limited, however long it may take.
func TestProcessorTime(t *testing.T) {
	if runtime.GOOS != "linux" || testing.Short() {
		t.Skip("it takes a second of processor time, and prlimit")
	}
	r, h := newRunner(t), newHost()
	out := run(t, r, Script{Source: `for (;;);`, Limits: Limits{CPU: time.Second}}, h)
	if out.Error == nil || out.Error.Kind != KindTimeout || !strings.Contains(out.Error.Message, "processor time") {
		t.Errorf("%+v after %s", out.Error, out.CPU)
	}
	mustReturn(t, r, h, `return 1`, `1`)
}

// A process that is killed, or talks nonsense, is a failure of its script alone.
func TestDeadProcess(t *testing.T) {
	r, h := newRunner(t), newHost()
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := r.spare.process
	p.kill()
	<-p.exited
	mustReturn(t, r, h, `return 1`, `1`) // the dead one was noticed

	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	p = r.spare.process
	began := make(chan struct{})
	h.tools["t/begun"] = func(ctx context.Context, c Call) (json.RawMessage, error) {
		close(began)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	go func() {
		<-began
		p.kill()
	}()
	out := run(t, r, Script{Source: `text("before"); await call("t/begun", {})`}, h)
	if out.Error == nil || out.Error.Kind != KindSandbox || strings.Contains(out.Error.Message, "EOF") || len(out.Output) != 1 {
		t.Errorf("%+v", out)
	}
}

// When the host dies, so does the process of a script, even in the middle of a loop.
func TestHostDies(t *testing.T) {
	if os.Getenv("COLLET_TEST_DYING_HOST") != "" {
		p, err := spawn(t.Context(), []string{program})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.write(wire.Start, 0, []byte(`{"source":"for (;;);","heap":67108864,"now":0}`)); err != nil {
			t.Fatal(err)
		}
		fmt.Printf("pid %d\n", p.cmd.Process.Pid)
		os.Exit(0) // without a word to it
	}
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked up in /proc")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHostDies$")
	cmd.Env = append(os.Environ(), "COLLET_TEST_DYING_HOST=1")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var pid int
	if _, err := fmt.Sscanf(string(out), "pid %d", &pid); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	deadline := time.Now().Add(10 * time.Second)
	for {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil || strings.Contains(string(b), ") Z ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d lives on: %s", pid, b)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A process that waits for its script gives back what only its start needed, and then
// runs the script as any other.
func TestWaitingProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("memory is looked up in /proc")
	}
	r, h := newRunner(t), newHost()
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	status := fmt.Sprintf("/proc/%d/status", r.spare.process.cmd.Process.Pid)
	deadline := time.Now().Add(20 * time.Second)
	for {
		b, err := os.ReadFile(status)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(b), "RssFile:")
		var kb int
		if _, err := fmt.Sscan(rest, &kb); err != nil {
			t.Fatal(err)
		}
		if kb < 4<<10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d KiB of the program are resident", kb)
		}
		time.Sleep(20 * time.Millisecond)
	}
	mustReturn(t, r, h, `return (await tools.t.echo({a: 1})).a`, `1`)
}

// However long the texts of an error are, its outcome is not.
func TestLongError(t *testing.T) {
	r, h := newRunner(t), newHost()
	for _, source := range []string{
		`throw new Error("x".repeat(9e6))`, `throw "x".repeat(9e6)`, `const e = new Error("m"); e.name = "n".repeat(9e6); throw e`,
		`const e = new Error("m"); e.stack = "    at f (<eval>:2001:1)\n".repeat(1e5); throw e`,
		`function f() { throw new Error("m") } Object.defineProperty(f, "name", {value: "f".repeat(9e6)}); f()`,
		`await tools.t.fail({}).catch((e) => { e.tool = "t".repeat(9e6); throw e })`,
	} {
		out := run(t, r, Script{Source: source}, h)
		if out.Error == nil || out.Error.Kind != KindScript || len(out.JSON()) > 64<<10 {
			t.Errorf("%s\n%d bytes: %.300s", source, len(out.JSON()), out.JSON())
		}
	}
}
