package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
	"github.com/collet-dev/collet/host/internal/restart"
	"github.com/collet-dev/collet/sdk/failure"
)

func rewriteHooks(t *testing.T, h *watched, toml string) {
	t.Helper()
	if err := os.WriteFile(h.file, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.Reload(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
}

// A reload that changes the hooks has the tools of running servers edited anew, and
// those of others before anybody sees them.
func TestReloadEditsToolsAgain(t *testing.T) {
	h := watch(t, helloToml)
	describes := func(want string) {
		t.Helper()
		list, err := h.Tools(patient(t), host.Query{})
		if err != nil || len(list.Tools) != 1 || !strings.HasPrefix(list.Tools[0].Description, want) {
			t.Fatalf("%+v, %v; want %q", list, err, want)
		}
	}
	describes("")
	await(t, h.lists, "hello")
	rewriteHooks(t, h, helloToml+"[hooks.h]\nplugin = \"testhook\"\nconfig = { patch = { greet = { description = \"Edited.\" } } }\n")
	await(t, h.lists, "hello")
	describes("Edited.")
	rewriteHooks(t, h, helloToml+"[hooks.h]\nplugin = \"testhook\"\nconfig = { hide = [\"greet\"] }\n")
	await(t, h.lists, "hello")
	if f := mustFail(t, h.Host, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)}); f.Class != failure.NotFound {
		t.Errorf("a tool that is hidden now: %v", f)
	}
	rewriteHooks(t, h, helloToml)
	await(t, h.lists, "hello")
	if got := greeting(t, h.Host, `{"name":"x"}`); got != "Salve, x!" {
		t.Error(got)
	}
}

// Calls that are with a hook when it changes end as it says; the next ones meet the
// other one, and the process of the first is gone when the host closes.
func TestReloadWhileHooksAreAsked(t *testing.T) {
	marked := func(with string) string {
		return helloToml + fmt.Sprintf("[hooks.h]\nplugin = \"testhook\"\nconfig = { before = \"mark\", mark = %q }\n", with)
	}
	h := watch(t, marked("0"))
	if got := greeting(t, h.Host, `{"name":"x"}`); got != "Salve, 0x!" {
		t.Fatal(got)
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				res, err := h.Call(t.Context(), host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
				if err != nil {
					t.Error(err)
					return
				}
				if got := gjson.GetBytes(res.JSON, "content.0.text").String(); !strings.HasPrefix(got, "Salve, ") || !strings.HasSuffix(got, "x!") || len(got) != len("Salve, 0x!") {
					t.Errorf("%q", got)
				}
			}
		})
	}
	for n := range 4 {
		rewriteHooks(t, h, marked(fmt.Sprint(n+1)))
	}
	close(stop)
	wg.Wait()
	if got := greeting(t, h.Host, `{"name":"x"}`); got != "Salve, 4x!" {
		t.Error(got)
	}
}

// A hook that ends at each call is left alone for longer and longer, and on_error
// counts meanwhile.
func TestHookThatEndsAtEachCall(t *testing.T) {
	const postponed = "its process ended (exit status 7); not tried again before "
	for _, onError := range []string{"closed", "open"} {
		t.Run(onError, func(t *testing.T) {
			t.Parallel()
			starts := filepath.Join(t.TempDir(), "starts")
			h := open(t, helloToml+fmt.Sprintf("[hooks.h]\nplugin = \"testhook\"\non_error = %q\nconfig = { before = \"exit\", starts = %q }\n", onError, filepath.ToSlash(starts)))
			said := func() string {
				res, err := h.Call(t.Context(), host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
				if onError == "open" {
					if err != nil || len(res.Notices) == 0 {
						t.Errorf("%+v, %v", res, err)
						return ""
					}
					return strings.Join(res.Notices, "; ") // the list may have been edited for the call, too
				}
				f, ok := errors.AsType[*host.Failure](err)
				if !ok || f.Class != failure.ServerError || f.Delivery != failure.NotSent {
					t.Errorf("%v", err)
					return ""
				}
				return f.Message
			}
			for n := 0; ; n++ {
				text := said()
				if strings.Contains(text, postponed) {
					break
				}
				if !strings.Contains(text, "its process ended (exit status 7)") || n == restart.ManyEnds {
					t.Fatalf("call %d: %s", n, text)
				}
			}
			var wg sync.WaitGroup
			for range 50 {
				wg.Go(func() { said() })
			}
			wg.Wait()
			// Four pauses are shorter than the one after too many ends.
			if raw, err := os.ReadFile(starts); err != nil || len(raw) > restart.ManyEnds+1 {
				t.Errorf("%d starts, %v", len(raw), err)
			}
		})
	}
}

// What floods stderr or answers more than a message may hold is contained.
func TestFloodsOfHooks(t *testing.T) {
	h := open(t, helloToml+"[hooks.h]\nplugin = \"testhook\"\ntimeout = \"60s\"\nconfig = { before = \"flood\" }\n")
	if got := greeting(t, h, `{"name":"x"}`); got != "Salve, x!" {
		t.Error(got)
	}
	h = open(t, helloToml+"[hooks.h]\nplugin = \"testhook\"\ntimeout = \"60s\"\nconfig = { before = \"huge\" }\n")
	f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
	if f.Class != failure.ServerError || f.Delivery != failure.NotSent || !strings.Contains(f.Message, "the hook h (") || len(f.Message) > 1000 {
		t.Errorf("%v %v %.300s", f.Class, f.Delivery, f.Message)
	}
}

// What a hook writes is kept, and its secrets are not, there or in failures.
func TestLogOfAHook(t *testing.T) {
	const secret = "s3cret-of-the-hook-0123456789"
	opt := options(t, helloToml+"[hooks.h]\nplugin = \"testhook\"\nenv = { HOOK_TOKEN = \""+secret+"\" }\nconfig = { before = \"tell\" }\n[host.telemetry]\naudit = true\n")
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	f := mustFail(t, h, host.Request{Tool: "hello/greet", Arguments: json.RawMessage(`{"name":"x"}`)})
	if strings.Contains(f.Message, secret) || !strings.Contains(f.Message, "does not work: nobody takes [env.HOOK_TOKEN]") {
		t.Errorf("the failure is %s", f.Message)
	}
	path := h.Hooks(t.Context())[0].LogFile
	if err := h.Close(); err != nil { // the log is whole then
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(raw), secret) || !strings.Contains(string(raw), "the token is [env.HOOK_TOKEN]") {
		t.Errorf("%v, the log is\n%s", err, raw)
	}
	records, err := filepath.Glob(filepath.Join(opt.StateDir, "audit*"))
	if err != nil || len(records) != 1 {
		t.Fatalf("%v %v", records, err)
	}
	if raw, err = os.ReadFile(records[0]); err != nil || !strings.Contains(string(raw), `"server-error"`) || strings.Contains(string(raw), secret) {
		t.Errorf("%v, the audit log is\n%s", err, raw)
	}
}

// A hook may set very many servers, and one whose plugin is a path, which is pinned as
// one that a file names.
func TestHookSetsManyServers(t *testing.T) {
	var entries strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&entries, "s%d = { plugin = \"hello\" }\n", i)
	}
	h := open(t, "[hooks.h]\nplugin = \"testhook\"\ntimeout = \"60s\"\n[hooks.h.config.set]\nbypath = { plugin = \""+filepath.ToSlash(filepath.Join(built, "collet-plugin-hello"))+"\" }\n"+entries.String())
	if n := len(h.Servers()); n != 3001 {
		t.Errorf("%d servers, %v", n, h.Problems())
	}
	res := mustCall(t, h, "bypath/greet", `{"name":"x"}`)
	if got := gjson.GetBytes(res.JSON, "content.0.text").String(); !strings.HasSuffix(got, ", x!") {
		t.Error(got)
	}
}
