//go:build unix

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// maxSameName bounds how many hosts with our pid may share a base directory:
// containers with a pid namespace of their own can.
const maxSameName = 16

// socketBases are the directories in which a host makes its own, best first.
// TMPDIR is none: on macOS and in build systems it is too long for sockets.
// /dev/shm, where there is one, is memory: a socket is made in it several times as
// fast as on a disk, and a start makes some.
func socketBases() []string {
	var bases []string
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		bases = append(bases, filepath.Join(dir, "collet"))
	}
	own := "collet-" + strconv.Itoa(os.Getuid())
	return append(bases, "/dev/shm/"+own, "/tmp/"+own)
}

// lockedDir is a directory that counts as in use while its lock is held. The
// lock ends with the process, however that ends, and unlike a pid it means the
// same in every container.
type lockedDir struct {
	path string
	lock *os.File
}

// lockDirIn makes this host's directory in base, which it also makes, and
// removes what dead hosts left there.
func lockDirIn(base string) (*lockedDir, error) {
	name := filepath.Join(base, strconv.Itoa(os.Getpid()))
	if err := checkSocketDir(name + ".00"); err != nil {
		return nil, err
	}
	if err := makePrivate(base); err != nil {
		return nil, err
	}
	sweepDead(base)
	for i := range maxSameName {
		path := name
		if i > 0 {
			path += "." + strconv.Itoa(i)
		}
		dir, err := lockDir(path)
		if err != nil {
			return nil, err
		}
		if dir != nil {
			return dir, nil
		}
	}
	return nil, fmt.Errorf("%s and %d more names like it belong to other hosts", name, maxSameName-1)
}

// lockDir makes and locks path. It returns nil when another host has it.
func lockDir(path string) (*lockedDir, error) {
	err := makePrivate(path)
	var f *os.File
	if err == nil {
		f, err = os.Open(path)
	}
	if os.IsNotExist(err) {
		return nil, nil // a sweeping host was quicker
	}
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == unix.EWOULDBLOCK {
		_ = f.Close()
		return nil, nil
	}
	// A sweeping host may have removed the directory before it was locked.
	locked, lockedErr := f.Stat()
	named, namedErr := os.Lstat(path)
	if lockedErr != nil || namedErr != nil || !os.SameFile(locked, named) {
		_ = f.Close()
		return nil, nil
	}
	return &lockedDir{path: path, lock: f}, nil
}

func (d *lockedDir) remove() {
	_ = os.RemoveAll(d.path)
	_ = d.lock.Close()
}

// makePrivate makes a directory that only we may enter, or checks that the one
// that is there is ours and makes it so.
func makePrivate(path string) error {
	// Not MkdirAll: a runtime directory that is not there is not ours to make.
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	var stat unix.Stat_t
	if err := unix.Lstat(path, &stat); err != nil {
		return &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	if !info.IsDir() || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a directory of user %d: somebody else made it, remove it", path, os.Getuid())
	}
	if info.Mode().Perm() != 0o700 {
		return os.Chmod(path, 0o700)
	}
	return nil
}

// settleTime is how old a directory has to be before it counts as left behind: its
// host may just be about to lock it.
const settleTime = 10 * time.Second

// sweepDead removes the directories in base whose hosts are gone. What else lies in
// base is others': the running host's sockets, in a runtime directory.
func sweepDead(base string) {
	entries, err := os.ReadDir(base)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !ofHost(entry.Name()) {
			continue
		}
		path := filepath.Join(base, entry.Name())
		f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		info, err := f.Stat()
		if err == nil && time.Since(info.ModTime()) > settleTime && unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.RemoveAll(path)
		}
		_ = f.Close()
	}
}

// ofHost reports whether lockDirIn gives directories such a name: PID or PID.N.
func ofHost(name string) bool {
	pid, n, numbered := strings.Cut(name, ".")
	_, err := strconv.ParseUint(pid, 10, 64)
	if err == nil && numbered {
		_, err = strconv.ParseUint(n, 10, 64)
	}
	return err == nil
}
