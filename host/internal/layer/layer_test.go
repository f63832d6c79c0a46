package layer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/collet-dev/collet/host/internal/config"
	"github.com/collet-dev/collet/host/internal/trust"
)

// tree is a directory with the user's file, a project and a deep directory in it.
type tree struct{ root, user, project, deep string }

func newTree(t *testing.T) tree {
	root := Canonical(t.TempDir())
	x := tree{root, filepath.Join(root, "config", "mcp.toml"), filepath.Join(root, "repo", "mcp.toml"), filepath.Join(root, "repo", "a", "b")}
	for _, dir := range []string{filepath.Dir(x.user), x.deep} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return x
}

func (x tree) find(dir string) *Found {
	return Find(Places{User: x.user, Dir: dir, Trust: trust.Store{Path: filepath.Join(x.root, "state", "trust.json")}})
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// states is "layer state" of each file.
func states(f *Found) string {
	var out []string
	for _, file := range f.Files {
		out = append(out, string(file.Layer)+" "+string(file.State))
	}
	return strings.Join(out, ", ")
}

func sources(f *Found) string {
	var out []string
	for _, s := range f.Sources() {
		out = append(out, string(s.Layer)+"="+string(s.Data))
	}
	return strings.Join(out, ", ")
}

func TestFind(t *testing.T) {
	x := newTree(t)
	if f := x.find(x.deep); states(f) != "user absent" || f.Ignored() != nil || len(f.Sources()) > 0 || f.Trust(t.Context()) == nil {
		t.Errorf("nothing there: %s", states(f))
	}
	write(t, x.user, "u")
	write(t, x.project, "p")
	for _, dir := range []string{x.deep, filepath.Dir(x.project)} {
		f := x.find(dir)
		if states(f) != "user used, project untrusted" || sources(f) != "user=u" {
			t.Errorf("%s: %s, sources %s", dir, states(f), sources(f))
		}
		if p := f.Ignored(); p == nil || p.Path != x.project || string(p.Data) != "p" || p.Sum != trust.SumOf([]byte("p")) || p.Changed {
			t.Errorf("%s: ignored %+v", dir, p)
		}
	}
	f := x.find(x.deep)
	// What is accepted is what was read, whatever the file has become since.
	write(t, x.project, "changed")
	if err := f.Trust(t.Context()); err != nil || sources(f) != "user=u, project=p" {
		t.Fatalf("%v, sources %s", err, sources(f))
	}
	if f := x.find(x.deep); states(f) != "user used, project untrusted" || !f.Ignored().Changed {
		t.Errorf("a changed file: %s", states(f))
	}
	write(t, x.project, "p")
	if f := x.find(x.deep); states(f) != "user used, project used" || sources(f) != "user=u, project=p" || f.Ignored() != nil {
		t.Errorf("the accepted file: %s, %s", states(f), sources(f))
	}
	// The nearest file alone counts, trusted or not.
	near := filepath.Join(x.deep, "mcp.toml")
	write(t, near, "near")
	if f := x.find(x.deep); states(f) != "user used, project untrusted" || f.Ignored().Path != near {
		t.Errorf("the nearest: %s", states(f))
	}
	// The same bytes elsewhere are another file.
	write(t, near, "p")
	if f := x.find(x.deep); states(f) != "user used, project untrusted" || f.Ignored().Changed {
		t.Errorf("a copy: %s", states(f))
	}
	if f := Find(Places{Dir: x.deep}); states(f) != "project untrusted" {
		t.Errorf("without a place for the user's file: %s", states(f))
	}
	if f := Find(Places{User: x.user}); states(f) != "user used" {
		t.Errorf("without a directory: %s", states(f))
	}
}

func TestDirectoryOfThatName(t *testing.T) {
	x := newTree(t)
	write(t, x.project, "p")
	if err := os.Mkdir(filepath.Join(x.deep, "mcp.toml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if f := x.find(x.deep); f.Ignored() == nil || f.Ignored().Path != x.project {
		t.Errorf("%s", states(f))
	}
}

// A refusal is about one content, as trust is.
func TestRefuse(t *testing.T) {
	x := newTree(t)
	if x.find(x.deep).Refuse(t.Context()) == nil {
		t.Error("nothing was refused")
	}
	write(t, x.project, "p")
	if err := x.find(x.deep).Refuse(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := x.find(x.deep)
	if states(f) != "user absent, project untrusted" || !f.Ignored().Refused || f.Ignored().Changed {
		t.Errorf("%s, %+v", states(f), f.Ignored())
	}
	write(t, x.project, "q")
	if f := x.find(x.deep); f.Ignored().Refused || f.Ignored().Changed {
		t.Errorf("another content: %+v", f.Ignored())
	}
	write(t, x.project, "p")
	if err := x.find(x.deep).Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := x.find(x.deep); states(f) != "user absent, project used" {
		t.Errorf("accepted after all: %s", states(f))
	}
}

// The directory of the user's file is no project.
func TestUserFileIsNoProject(t *testing.T) {
	x := newTree(t)
	write(t, x.user, "u")
	if f := x.find(filepath.Dir(x.user)); states(f) != "user used" {
		t.Errorf("in its directory: %s", states(f))
	}
	if err := os.Symlink(x.user, x.project); err != nil {
		t.Skip(err)
	}
	if f := x.find(x.deep); states(f) != "user used" {
		t.Errorf("behind a link: %s", states(f))
	}
}

// Nothing in the working directory is taken for the user's own.
func TestRelativePlaces(t *testing.T) {
	x := newTree(t)
	t.Chdir(filepath.Dir(x.project))
	write(t, x.project, "p")
	write(t, "user.toml", "u")
	if err := x.find(x.deep).Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := Find(Places{User: "user.toml", Dir: x.deep, Trust: trust.Store{Path: "../state/trust.json"}})
	if states(f) != "user unreadable, project untrusted" || f.Ignored().Err == nil {
		t.Errorf("%s, %v", states(f), f.Ignored())
	}
}

func TestStoreOutOfOrder(t *testing.T) {
	x := newTree(t)
	write(t, x.project, "p")
	f := x.find(x.deep)
	if err := f.Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(x.root, "state", "trust.json"), "{")
	f = x.find(x.deep)
	if states(f) != "user absent, project untrusted" || f.Ignored().Err == nil || len(f.Sources()) > 0 {
		t.Errorf("%s, %v", states(f), f.Ignored())
	}
	if err := f.Trust(t.Context()); err == nil || f.Ignored() == nil {
		t.Error("trusted although it could not be kept")
	}
}

func TestUnreadable(t *testing.T) {
	x := newTree(t)
	for _, path := range []string{x.user, x.project} {
		if err := os.Symlink(filepath.Base(path), path); err != nil { // a circle
			t.Skip(err)
		}
	}
	f := x.find(x.deep)
	if states(f) != "user unreadable, project unreadable" || f.Files[0].Err == nil || f.Ignored().Err == nil || f.Trust(t.Context()) == nil {
		t.Errorf("%s", states(f))
	}
	// The user's is a fault of the configuration, the project's is nothing.
	c := config.Merge(f.Sources())
	if len(c.Problems) != 1 || c.Problems[0].File != x.user || slices.Contains(c.Files, x.project) {
		t.Errorf("problems %v", c.Problems)
	}
}
