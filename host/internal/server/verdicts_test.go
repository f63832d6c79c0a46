package server

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/schema"
	"github.com/collet-dev/collet/host/internal/snapshot"
)

const (
	sound   = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	outward = `{"$ref":"https://example.com/schema"}`
)

// verdicts has the schemas of v's tools looked at, and says which are not checked and
// how many of them had to be compiled for that.
func (v *supervised) verdicts(t *testing.T) (unchecked string, compiled uint64) {
	t.Helper()
	before := schema.Compiled()
	tools, _ := v.Tools()
	for _, tool := range tools {
		if tool.Unchecked() != "" {
			unchecked += tool.Name
		}
	}
	return unchecked, schema.Compiled() - before
}

func TestVerdictsAreKept(t *testing.T) {
	k := newKeeper(t)
	schemas := map[string]string{"a": sound, "b": outward, "c": sound}
	host := func() *supervised {
		v := k.host(t, &config.Server{Command: "x"})
		v.tools, v.input = []string{"a", "b", "c"}, schemas
		return v
	}
	end := func(v *supervised) {
		t.Helper()
		if err := v.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	// ask is a host that asks the server, look one that looks at what it said.
	ask := func(when string, want string, most uint64) {
		t.Helper()
		v := host()
		v.Recall(t.Context())
		if err := v.Ready(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		if got, n := v.verdicts(t); got != want || n != most {
			t.Errorf("asked %s: %q are unchecked, %d schemas were compiled; want %q, %d", when, got, n, want, most)
		}
		end(v)
	}
	look := func(when string, want string, most uint64) {
		t.Helper()
		v := host()
		v.Recall(t.Context())
		if got, n := v.verdicts(t); got != want || n != most {
			t.Errorf("recalled %s: %q are unchecked, %d schemas were compiled; want %q, %d", when, got, n, want, most)
		}
		end(v)
	}
	first := host()
	before := schema.Compiled()
	if err := first.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	end(first)
	if n := schema.Compiled() - before; n != 0 {
		t.Errorf("%d schemas were compiled that nobody asked for", n)
	}
	look("for the first time", "b", 3)
	look("again", "b", 0)
	ask("with the same list", "b", 0)
	look("after it said the same", "b", 0)

	// One schema becomes another: what was said of it counts no more, and a server that
	// is asked keeps what is known of the rest.
	schemas = maps.Clone(schemas)
	schemas["a"], schemas["b"] = outward, sound
	ask("with another list", "a", 2)
	look("after it said otherwise", "a", 0)
	// Without the server having been looked at in between.
	schemas = map[string]string{"a": sound, "b": sound, "c": outward}
	v := host()
	if err := v.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	end(v)
	look("after it changed behind", "c", 3)

	// One tool alone is asked about: the others' verdicts come later.
	schemas = map[string]string{"a": outward, "b": sound, "c": sound}
	v = host()
	if err := v.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	tools, _ := v.Tools()
	if tools[0].Unchecked() == "" {
		t.Error("a is checked")
	}
	end(v)
	look("after one was", "a", 2)
	look("after all were", "a", 0)
}

// Another build, which may judge otherwise, believes nothing of what this one found,
// and whatever the file has become is found out anew.
func TestVerdictsOfOthers(t *testing.T) {
	k := newKeeper(t)
	host := func() *supervised {
		v := k.host(t, &config.Server{Command: "x"})
		v.tools, v.input = []string{"a"}, map[string]string{"a": outward}
		return v
	}
	v := host()
	if err := v.Ready(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	v.verdicts(t)
	if err := v.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := v.kept
	wrong, right := "", "it is odd"
	for what, spoil := range map[string]func(){
		"by other rules": func() {
			if err := k.store.KeepVerdicts(at.key, at.sum, "of another build", snapshot.Verdicts{&wrong}); err != nil {
				t.Fatal(err)
			}
		},
		"on another list": func() {
			if err := k.store.KeepVerdicts(at.key, "another", schema.Edition(), snapshot.Verdicts{&wrong}); err != nil {
				t.Fatal(err)
			}
		},
		"on fewer tools": func() {
			if err := k.store.KeepVerdicts(at.key, at.sum, schema.Edition(), nil); err != nil {
				t.Fatal(err)
			}
		},
		"in a torn file": func() {
			files, err := filepath.Glob(filepath.Join(k.store.Dir, "*.verdicts"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			if err := os.Truncate(files[0], 100); err != nil {
				t.Fatal(err)
			}
		},
	} {
		spoil()
		v := host()
		v.Recall(t.Context())
		if got, n := v.verdicts(t); got != "a" || n != 1 {
			t.Errorf("%s: unchecked %q, %d schemas compiled", what, got, n)
		}
		if err := v.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		mended := host()
		mended.Recall(t.Context())
		if got, n := mended.verdicts(t); got != "a" || n != 0 {
			t.Errorf("%s, after it was mended: unchecked %q, %d schemas compiled", what, got, n)
		}
	}
	// By the same rules and on the same list it is believed: that is what the above
	// has to fail by.
	if err := k.store.KeepVerdicts(at.key, at.sum, schema.Edition(), snapshot.Verdicts{&right}); err != nil {
		t.Fatal(err)
	}
	last := host()
	last.Recall(t.Context())
	if tools, _ := last.Tools(); tools[0].Unchecked() != right {
		t.Errorf("%q is what is kept, and not %q", right, tools[0].Unchecked())
	}
}
