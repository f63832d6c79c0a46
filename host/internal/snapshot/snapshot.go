// Package snapshot keeps what each server offered when it was last asked: its
// tools, and what it said of itself. There is one file for each server of a
// configuration. It counts only for the settings and the plugin that it was made
// with, and one that is damaged, or of another version, counts as none.
//
// It never asks a server anything, knows nothing of which settings there are, and
// starts no goroutine. Several processes may use one directory: a file is replaced
// as a whole, and the last one to write it is right.
package snapshot

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/collet-dev/collet/host/internal/catalog"
	"github.com/collet-dev/collet/host/internal/regular"
	"github.com/collet-dev/collet/host/internal/sharedfile"
	"github.com/collet-dev/collet/host/internal/statedir"
)

// Snapshot is what a server offered.
type Snapshot struct {
	// Info is what its upstream said of itself, as the adapter contract's
	// server_info; nil when it said nothing.
	Info json.RawMessage
	// Methods can be passed on to it.
	Methods []string
	// Tools are its tools in its order, byte for byte.
	Tools []catalog.Offer
	// Asked is when it last said so. Keep does not read it.
	Asked time.Time
	// Trouble is why the server could not be started since; nil when nobody tried, or
	// it could. Keep does not read it.
	Trouble *Trouble
	// Sum stands for all of what is kept in the file, byte for byte. Read sets it, and
	// Keep once it is kept.
	Sum string
}

// Trouble is a start that failed.
type Trouble struct {
	At            time.Time
	Class         string // of the failure
	Message       string // without secrets
	Misconfigured bool
}

// Key says what a snapshot is of. All but Server are opaque.
type Key struct {
	Server string // its name
	// Place tells servers of one name apart that need a file each, whatever their
	// settings are: those of several configurations.
	Place string
	// Entry stands for the settings that the server was started with. It is written
	// to the file, so it must tell nothing of them: a digest.
	Entry string
	// Plugin stands for the plugin's file, as Entry. When Read gets "", the plugin
	// cannot be looked at, and a snapshot of any counts.
	Plugin string
}

// The defaults of a Store.
const (
	MaxFile  = 64 << 20
	MaxBytes = 512 << 20
	MaxCount = 2000
	Expiry   = 90 * 24 * time.Hour
)

// Store is a directory of snapshots. Its fields are set once, before the first use.
type Store struct {
	Dir      string        // absolute; made with mode 0700 when it is missing
	MaxFile  int64         // bytes of one file; default MaxFile
	MaxBytes int64         // of all files together; default MaxBytes
	MaxCount int           // of files; default MaxCount
	Expiry   time.Duration // since the server was last asked; default Expiry
}

// Read returns the snapshot of k, or nil when there is none. The error says why a
// file cannot be used; whoever asks goes on without it.
func (s *Store) Read(k Key) (*Snapshot, error) {
	snap, err := s.read(k)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read what %s offered, kept in %s: %w", k.Server, s.Dir, err)
	}
	return snap, nil
}

func (s *Store) read(k Key) (*Snapshot, error) {
	root, err := statedir.Open(s.Dir, false)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	data, asked, err := s.load(root, k.file())
	if err != nil || time.Since(asked) >= cmp.Or(s.Expiry, Expiry) {
		return nil, err
	}
	of, snap, err := decode(data)
	if err != nil {
		return nil, err
	}
	if of.Server != k.Server || of.Entry != k.Entry || k.Plugin != "" && of.Plugin != k.Plugin {
		return nil, nil
	}
	snap.Asked, snap.Trouble, snap.Sum = asked, s.trouble(root, k, asked), sumOf(data)
	return snap, nil
}

func (s *Store) load(root *os.Root, name string) (data []byte, asked time.Time, err error) {
	file, err := regular.In(root, name, os.O_RDONLY, 0)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, time.Time{}, err
	}
	if info.Size() > cmp.Or(s.MaxFile, MaxFile) {
		return nil, time.Time{}, errors.New("it is no file that was kept here")
	}
	data = make([]byte, info.Size()) // a file never grows: it is replaced
	_, err = io.ReadFull(file, data)
	return data, info.ModTime(), err
}

// Keep replaces the snapshot of k's server, or, when it says the same already,
// notes that the server still says so. When the new one cannot be kept, the one
// before is not kept either: it would be wrong.
func (s *Store) Keep(k Key, snap *Snapshot) error {
	if err := s.keep(k, snap); err != nil {
		return fmt.Errorf("keep what %s offers in %s: %w", k.Server, s.Dir, err)
	}
	return nil
}

func (s *Store) keep(k Key, snap *Snapshot) error {
	root, err := statedir.Open(s.Dir, true)
	if err != nil {
		return err
	}
	defer root.Close()
	name := k.file()
	snap.Sum = ""
	data, err := encode(k, snap)
	if limit := cmp.Or(s.MaxFile, MaxFile); err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("it needs %d bytes, and %d are allowed", len(data), limit)
	}
	if err != nil {
		return errors.Join(err, remove(root, name), remove(root, k.troubleFile()), remove(root, k.verdictsFile()))
	}
	if before, _, err := s.load(root, name); err == nil && bytes.Equal(before, data) {
		now := time.Now()
		snap.Sum = sumOf(data)
		return errors.Join(root.Chtimes(name, now, now), remove(root, k.troubleFile()))
	}
	if err := replace(root, name, data); err != nil {
		return err
	}
	snap.Sum = sumOf(data)
	return errors.Join(remove(root, k.troubleFile()), remove(root, k.verdictsFile()), s.makeRoom(root, name))
}

// replace puts a whole file in the place of another.
func replace(root *os.Root, name string, data []byte) error {
	part := name + "-" + strings.ToLower(rand.Text()) + partSuffix
	err := write(root, part, data)
	if err == nil {
		err = sharedfile.Rename(root.Rename, part, name)
	}
	if err != nil {
		return errors.Join(err, remove(root, part))
	}
	return nil
}

// write makes a new file. Who reads it while the machine loses power finds it cut
// off, and knows by its sum.
func write(root *os.Root, name string, data []byte) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Close())
}

func remove(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// file is the name of a snapshot's file. The server's name is in its digest, too:
// not every file system tells capitals apart.
func (k Key) file() string {
	sum := sha256.Sum256([]byte(k.Server + "\x00" + k.Place))
	return k.Server + "-" + hex.EncodeToString(sum[:8]) + suffix
}

const (
	suffix     = ".snapshot"
	trouble    = ".trouble"  // behind a snapshot's name
	verdicts   = ".verdicts" // likewise
	partSuffix = ".part"
)
