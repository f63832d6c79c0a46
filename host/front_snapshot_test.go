//go:build unix

package host_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/sdk/mcp"
)

// scripted is a server whose program a test replaces without changing its entry.
func scripted(t *testing.T, opt host.Options, name, script string) {
	t.Helper()
	file := filepath.Join(filepath.Dir(opt.ConfigFiles[0]), name)
	part := file + ".new" // never one that is being executed
	if err := os.WriteFile(part, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(part, file); err != nil {
		t.Fatal(err)
	}
}

func works(args string) string { return "exec " + filepath.Join(built, "faultserver") + " " + args }

const (
	broken  = "echo the disk is gone >&2; exit 7"
	hanging = "exec sleep 1000"
)

// run is one life of a host and its face, that ends before the test does.
type life struct {
	t     *testing.T
	h     *host.Host
	c     *mcp.Client
	told  chan string // methods of notifications
	close func()
}

func live(t *testing.T, opt host.Options) *life {
	t.Helper()
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range h.Problems() {
		t.Error("problem:", p)
	}
	f := h.Front()
	web := httptest.NewServer(f.Handler())
	l := &life{t: t, h: h, told: make(chan string, 1000)}
	l.c, err = mcp.Dial(patient(t), mcp.Endpoint{URL: web.URL}, mcp.Options{OnNotification: func(method string, _ json.RawMessage) { l.told <- method }})
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	l.close = func() {
		once.Do(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			l.c.Close(ctx)
			if err := f.Close(ctx); err != nil {
				t.Error(err)
			}
			web.Close()
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	t.Cleanup(l.close)
	return l
}

func (l *life) list() string {
	l.t.Helper()
	raw, err := l.c.Request(patient(l.t), "tools/list", nil, mcp.RequestOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return string(raw)
}

func (l *life) call(tool, args string) string {
	l.t.Helper()
	raw, err := l.c.CallTool(patient(l.t), tool, json.RawMessage(args), mcp.RequestOptions{})
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// quiet says that nobody was told of a change of the list.
func (l *life) quiet(when string) {
	l.t.Helper()
	for range len(l.told) {
		if method := <-l.told; method == "notifications/tools/list_changed" {
			l.t.Errorf("%s a change of the list was announced", when)
		}
	}
}

// state waits until a server is in that state.
func (l *life) state(server, want string) {
	l.t.Helper()
	changed := make(chan struct{}, 1)
	cancel := l.h.Subscribe(func(e host.Event) {
		if e.ServerChanged != nil {
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	})
	defer cancel()
	for {
		for _, s := range l.h.Servers() {
			if s.Name == server && s.State == want {
				return
			}
		}
		select {
		case <-changed:
		case <-patient(l.t).Done():
			l.t.Fatalf("%s is never %s: %+v", server, want, l.h.Servers())
		}
	}
}

func (l *life) same(when, want string) {
	l.t.Helper()
	if got := l.list(); got != want {
		l.t.Errorf("%s the list is\n%s\nand not\n%s", when, got, want)
	}
}

const remembered = `
[host]
connect_wait = "600s"
exposure = "direct"
[servers.a]
command = "./a"
[servers.b]
command = "./b"
[servers.b.tool_exposure]
"t_*" = "deferred"
`

// The list is the same bytes while servers are up, start, hang, crash, are down or
// were stopped, in this life of the host and in the next ones.
func TestTheListSurvives(t *testing.T) {
	t.Parallel()
	opt := options(t, remembered)
	scripted(t, opt, "a", works(""))
	scripted(t, opt, "b", works(""))
	up := live(t, opt)
	list := up.list()
	for _, has := range []string{`"a__echo"`, `"b__echo"`, `"tool_search"`, `"tool_call"`, `"result_read"`} {
		if !strings.Contains(list, has) {
			t.Fatalf("%s is not in the list %s", has, list)
		}
	}
	up.call("tool_search", `{"query":"sleep"}`)
	up.same("after a search", list)
	up.call("tool_call", `{"name":"b/t_sleep","arguments":{"ms":1}}`)
	up.same("after a call", list)
	scripted(t, opt, "a", broken)
	if got := up.call("a__x_exit", `{"code":3}`); !strings.Contains(got, "connection-refused") {
		t.Errorf("a server that ends in the middle of a call: %s", got)
	}
	up.same("after a crash", list)
	up.state("a", "degraded")
	up.same("while its program is gone", list)
	if err := syscall.Kill(pidOf(t, up.h, "a"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	up.state("a", "backing-off")
	up.same("while it crashes again and again", list)
	up.close()
	up.quiet("while servers crash")

	scripted(t, opt, "b", broken)
	down := live(t, opt)
	down.same("at once with all servers down", list)
	down.state("a", "failed")
	down.state("b", "failed")
	down.same("with all servers known to be down", list)
	if got := down.call("a__echo", `{"text":"x"}`); !strings.Contains(got, "connection-refused") || !strings.Contains(got, "the disk is gone") || !strings.Contains(got, `"isError":true`) {
		t.Errorf("a call of a server that is down: %s", got)
	}
	if got := down.call("tool_call", `{"name":"b/t_sleep","arguments":{"ms":1}}`); !strings.Contains(got, "connection-refused") {
		t.Errorf("a call of a server that is down: %s", got)
	}
	got := gjson.Get(down.call("tool_search", `{"query":"sleep"}`), "structuredContent")
	if !strings.Contains(got.Get("tools").Raw, `"b/t_sleep"`) || got.Get("pending.#").Int() != 2 {
		t.Errorf("a search while all servers are down: %s", got)
	}
	down.same("after calls and a search", list)
	down.close()
	down.quiet("while servers are down")

	scripted(t, opt, "a", hanging)
	scripted(t, opt, "b", hanging)
	stuck := live(t, opt)
	stuck.same("while the servers hang", list)
	stuck.state("a", "starting")
	stuck.same("while the servers still hang", list)
	stuck.close()

	scripted(t, opt, "a", works(""))
	scripted(t, opt, "b", works(""))
	again := live(t, opt)
	again.same("when they are back", list)
	again.state("a", "ready")
	again.state("b", "ready")
	again.same("when they have been asked again", list)
	if got := again.call("a__echo", `{"text":"x"}`); !strings.Contains(got, `"x"`) {
		t.Error(got)
	}
	again.close()
	again.quiet("when the servers are back")
	for _, l := range []*life{down, stuck, again} { // whose clients came before any server had been asked
		if text := l.c.Server().Instructions; !strings.Contains(text, "- b (deferred, 4 tools") {
			t.Errorf("instructions are %s", text)
		}
	}
}

// Nothing that a client's parser gives up on gets into a list; a person gets it whole.
func TestAbsurdSchemas(t *testing.T) {
	t.Parallel()
	opt := options(t, "[host]\nexposure = \"direct\"\n[servers.n]\ncommand = \"./n\"\n")
	scripted(t, opt, "n", works("-fault schema:all"))
	up := live(t, opt)
	list := up.list()
	tool := gjson.Get(list, `tools.#(name=="n__sch_deep")`).Raw
	if want := `{"name":"n__sch_deep",`; !strings.HasPrefix(tool, want) || gjson.Get(tool, "inputSchema").Raw != `{"type":"object"}` || !strings.Contains(tool, `"collet.dev/unchecked"`) {
		t.Errorf("listed is %.300s", tool)
	}
	if deep, err := up.h.Tool(patient(t), "n/sch_deep"); err != nil || !strings.Contains(string(deep.Definition), strings.Repeat(`{"anyOf":[`, 2000)) {
		t.Errorf("the tool itself is cut: %v", err)
	}
	got := up.call("tool_search", `{"query":"n/sch_deep"}`)
	if strings.Contains(got, `{"anyOf":[{"anyOf"`) {
		t.Errorf("found is %.300s", got)
	}
	up.close()
	down := live(t, opt)
	down.same("after a restart", list)
}
