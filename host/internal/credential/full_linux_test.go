package credential

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/collet-dev/collet/host/internal/credential/fakeauth"
	"github.com/collet-dev/collet/sdk/failure"
)

// tinyDisk is a file system of 256 KiB.
func tinyDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=256k,mode=700"); err != nil {
		t.Skipf("a disk of its own needs the rights of root to mount it: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// fill writes a file until there is no room.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for page := make([]byte, 4096); err == nil; {
		_, err = f.Write(page)
	}
	if !errors.Is(err, unix.ENOSPC) {
		t.Fatal(err)
	}
}

// On a full disk no token is asked for, the present one is used to its end, and nobody
// has to log in again once there is room.
func TestFullDisk(t *testing.T) {
	dir := tinyDisk(t)
	as := fakeauth.Start(t)
	var c clock
	k := openAt(t, filepath.Join(dir, "c.json"), c.now)
	s := settings(as)
	mustLogin(t, k, s)
	first := mustToken(t, k, s, Need{})
	fill(t, filepath.Join(dir, "full"))
	requests := as.Counts().TokenRequests
	c.set(59*time.Minute + 30*time.Second)
	if tok := mustToken(t, k, s, Need{}); tok != first {
		t.Errorf("%+v, want the one that is good for half a minute", tok)
	}
	c.set(61 * time.Minute)
	f := wantFailure(t, tokenError(t, k, s, Need{}), failure.AuthFailure)
	if !strings.Contains(f.Message, "cannot be kept: ") || !strings.HasSuffix(f.Message, ": no space left on device; free some and call again") {
		t.Errorf("message %q", f.Message)
	}
	if n := as.Counts().TokenRequests - requests; n != 0 {
		t.Errorf("%d requests for tokens that could not be kept", n)
	}
	if err := os.Remove(filepath.Join(dir, "full")); err != nil {
		t.Fatal(err)
	}
	c.set(61*time.Minute + coolFirst)
	tok := mustToken(t, k, s, Need{})
	if next := mustToken(t, openAt(t, k.opt.Path, c.now), s, Need{}); next != tok || !as.Accepts(next.Value) {
		t.Errorf("the next process has %+v, want %+v", next, tok)
	}
}

// A disk that fills up while the authorization server answers loses nothing: the room
// is there.
func TestDiskFillsUpMeanwhile(t *testing.T) {
	dir := tinyDisk(t)
	as := fakeauth.Start(t)
	k := openAt(t, filepath.Join(dir, "c.json"), nil)
	s := settings(as)
	mustLogin(t, k, s)
	outdate(t, as, k.opt.Path)
	as.Change(func() {
		as.After = func(int, http.ResponseWriter, *http.Request) bool {
			fill(t, filepath.Join(dir, "full"))
			return false
		}
	})
	tok := mustToken(t, k, s, Need{})
	if len(k.unsaved) != 0 {
		t.Error("it was not written")
	}
	if next := mustToken(t, openAt(t, k.opt.Path, nil), s, Need{}); next.Value != tok.Value || !as.Accepts(next.Value) {
		t.Errorf("the next process has %+v, want %+v", next, tok)
	}
}

// On a disk that cannot be written at all it is the same.
func TestReadOnlyDisk(t *testing.T) {
	dir := tinyDisk(t)
	as := fakeauth.Start(t)
	var c clock
	k := openAt(t, filepath.Join(dir, "c.json"), c.now)
	s := settings(as)
	mustLogin(t, k, s)
	requests := as.Counts().TokenRequests
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	c.set(61 * time.Minute)
	f := wantFailure(t, tokenError(t, k, s, Need{}), failure.AuthFailure)
	if !strings.Contains(f.Message, "read-only file system; make sure that collet can write there") || as.Counts().TokenRequests != requests {
		t.Errorf("message %q, counts %+v", f.Message, as.Counts())
	}
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT, "size=256k"); err != nil {
		t.Fatal(err)
	}
	c.set(61*time.Minute + coolFirst)
	if tok := mustToken(t, k, s, Need{}); !as.Accepts(tok.Value) {
		t.Errorf("%+v", tok)
	}
}
