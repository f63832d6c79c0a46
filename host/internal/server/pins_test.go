package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/pins"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/sdk/describe"
	"github.com/collet-dev/collet/sdk/failure"
	"github.com/collet-dev/collet/sdk/launch"
)

// pinned has a server's plugins found in dir, and pinned.
func pinned(t *testing.T, dir string) func(*Surroundings) {
	return func(env *Surroundings) {
		env.Plugins = plugins.Finder{Dirs: []string{dir}}
		env.Pins = &pins.Keeper{StateDir: t.TempDir(), Copies: &pins.Copies{Dir: filepath.Join(t.TempDir(), "copies")}, Trusted: []string{built}}
	}
}

// put makes a file in the place of another, as an installer does.
func put(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = errors.Join(os.RemoveAll(to), os.WriteFile(to, data, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A plugin that is swapped between the look at it and its start is not what starts;
// and the next start names it.
func TestSwappedBeforeItsStart(t *testing.T) {
	dir := t.TempDir()
	plugin := filepath.Join(dir, "collet-plugin-hello")
	put(t, filepath.Join(built, "collet-plugin-hello"), plugin)
	s, _ := open(t, `plugin = "hello"`, pinned(t, dir), func(env *Surroundings) {
		env.Describer.Run = func(ctx context.Context, path string, environ []string) (*describe.Description, error) {
			put(t, filepath.Join(built, "collet-plugin-testadapter"), plugin) // it has been looked at by now
			return launch.Describe(ctx, path, environ)
		}
	})
	mustStart(t, s)
	tool(t, s, "greet") // of the one that was looked at
	s.mu.Lock()
	s.retireLocked(s.run, "the test wants it")
	s.mu.Unlock()
	again, st := open(t, `plugin = "hello"`, func(env *Surroundings) { *env = s.env; env.Changed = nil })
	again.set.Store(s.Settings())
	f := AsFailure(again.Ready(patient(t), 0))
	if f == nil || f.Class != failure.ConsentRequired || f.Delivery != failure.NotSent ||
		!strings.Contains(f.Message, plugin) || !strings.Contains(f.Message, "'collet plugins trust hello'") {
		t.Errorf("%+v %s", f, st.list())
	}
	if in := again.Inspect(t.Context()); in.Step != StepPin || in.PluginFile != plugin {
		t.Errorf("looked at it is %+v", in)
	}
}

// A script has to run where it is: one that changes while it is being started is
// stopped, and named.
func TestScriptSwappedWhileItStarts(t *testing.T) {
	dir := t.TempDir()
	plugin := filepath.Join(dir, "collet-plugin-script")
	script := "#!/bin/sh\nexec " + filepath.Join(built, "collet-plugin-testadapter") + ` "$@"` + "\n"
	if err := os.WriteFile(plugin, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	swap := false
	s, _ := open(t, `plugin = "script"`, pinned(t, dir), func(env *Surroundings) {
		env.Describer.Run = func(ctx context.Context, path string, environ []string) (*describe.Description, error) {
			if path != plugin {
				t.Errorf("%s is described", path)
			}
			d, err := launch.Describe(ctx, path, environ)
			if swap {
				if err := os.WriteFile(plugin, []byte(script+"# longer\n"), 0o755); err != nil {
					t.Error(err)
				}
			}
			return d, err
		}
		env.Describer.CacheDir = ""
	})
	mustStart(t, s)
	swap = true
	again, _ := open(t, `plugin = "script"`, func(env *Surroundings) { *env = s.env; env.Changed = nil })
	again.set.Store(s.Settings())
	f := AsFailure(again.Ready(patient(t), 0))
	if f == nil || f.Class != failure.ConsentRequired || !strings.Contains(f.Message, "changed while it was being started") {
		t.Errorf("%+v", f)
	}
}

func toolsNamed(s *Server) (names []string) {
	tools, _ := s.Tools()
	for _, t := range tools {
		names = append(names, t.Name)
	}
	return names
}

// A tool that its server rewrites while it runs is marked, and withheld when the
// configuration says so; a person's word ends that.
func TestRewrittenTool(t *testing.T) {
	var listed []string
	s, _ := open(t, "command = \"${BUILT}/faultserver\"\n", pinned(t, built), func(env *Surroundings) {
		env.Listed = func(name string) { listed = append(listed, name) }
	})
	mustStart(t, s)
	if s.Rewritten("rug") || s.Withheld() != nil {
		t.Fatal("rewritten at first use")
	}
	if _, err := do(t, s, "x_rug", `{}`); err != nil {
		t.Fatal(err)
	}
	if err := s.Refresh(patient(t)); err != nil {
		t.Fatal(err)
	}
	if !s.Rewritten("rug") || s.Rewritten("x_rug") || s.Withheld() != nil || !slices.Contains(toolsNamed(s), "rug") {
		t.Fatalf("rewritten=%v, withheld %v under warn", s.Rewritten("rug"), s.Withheld())
	}
	block := *s.Settings()
	block.OnChange = "block"
	s.Apply(&block)
	if got := s.Withheld(); len(got) != 1 || got[0].Name != "rug" || slices.Contains(toolsNamed(s), "rug") || !s.IsWithheld("rug") {
		t.Fatalf("withheld %v of %v under block", got, toolsNamed(s))
	}
	if _, gone := s.Withdrawn("rug"); gone {
		t.Error("what is withheld counts as withdrawn")
	}
	digests, rewritten, fault := s.Approval()
	if fault != nil || !slices.Equal(rewritten, []string{"rug"}) {
		t.Fatal(rewritten, fault)
	}
	listed = nil
	s.Reconsider()
	if len(listed) != 0 {
		t.Error("told of a list that is the same")
	}
	if err := s.env.Pins.AcceptTools(t.Context(), home(s.Settings()), "s", map[string]string{"rug": digests["rug"]}); err != nil {
		t.Fatal(err)
	}
	s.Reconsider()
	if s.Rewritten("rug") || s.Withheld() != nil || !slices.Contains(toolsNamed(s), "rug") || len(listed) != 1 {
		t.Errorf("accepted, it is withheld still: %v, told %v", s.Withheld(), listed)
	}
}

// With pins that cannot be used no tool is used under block, and every one under warn.
func TestDamagedPinsOfTools(t *testing.T) {
	s, _ := open(t, "command = \"${BUILT}/faultserver\"\n", pinned(t, built))
	lock := s.env.Pins.File(home(s.Settings())).Path
	if err := os.WriteFile(lock, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	mustStart(t, s)
	if len(toolsNamed(s)) == 0 {
		t.Error("no tools under warn")
	}
	if _, _, fault := s.Approval(); fault == nil || !strings.Contains(fault.Error(), lock) {
		t.Errorf("it does not say why: %v", fault)
	}
	block := *s.Settings()
	block.OnChange = "block"
	s.Apply(&block)
	if got := toolsNamed(s); len(got) != 0 {
		t.Errorf("under block there are %v", got)
	}
	if now, err := os.ReadFile(lock); err != nil || string(now) != "{" {
		t.Errorf("the damaged file was overwritten: %s", now)
	}
}

// Another host that recalls tools under block withholds those that are not what was
// accepted, before it has asked.
func TestSiftOfARecalledList(t *testing.T) {
	s := New(&config.Server{Name: "s", Dir: t.TempDir(), File: "mcp.toml", OnChange: "block"}, Surroundings{
		Pins: &pins.Keeper{StateDir: t.TempDir()}, Log: slog.New(slog.DiscardHandler),
	})
	was := catalog.New("s", catalog.Offer{Name: "a", Definition: []byte(`{"name":"a"}`)})
	now := catalog.New("s", catalog.Offer{Name: "a", Definition: []byte(`{"name":"a","description":"x"}`)})
	if a := s.review(t.Context(), s.Settings(), []*catalog.Tool{was}, true); len(a.rewritten) > 0 {
		t.Fatal(a.rewritten)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = []*catalog.Tool{now}
	s.approveLocked(s.review(t.Context(), s.Settings(), s.tools, false))
	if len(s.usable) != 0 {
		t.Error("a rewritten tool is to be used")
	}
}
