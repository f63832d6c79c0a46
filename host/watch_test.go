package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/collet-dev/collet/host"
)

// follower is a host that watches its files, and what a test waits for.
type follower struct {
	t       *testing.T
	h       *host.Host
	changed chan struct{}
}

func follow(t *testing.T, opt host.Options) *follower {
	t.Helper()
	opt.Watch = true
	h, err := host.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	f := &follower{t, h, make(chan struct{}, 1)}
	cancel := h.Subscribe(func(e host.Event) {
		if e.ConfigChanged != nil {
			select {
			case f.changed <- struct{}{}:
			default:
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// servers are the names of all servers, and the problems.
func (f *follower) String() string {
	var names, problems []string
	for _, s := range f.h.Servers() {
		names = append(names, s.Name)
	}
	for _, p := range f.h.Problems() {
		problems = append(problems, p.Error())
	}
	return fmt.Sprintf("%s; %s", strings.Join(names, " "), strings.Join(problems, ", "))
}

// becomes waits until the configuration is one that ok accepts.
func (f *follower) becomes(want string, ok func(now string) bool) {
	f.t.Helper()
	deadline := time.After(patience)
	for {
		now := f.String()
		if ok(now) {
			return
		}
		select {
		case <-f.changed:
		case <-deadline:
			f.t.Fatalf("it is %q, want %s", now, want)
		}
	}
}

func (f *follower) is(now string) {
	f.t.Helper()
	f.becomes(now, func(is string) bool { return is == now })
}

func (f *follower) holds(parts ...string) {
	f.t.Helper()
	f.becomes(strings.Join(parts, " and "), func(is string) bool {
		for _, p := range parts {
			if !strings.Contains(is, p) {
				return false
			}
		}
		return true
	})
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

func TestWatchNamedFile(t *testing.T) {
	opt := options(t, "[servers.a]\nplugin='hello'\n")
	file := opt.ConfigFiles[0]
	f := follow(t, opt)
	f.is("a; ")
	put(t, file, "[servers.a]\nplugin='hello'\n[servers.b]\nplugin='hello'\n")
	f.is("a b; ")
	put(t, file, "[servers.a]\nplugin='hello'\n[servers.b]\nplugn='hello'\n[servers.c]\nplugin='hello'\n")
	f.holds("a b c; ", ":4: servers.b.plugn: ")
	put(t, file, "[servers.a]\nplugin='hello'\n[servers.d\n")
	f.holds("a b c; ", file+":3:", "its previous content stays in effect")
	put(t, file, "[servers.a\n") // still the same good one
	f.holds("a b c; ", file+":1:", "its previous content stays in effect")
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	f.holds("a b c; ", "cannot be read", "its previous content stays in effect")
	put(t, file, "[servers.d]\nplugin='hello'\n")
	f.is("d; ")
}

// A server that is not concerned goes on; one whose settings changed gets them.
func TestWatchRestartsWhatChanged(t *testing.T) {
	text := func(greeting, other string) string {
		return fmt.Sprintf("[servers.a]\nplugin='hello'\nconfig={greeting='%s'}\n[servers.b]\nplugin='hello'\n%s", greeting, other)
	}
	opt := options(t, text("Ave", ""))
	f := follow(t, opt)
	greeting := func() string {
		res := mustCall(t, f.h, "a/greet", `{"name":"x"}`)
		return gjson.GetBytes(res.JSON, "content.0.text").String()
	}
	if got := greeting(); got != "Ave, x!" {
		t.Fatal(got)
	}
	mustCall(t, f.h, "b/greet", `{"name":"x"}`)
	pid := f.h.Servers()[1].Pid
	put(t, opt.ConfigFiles[0], text("Salve", "timeout='9s'\n[servers.c]\nplugin='hello'\n"))
	f.is("a b c; ")
	if got := greeting(); got != "Salve, x!" {
		t.Errorf("the changed server says %q", got)
	}
	if now := f.h.Servers()[1].Pid; now != pid || pid == 0 {
		t.Errorf("the other one was restarted: %d became %d", pid, now)
	}
}

func TestWatchLayersAndTrust(t *testing.T) {
	root := t.TempDir()
	if real, err := filepath.EvalSymlinks(root); err == nil {
		root = real
	}
	user, project := filepath.Join(root, "config", "mcp.toml"), filepath.Join(root, "repo", "mcp.toml")
	deep := filepath.Join(root, "repo", "deep")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	places := host.Places{UserFile: user, Dir: deep, StateDir: filepath.Join(root, "state")}
	opt := options(t, "")
	opt.ConfigFiles, opt.Layers, opt.Places = nil, host.Discover(places).Sources(), places
	put(t, user, "[servers.u]\nplugin='hello'\n") // after it was looked for, before Open
	f := follow(t, opt)
	f.is("u; ")

	trust := func() {
		t.Helper()
		if err := host.Discover(places).Trust(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	put(t, project, "[servers.p]\nplugin='hello'\n")
	put(t, user, "[servers.u]\nplugin='hello'\n[servers.v]\nplugin='hello'\n")
	f.is("u v; ") // and not p, which nobody trusts
	trust()
	f.is("p u v; ")

	put(t, project, "[servers.evil]\nplugin='hello'\n[servers.u]\nenabled=false\n")
	f.holds("p u v; ", project+": has changed and is not trusted", "its previous content stays in effect")
	put(t, user, "[servers.u]\nplugin='hello'\n")
	f.holds("p u; ", "is not trusted")
	trust()
	f.is("evil u; ")
	if s := f.h.Servers()[1]; s.State != "disabled" {
		t.Errorf("u is %s", s.State)
	}

	// What is not trusted any more has no effect, whatever it said before.
	put(t, filepath.Join(root, "state", "trust.json"), `{"version":1,"files":[]}`)
	f.is("u; ")
	trust()
	f.is("evil u; ")
	if err := os.Remove(project); err != nil {
		t.Fatal(err)
	}
	f.is("u; ")
	put(t, user, "[servers")
	f.holds("u; ", "its previous content stays in effect")
	if err := os.Remove(user); err != nil {
		t.Fatal(err)
	}
	f.is("; ")
}

// A burst of writes is taken over as a few changes, the last of which counts.
func TestWatchBurst(t *testing.T) {
	opt := options(t, "")
	f := follow(t, opt)
	events := 0
	cancel := f.h.Subscribe(func(e host.Event) {
		if e.ConfigChanged != nil {
			events++
		}
	})
	for i := range 100 {
		put(t, opt.ConfigFiles[0], fmt.Sprintf("[servers.s%d]\nplugin='hello'\n", i))
	}
	f.is("s99; ")
	cancel()
	if events > 10 {
		t.Errorf("100 writes were %d changes", events)
	}
}
