package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/collet-dev/collet/host/internal/lockfile"
)

// Place is where the host of one configuration is found.
type Place struct {
	Dir  string // absolute, of the user alone
	Name string // stands for the configuration
}

// ErrOwned is that another process has the place.
var ErrOwned = errors.New("another process is the host of this configuration")

// maxSocket is what fits into the address of a unix socket on the system with the
// least room (macOS, sun_path).
const maxSocket = 103

// PlaceOf is the place of the configuration that name stands for, hex digits, for
// hosts that keep their files in stateDir.
func PlaceOf(stateDir, name string) Place {
	p := Place{Name: name[:min(len(name), 20)]}
	all := places(stateDir)
	for _, p.Dir = range all[:len(all)-1] {
		if len(p.socket()) <= maxSocket && mayHave(p.Dir) {
			return p
		}
	}
	p.Dir = all[len(all)-1]
	return p
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// mayHave reports whether a directory can be used, as it is or once it was made. All
// processes of a user in one environment come to the same answer.
func mayHave(dir string) bool {
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil:
			return info.IsDir() && writable(dir)
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return false
		}
		dir = filepath.Dir(dir)
	}
}

// Busy reports whether there may be a host here: a look that costs next to nothing.
func (p Place) Busy() bool {
	entries, err := os.ReadDir(p.Dir)
	return err == nil && len(entries) > 0
}

// transport is how processes of one user reach a host, and know that they are that.
type transport interface {
	// listen accepts connections at a place that this process has.
	listen(Place) (net.Listener, error)
	// admit makes sure of who has connected, before anything they say is looked at.
	admit(net.Conn) error
	// dial connects to the host at a place, and makes sure that it is the user's own.
	dial(context.Context, Place) (net.Conn, error)
}

func (p Place) socket() string { return filepath.Join(p.Dir, p.Name+".sock") }

// Owner has a place, as long as its process lives at most.
type Owner struct {
	place    Place
	listener net.Listener
	unlock   func()
	via      transport

	lock, socket fs.FileInfo   // the files by which it has the place
	end          sync.Once     // of that
	ended        chan struct{} // closed by it
}

// tryWait is enough to find out that a lock is held.
const tryWait = time.Millisecond

// Own takes a place. Of several processes that try, one gets it, and the others
// ErrOwned; what a dead one left there is removed.
func Own(place Place) (*Owner, error) { return own(place, native()) }

func own(place Place, via transport) (*Owner, error) {
	if err := private(place.Dir); err != nil {
		return nil, fmt.Errorf("share this host in %s: %w", place.Dir, err)
	}
	lock := filepath.Join(place.Dir, place.Name+lockSuffix)
	unlock, err := try(lock)
	if err == nil {
		// For sweep: it is in use. One that sweep has just removed is no lock.
		if err = os.Chtimes(lock, time.Now(), time.Now()); err != nil {
			unlock()
		}
	}
	if errors.Is(err, ErrOwned) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("share this host in %s: %w", place.Dir, err)
	}
	sweep(place)
	_ = os.WriteFile(lock, []byte(strconv.Itoa(pid)), 0o600) // not on Windows, which keeps others from the file
	o := &Owner{place: place, unlock: unlock, via: via, ended: make(chan struct{})}
	if o.listener, err = via.listen(place); err != nil {
		unlock()
		return nil, fmt.Errorf("share this host in %s: %w", place.Dir, err)
	}
	o.lock, _ = os.Stat(lock) // what is missing by now is found missing later
	o.socket, _ = os.Stat(place.socket())
	return o, nil
}

// has reports whether others still find this process at the place: the files are there
// that it made. Programs that tidy up remove them.
func (o *Owner) has() bool {
	same := func(path string, mine fs.FileInfo) bool {
		now, err := os.Stat(path)
		return err == nil && mine != nil && os.SameFile(now, mine)
	}
	return same(filepath.Join(o.place.Dir, o.place.Name+lockSuffix), o.lock) && same(o.place.socket(), o.socket)
}

// Holder is the process that has a place, where the system can say that.
func Holder(place Place) (pid int, ok bool) {
	path := filepath.Join(place.Dir, place.Name+lockSuffix)
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	if pid, err = strconv.Atoi(string(text)); err != nil || !runs(pid) {
		return 0, false
	}
	unlock, err := try(path)
	if err == nil {
		unlock()
	}
	return pid, errors.Is(err, ErrOwned)
}

const (
	lockSuffix = ".lock"
	// abandoned is the age at which the lock of a place that nobody has is removed: each
	// configuration and environment has a place of its own.
	abandoned = 24 * time.Hour
)

// try takes a lock that nobody has.
func try(path string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), tryWait)
	defer cancel()
	unlock, err = lockfile.Lock(ctx, path)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, ErrOwned
	}
	return unlock, err
}

// sweep removes what the dead have left beside mine.
func sweep(mine Place) {
	locks, _ := filepath.Glob(filepath.Join(mine.Dir, "*"+lockSuffix))
	for _, lock := range locks {
		name := strings.TrimSuffix(filepath.Base(lock), lockSuffix)
		info, err := os.Stat(lock)
		if err != nil || name == mine.Name || time.Since(info.ModTime()) < abandoned {
			continue
		}
		if unlock, err := try(lock); err == nil {
			_ = os.Remove(Place{mine.Dir, name}.socket())
			_ = os.Remove(lock)
			unlock()
		}
	}
}

// Release lets go of the place. Those who are connected stay.
func (o *Owner) Release() {
	o.end.Do(func() {
		close(o.ended)
		o.listener.Close()
		_ = os.Remove(o.place.socket()) // while the lock is held it is ours
		o.unlock()
	})
}

// forsake is Release of a place whose files are not those of this process any more.
func (o *Owner) forsake() {
	o.end.Do(func() {
		close(o.ended)
		o.listener.Close()
		o.unlock()
	})
}

func private(dir string) error {
	if err := makeDir(dir); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errors.New("it is no directory")
	}
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	if opened, err := file.Stat(); err != nil || !os.SameFile(info, opened) {
		return errors.Join(errors.New("it was replaced meanwhile"), err)
	}
	return owned(file)
}

// places are the directories that may have sockets, best first; the last is short.
func places(stateDir string) []string {
	var dirs []string
	// A runtime directory that is not there is not ours to make.
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && isDir(dir) {
		dirs = append(dirs, filepath.Join(dir, "collet", "control"))
	}
	return append(dirs, filepath.Join(stateDir, "run"), cmp.Or(shortDir(), filepath.Join(os.TempDir(), "collet-run")))
}
