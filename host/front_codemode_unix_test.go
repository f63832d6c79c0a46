//go:build unix

package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// The crash of a server rejects its calls in a script, which goes on with the others.
func TestCodemodeSurvivesKilledAdapter(t *testing.T) {
	t.Parallel()
	h := open(t, codemodeServers)
	c := faceOf(t, h, mcp.Options{})
	gives(t, c, `return await tools.m.echo({text: "up"}) + await tools.n.echo({text: "up"})`, `"upup"`)
	victim := pidOf(t, h, "n")
	var once sync.Once
	raw, err := c.CallTool(patient(t), "codemode", codemodeArguments(`
		const lost = await tools.n.t_progress_forever({}).catch((e) => [e.code, e.tool]);
		return [lost, await tools.m.echo({text: "others"}), await tools.n.echo({text: "again"})]`), mcp.RequestOptions{OnProgress: func(p mcp.Progress) {
		if strings.Contains(p.Message, "t_progress_forever") {
			once.Do(func() {
				if err := syscall.Kill(victim, syscall.SIGKILL); err != nil {
					t.Error(err)
				}
			})
		}
	}})
	if got := gjson.GetBytes(raw, "structuredContent.value").Raw; err != nil || got != `[["disconnected","n/t_progress_forever"],"others","again"]` {
		t.Errorf("%s %v", raw, err)
	}
}

// scriptProcesses are the processes of scripts that a process has started.
func scriptProcesses(t *testing.T, parent int) (pids []int) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(all) == 0 {
		t.Skip("needs /proc")
	}
	for _, file := range all {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if fields[1] == strconv.Itoa(parent) && strings.Contains(string(command), "__script") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// collet serve as it ships: a script whose process is killed has failed, the next
// one runs, and nothing is left when serve has ended.
func TestServeSurvivesKilledScript(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, pidFile := filepath.Join(dir, "mcp.toml"), filepath.Join(dir, "pid")
	if err := os.WriteFile(config, []byte("[servers.n]\ncommand = \""+filepath.Join(built, "faultserver")+"\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for era, opt := range eras {
		t.Run(era, func(t *testing.T) {
			c, err := mcp.Start(patient(t), mcp.Command{
				Path: "/bin/sh",
				Args: []string{"-c", `echo $$ >"$0"; exec "$@"`, pidFile, colletProgram(t), "--config", config, "serve"},
				Env:  append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir),
			}, opt)
			if err != nil {
				t.Fatal(err)
			}
			gives(t, c, `return await tools.n.echo({text: "x"})`, `"x"`)
			text, err := os.ReadFile(pidFile)
			if err != nil {
				t.Fatal(err)
			}
			serve, err := strconv.Atoi(strings.TrimSpace(string(text)))
			if err != nil {
				t.Fatal(err)
			}
			var once sync.Once
			raw, err := c.CallTool(patient(t), "codemode", codemodeArguments(`text("begun"); await tools.n.t_progress_forever({})`), mcp.RequestOptions{OnProgress: func(p mcp.Progress) {
				if strings.Contains(p.Message, "t_progress_forever") {
					once.Do(func() {
						for _, pid := range scriptProcesses(t, serve) { // a spare one, too
							if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
								t.Error(err)
							}
						}
					})
				}
			}})
			r := gjson.ParseBytes(raw)
			if err != nil || r.Get("structuredContent.error.kind").String() != "sandbox" || r.Get("structuredContent.output.0.text").String() != "begun" || !r.Get("isError").Bool() {
				t.Errorf("%s %v", raw, err)
			}
			gives(t, c, `return await tools.n.echo({text: "again"})`, `"again"`)
			left := scriptProcesses(t, serve)
			if len(left) == 0 {
				t.Error("no process is kept ready")
			}
			if err := c.Close(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
			for _, pid := range left {
				if alive(pid) {
					t.Errorf("process %d is left", pid)
				}
			}
		})
	}
}

// Scripts of one client that do their worst leave the face to the others: their tools
// answer, and their scripts have their turn.
func TestCodemodeHostileScripts(t *testing.T) {
	t.Parallel()
	url := guarded(t, open(t, codemodeServers+"[servers.d]\ncommand = \"${BUILT}/faultserver\"\nexposure = \"direct\"\n"))
	dial := func(opt mcp.Options) *mcp.Client {
		t.Helper()
		c, err := mcp.Dial(patient(t), mcp.Endpoint{URL: url}, opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(context.WithoutCancel(t.Context())) })
		return c
	}
	bad, good := dial(mcp.Options{SkipProbe: true}), dial(mcp.Options{})
	gives(t, good, `return 1`, `1`)
	var scripts sync.WaitGroup
	for code, kind := range map[string]string{
		`for (;;) ;`:                         "timeout",
		`Array(2e8).join("abc"); for (;;) ;`: "timeout",
		`const all = []; for (;;) all.push(new Array(1e5).fill(1))`:                                                 "memory",
		`for (;;) text("x".repeat(1000))`:                                                                           "output_limit",
		`for (;;) { try { for (;;) ; } finally { continue } }`:                                                      "timeout",
		`const all = []; for (let i = 0; i < 1e5; i++) all.push(tools.n.echo({text: "x"})); await Promise.all(all)`: "script",
	} {
		scripts.Go(func() {
			raw, err := bad.CallTool(patient(t), "codemode", codemodeArguments(code, `"timeout_ms":3000`), mcp.RequestOptions{})
			got := gjson.GetBytes(raw, "structuredContent.error.kind").String()
			if err != nil || got != kind && got != "timeout" { // on a busy machine its time may be over first
				t.Errorf("%s: %.500s %v", code, raw, err)
			}
		})
	}
	for range 50 {
		raw, err := good.CallTool(patient(t), "d__echo", []byte(`{"text":"still here"}`), mcp.RequestOptions{})
		if err != nil || gjson.GetBytes(raw, "content.0.text").String() != "still here" {
			t.Fatalf("%s %v", raw, err)
		}
	}
	gives(t, good, `return await tools.m.echo({text: "in turn"})`, `"in turn"`)
	scripts.Wait()
	gives(t, bad, `return await tools.n.echo({text: "after"})`, `"after"`)
}

// The list has the tool, and is the same, also while the server that has tools for it
// is down.
func TestCodemodeIsListedWhileServersAreDown(t *testing.T) {
	t.Parallel()
	for _, o := range eras {
		opt := options(t, "[servers.a]\ncommand = \"./a\"\n")
		scripted(t, opt, "a", works(""))
		list := func() string {
			t.Helper()
			h, err := host.Open(t.Context(), opt)
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			c := faceOf(t, h, o)
			raw, err := c.Request(patient(t), "tools/list", nil, mcp.RequestOptions{})
			if err != nil {
				t.Fatal(err)
			}
			in := c.Server().Instructions
			if !strings.Contains(in, "scripts with codemode") || !strings.Contains(in, "- a (codemode") {
				t.Errorf("the instructions are %s", in)
			}
			c.Close(context.WithoutCancel(t.Context()))
			return string(raw)
		}
		before := list()
		if !strings.Contains(before, `"codemode"`) || strings.Contains(before, `"a"`) {
			t.Errorf("%s", before)
		}
		kept(t, filepath.Join(opt.StateDir, "snapshots"))
		scripted(t, opt, "a", broken)
		if again := list(); again != before {
			t.Errorf("it was %s\nand is %s", before, again)
		}
	}
}

// A server that is named like a part of a word is not started for it, and one that
// does not come up holds a model's script up no longer than its list.
func TestScriptDoesNotWait(t *testing.T) {
	t.Parallel()
	opt := options(t, "[host]\nconnect_wait = \"1s\"\n[servers.re]\ncommand = \"./re\"\n[servers.n]\ncommand = \"${BUILT}/faultserver\"\n")
	scripted(t, opt, "re", hanging)
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	scriptReturns(t, h, `return "rest, are, re2, _re".length`, `19`)
	for _, s := range h.Servers() {
		if s.State != "idle" {
			t.Errorf("%s is %s", s.Name, s.State)
		}
	}
	c := faceOf(t, h, mcp.Options{})
	begun := time.Now()
	gives(t, c, `return ["re" in tools, await tools.n.echo({text: "x"})]`, `[true,"x"]`)
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}
