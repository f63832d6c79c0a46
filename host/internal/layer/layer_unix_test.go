//go:build unix

package layer

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/collet-dev/collet/host/internal/regular"
)

// A pipe that somebody put there is not waited for.
func TestPipe(t *testing.T) {
	x := newTree(t)
	for _, path := range []string{x.user, x.project} {
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if f := x.find(x.deep); states(f) != "user unreadable, project unreadable" || !errors.Is(f.Ignored().Err, regular.ErrOther) {
		t.Errorf("%s", states(f))
	}
}

// A directory has one name, and a file that is a link is read through it: its
// content is what was accepted, relative paths start at the link.
func TestLinks(t *testing.T) {
	x := newTree(t)
	write(t, filepath.Join(x.root, "elsewhere.toml"), "p")
	if err := os.Symlink("../elsewhere.toml", x.project); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(x.root, "link")
	if err := os.Symlink("repo", link); err != nil {
		t.Fatal(err)
	}
	f := x.find(filepath.Join(link, "a"))
	if f.Ignored() == nil || f.Ignored().Path != x.project || string(f.Ignored().Data) != "p" {
		t.Fatalf("%s %+v", states(f), f.Ignored())
	}
	if err := f.Trust(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f := x.find(x.deep); states(f) != "user absent, project used" {
		t.Errorf("by its real name: %s", states(f))
	}
	// A link that goes elsewhere is a change, and one that goes nowhere is no file.
	write(t, filepath.Join(x.root, "elsewhere.toml"), "q")
	if f := x.find(x.deep); states(f) != "user absent, project untrusted" {
		t.Errorf("changed behind the link: %s", states(f))
	}
	if err := os.Remove(filepath.Join(x.root, "elsewhere.toml")); err != nil {
		t.Fatal(err)
	}
	if f := x.find(x.deep); states(f) != "user absent" {
		t.Errorf("a dangling link: %s", states(f))
	}
}

func TestDeviceAndClosedDirectory(t *testing.T) {
	x := newTree(t)
	if err := os.Symlink("/dev/zero", x.project); err != nil {
		t.Fatal(err)
	}
	if f := x.find(x.deep); states(f) != "user absent, project unreadable" {
		t.Errorf("a device: %s", states(f))
	}
	if os.Getuid() == 0 {
		return // to whom no directory is closed
	}
	if err := os.Remove(x.project); err != nil {
		t.Fatal(err)
	}
	write(t, x.project, "p")
	if err := os.Chmod(x.project, 0); err != nil {
		t.Fatal(err)
	}
	f := x.find(x.deep)
	if states(f) != "user absent, project unreadable" || !strings.Contains(f.Ignored().Err.Error(), "permission") {
		t.Errorf("a closed file: %s", states(f))
	}
}
