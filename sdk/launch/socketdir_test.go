//go:build unix

package launch

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Every place that a system or a user may have for sockets, and one that works.
func TestSocketDirectories(t *testing.T) {
	long := filepath.Join("/tmp", strings.Repeat("x", 90)) // MkdirTemp and TempDir would use it
	t.Cleanup(func() { _ = os.RemoveAll(long) })
	if err := os.MkdirAll(long, 0o755); err != nil {
		t.Fatal(err)
	}
	short, err := os.MkdirTemp("/tmp", "xdg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	own := "/tmp/collet-" + strconv.Itoa(os.Getuid())
	if _, err := os.Stat("/dev/shm"); err == nil {
		own = "/dev/shm/collet-" + strconv.Itoa(os.Getuid())
	}
	for _, test := range []struct{ name, runtimeDir, tmpDir, want string }{
		{"XDG_RUNTIME_DIR", short, "/tmp", short + "/collet"},
		{"unset", "", "/tmp", own},
		{"long TMPDIR", "", long + "/" + strings.Repeat("y", 24), own},
		{"long XDG_RUNTIME_DIR", long, "/tmp", own},
		{"missing XDG_RUNTIME_DIR", short + "/nowhere", "/tmp", own},
		{"relative XDG_RUNTIME_DIR", "run", "/tmp", own},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("XDG_RUNTIME_DIR", test.runtimeDir)
			t.Setenv("TMPDIR", test.tmpDir)
			old := unix.Umask(0)
			defer unix.Umask(old)
			p := start(t, "")
			dir := p.runner.socketDir
			if filepath.Dir(filepath.Dir(dir)) != test.want {
				t.Errorf("sockets are in %s, want %s", dir, test.want)
			}
			for _, private := range []string{dir, filepath.Dir(dir), test.want} {
				if info, err := os.Stat(private); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%s: %v, %v", private, info.Mode(), err)
				}
			}
			if _, err := p.ServeHost(&testHost{}); err != nil {
				t.Error(err)
			}
			if err := p.Stop(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Dir(dir)); !os.IsNotExist(err) {
				t.Errorf("%s is left (%v)", filepath.Dir(dir), err)
			}
		})
	}
}

func TestSocketDirectoryErrors(t *testing.T) {
	base := t.TempDir()
	long := filepath.Join(base, strings.Repeat("x", maxSocketDir))
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := makeSocketDir([]string{long, file})
	if err == nil {
		t.Fatal("made a directory")
	}
	for _, text := range []string{long, "at most 65", file} {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("the error lacks %q: %v", text, err)
		}
	}
	link := filepath.Join("/tmp", "launch-link-"+strconv.Itoa(os.Getpid()))
	if err := os.Symlink(base, link); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(link) })
	if dir, err := makeSocketDir([]string{link}); err == nil {
		dir.remove()
		t.Error("followed somebody's symbolic link")
	}
}

// The directory of a host is removed when nobody holds its lock, also that of one
// whose pid is in use again; what is not a host's stays.
func TestSweepDead(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "sweep")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	dead := filepath.Join(base, "1") // pid 1 lives, and made no such directory
	if err := os.MkdirAll(filepath.Join(dead, "plugin-dir1"), 0o700); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * settleTime)
	if err := os.Chtimes(dead, old, old); err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{"control", "1.x", "-1", "2.3.4"} {
		if err := os.Mkdir(filepath.Join(base, other), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(filepath.Join(base, other), old, old); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if _, err := os.Stat(filepath.Join(base, other)); err != nil {
				t.Errorf("what is no host's: %v", err)
			}
		}()
	}
	fresh := filepath.Join(base, "2") // its host may just be about to lock it
	if err := os.Mkdir(fresh, 0o700); err != nil {
		t.Fatal(err)
	}
	// However long this process is kept waiting, it stays fresh.
	if later := time.Now().Add(time.Hour); os.Chtimes(fresh, later, later) != nil {
		t.Fatal("cannot set the directory's time")
	}
	first, err := lockDirIn(base)
	if err != nil {
		t.Fatal(err)
	}
	second, err := lockDirIn(base) // as a host with our pid in another container
	if err != nil {
		t.Fatal(err)
	}
	if first.path == second.path {
		t.Errorf("two hosts share %s", first.path)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the dead host's directory: %v", err)
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("a directory just made: %v", err)
	}
	if _, err := os.Stat(first.path); err != nil {
		t.Error(err)
	}
	first.remove()
	second.remove()
}

// Hosts that start at the same moment sweep while the others make theirs.
func TestSocketDirectoryWhileOthersSweep(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "sweep")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	done := make(chan struct{})
	var others sync.WaitGroup
	defer others.Wait()
	defer close(done)
	others.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				sweepDead(base)
			}
		}
	})
	for range 2000 {
		dir, err := lockDirIn(base)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(dir.path); err != nil {
			t.Fatalf("it is gone: %v", err)
		}
		dir.remove()
	}
}
