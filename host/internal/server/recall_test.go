package server

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/plugins"
	"github.com/collet-dev/collet/host/internal/restart"
	"github.com/collet-dev/collet/host/internal/snapshot"
	"github.com/collet-dev/collet/sdk/failure"
)

// anyPlugin finds every plugin at one path.
type anyPlugin string

func (p anyPlugin) Find(string, string) (string, error) {
	if p == "" {
		return "", failure.New(failure.NotFound, failure.NotSent, "there is none")
	}
	return string(p), nil
}

// keeper is what several hosts share.
type keeper struct {
	store  *snapshot.Store
	plugin string
}

func newKeeper(t *testing.T) *keeper {
	t.Helper()
	plugin := filepath.Join(t.TempDir(), "plugin")
	if err := os.WriteFile(plugin, []byte("the plugin"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &keeper{store: &snapshot.Store{Dir: filepath.Join(t.TempDir(), "snapshots")}, plugin: plugin}
}

// host is a server of one more host that keeps there.
func (k *keeper) host(t *testing.T, set *config.Server) *supervised {
	t.Helper()
	v := supervise(t, set)
	v.took = 0
	v.env.Snapshots, v.env.Plugins, v.env.Describer = k.store, anyPlugin(k.plugin), &plugins.Describer{}
	return v
}

func (v *supervised) names() (names string, listed bool) {
	tools, listed := v.Tools()
	var all []string
	for _, t := range tools {
		all = append(all, t.Name)
	}
	return strings.Join(all, " "), listed
}

func (v *supervised) shows(t *testing.T, when, want string, wantListed bool) {
	t.Helper()
	if got, listed := v.names(); got != want || listed != wantListed {
		t.Errorf("%s: %q, listed %v; want %q, %v", when, got, listed, want, wantListed)
	}
}

func TestRecall(t *testing.T) {
	k := newKeeper(t)
	first := k.host(t, &config.Server{Command: "x"})
	first.tools = []string{"a", "b"}
	first.Recall(t.Context())
	first.shows(t, "before anything was kept", "", false)
	if err := first.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil { // waits until it is kept
		t.Fatal(err)
	}

	next := k.host(t, &config.Server{Command: "x", Timeout: time.Second})
	next.Recall(t.Context())
	next.shows(t, "recalled", "a b", false)
	if next.Introduction() == nil {
		t.Error("what it said of itself is not recalled")
	}
	if next.Settle(t.Context(), time.Now().Add(time.Minute), false) || next.Settled() {
		t.Error("what is recalled was listed")
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if next.Settle(gone, time.Now().Add(time.Minute), true) {
		t.Error("it is not asked, and nobody waits for that")
	}
	before, _ := next.Tools()
	next.tools = []string{"a", "c"}
	if err := next.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	next.shows(t, "asked", "a c", true)
	after, _ := next.Tools()
	if after[0] != before[0] {
		t.Error("a tool that did not change is made again")
	}
	if w, ok := next.Withdrawn("b"); !ok || !w.At.IsZero() || w.Tool != before[1] {
		t.Errorf("withdrawn: %v %v", w, ok)
	}
	next.Recall(t.Context())
	next.shows(t, "recalled too late", "a c", true)
	if !next.Settle(t.Context(), time.Now().Add(time.Minute), true) || !next.Settled() {
		t.Error("it was listed")
	}
	if err := next.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	// What each of them may not have from the others.
	for what, v := range map[string]*supervised{
		"with other args":               k.host(t, &config.Server{Command: "x", Args: []string{"y"}}),
		"of a file elsewhere":           k.host(t, &config.Server{Command: "x", Dir: "/elsewhere"}),
		"where somebody can be asked":   k.host(t, &config.Server{Command: "x"}),
		"with another plugin":           k.host(t, &config.Server{Command: "x"}),
		"which is as it was":            k.host(t, &config.Server{Command: "x"}),
		"whose plugin cannot be found":  k.host(t, &config.Server{Command: "x"}),
		"other, and without its plugin": k.host(t, &config.Server{Command: "y"}),
	} {
		want := ""
		switch what {
		case "where somebody can be asked":
			v.env.Asks = func() bool { return true }
		case "with another plugin":
			other := filepath.Join(t.TempDir(), "other")
			if err := os.WriteFile(other, []byte("another plugin"), 0o700); err != nil {
				t.Fatal(err)
			}
			v.env.Plugins = anyPlugin(other)
		case "which is as it was":
			want = "a c"
		case "whose plugin cannot be found":
			want = "a c"
			v.env.Plugins = anyPlugin("")
		case "other, and without its plugin":
			v.env.Plugins = anyPlugin("")
		}
		v.Recall(t.Context())
		v.shows(t, "a server "+what, want, false)
	}
}

// Under other settings there is nothing to show but what stands in while the server
// starts; and what another host knew of these.
func TestRecallUnderOtherSettings(t *testing.T) {
	k := newKeeper(t)
	v := k.host(t, &config.Server{Name: "s", Command: "x"})
	var told []string
	v.env.Listed = func(string) { n, _ := v.names(); told = append(told, n) }
	if err := v.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	for files := []string(nil); len(files) == 0; { // it is kept in the background, and the last one counts
		var err error
		if files, err = filepath.Glob(filepath.Join(k.store.Dir, "*.snapshot")); err != nil || t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	other := k.host(t, &config.Server{Command: "other"})
	other.tools = []string{"of", "other"}
	if err := other.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	v.fail = func() *Failure { return notSent(failure.ConnectionRefused, "no") }
	v.Apply(&config.Server{Name: "s", Command: "broken"})
	v.Settle(t.Context(), time.Now().Add(time.Minute), false)
	v.shows(t, "that cannot be used", "", false)
	v.Apply(&config.Server{Name: "s", Command: "other"})
	v.Recall(t.Context())
	v.shows(t, "that another host knew", "of other", false)
	if err := v.Ready(t.Context(), 0); err == nil {
		t.Error("it started")
	}
	v.shows(t, "that another host knew, but cannot be used", "of other", false)
	if _, ok := v.Withdrawn("echo"); ok {
		t.Error("other settings have withdrawn a tool")
	}
	if err := v.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"echo", "", "of other"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// Settle ends with what it waits for, with the start that fails, and with the time.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := supervise(t, &config.Server{Command: "x"})
		begun := time.Now()
		after := func(what string, want time.Duration) {
			t.Helper()
			if got := time.Since(begun); got != want {
				t.Errorf("%s: after %s, want %s", what, got, want)
			}
			begun = time.Now()
		}
		v.Settle(t.Context(), time.Now().Add(3*time.Second), false)
		after("nobody starts it", 3*time.Second)
		v.fail = func() *Failure { return notSent(failure.ConnectionRefused, "no") }
		go v.Ready(t.Context(), 0)
		if v.Settle(t.Context(), time.Now().Add(time.Minute), false) {
			t.Error("it failed")
		}
		if !v.Settled() {
			t.Error("a start that failed is none")
		}
		after("the start fails", v.took)
		v.fail = nil
		time.Sleep(restart.FirstPause)
		begun = time.Now()
		go v.Ready(t.Context(), 0)
		synctest.Wait()
		if !v.Settle(t.Context(), time.Now().Add(time.Minute), false) {
			t.Error("it is up")
		}
		after("the start succeeds", v.took)
	})
}

// What a value resolves to counts, as what is written does; commands are not run.
func TestRecallUnderOtherValues(t *testing.T) {
	k := newKeeper(t)
	env := map[string]string{"TOKEN": "one"}
	host := func() *supervised {
		v := k.host(t, &config.Server{Command: "x", Env: map[string]string{"A": "${TOKEN}", "B": "!pass"}, InheritEnv: config.InheritEnv{Names: []string{"REGION"}}})
		v.env.Resolver.Lookup = func(n string) (string, bool) { s, ok := env[n]; return s, ok }
		v.env.Resolver.Command = func(context.Context, string, string) (string, error) {
			t.Error("a command runs to look at what is kept")
			return "", nil
		}
		v.env.Environ = []string{"REGION=" + env["REGION"], "SHLVL=" + env["SHLVL"]}
		return v
	}
	first := host()
	first.tools = []string{"a"}
	if err := first.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct{ name, value, want string }{
		{"", "", "a"}, {"SHLVL", "2", "a"}, {"TOKEN", "two", ""}, {"TOKEN", "one", "a"}, {"REGION", "eu", ""},
	} {
		if step.name != "" {
			env[step.name] = step.value
		}
		v := host()
		v.Recall(t.Context())
		v.shows(t, step.name+"="+step.value, step.want, false)
	}
	delete(env, "TOKEN")
	v := host()
	v.Recall(t.Context())
	v.shows(t, "a variable that is not set", "", false)
	data, err := filepath.Glob(filepath.Join(k.store.Dir, "*"))
	if err != nil || len(data) != 1 {
		t.Fatal(data, err)
	}
	if raw, err := os.ReadFile(data[0]); err != nil || strings.Contains(string(raw), "one") {
		t.Errorf("%v: the value is in %s", err, raw)
	}
}

// Why a server did not start is told with what it offered, until it starts again.
func TestRecallWithTrouble(t *testing.T) {
	k := newKeeper(t)
	first := k.host(t, &config.Server{Command: "x"})
	first.tools = []string{"a"}
	if err := first.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	broken := k.host(t, &config.Server{Command: "x"})
	broken.fail = func() *Failure { return notSent(failure.ConnectionRefused, "it is broken") }
	if err := broken.Ready(t.Context(), 0); err == nil {
		t.Fatal("it starts")
	}
	if err := broken.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	next := k.host(t, &config.Server{Command: "x"})
	next.Recall(t.Context())
	next.shows(t, "with trouble", "a", false)
	asked, trouble, ok := next.Recalled()
	if !ok || asked.IsZero() || trouble == nil || trouble.Failure.Class != failure.ConnectionRefused || trouble.Failure.Message == "" {
		t.Errorf("%v %+v %v", asked, trouble, ok)
	}
	if err := next.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := next.Recalled(); ok {
		t.Error("it was asked")
	}
	if err := next.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := k.host(t, &config.Server{Command: "x"})
	last.Recall(t.Context())
	if _, trouble, ok := last.Recalled(); !ok || trouble != nil {
		t.Errorf("%+v %v", trouble, ok)
	}
}
