package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/collet-dev/collet/host/internal/lockfile"
	"github.com/collet-dev/collet/host/internal/sharedfile"
)

// slack is how much larger, in bytes, than the present file a reservation is: new
// tokens may be longer than those that they replace, and another process may add a
// credential meanwhile.
const slack = 16 << 10

// Reserved is room for the next file of a store. It is on the disk already, so that
// neither a full disk nor one that cannot be written comes as a surprise later.
type Reserved struct {
	store *Store
	path  string
}

// Reserve writes a file at path, which has to be in the store's directory, as large as
// the store's next file can become. Nobody else may use the path at the same time. One
// that a killed process left there is replaced. Release must follow.
func (s *Store) Reserve(ctx context.Context, path string) (*Reserved, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	if err != nil {
		return nil, s.unusable(err)
	}
	data, err := s.encode(c)
	if err != nil {
		return nil, err
	}
	// Random bytes, because some file systems keep zeros without any space for them.
	room := make([]byte, len(data)+slack)
	rand.Read(room)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = file.Write(room)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		os.Remove(path)
		return nil, err
	}
	return &Reserved{s, path}, nil
}

// Change is Store.Change into the room that is reserved, which is used up by it.
func (r *Reserved) Change(ctx context.Context, change func(*Contents) error) error {
	return r.store.change(ctx, change, func(data []byte) error {
		if err := r.fill(data); err == nil {
			return nil
		}
		// The file has outgrown its room, or the file system wants new space for what is
		// written over. The room is given back, and the usual way may do.
		r.Release()
		return r.store.place(data)
	})
}

// fill writes the store's file over the room, and puts it in the place of the old one.
func (r *Reserved) fill(data []byte) error {
	file, err := os.OpenFile(r.path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteAt(data, 0)
	if err = errors.Join(err, file.Truncate(int64(len(data))), file.Sync(), file.Close()); err != nil {
		return err
	}
	return sharedfile.Rename(os.Rename, r.path, r.store.Path)
}

// Release gives the room back; nothing when it was used.
func (r *Reserved) Release() { os.Remove(r.path) }

// lock takes the lock under which the store's file is written.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	if !filepath.IsAbs(s.Path) {
		return nil, s.unusable(errors.New("the path is not absolute; is there a home directory?"))
	}
	if err := os.MkdirAll(filepath.Dir(s.Path), 0o700); err != nil {
		return nil, s.unusable(err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err = lockfile.Lock(ctx, s.Path+".lock")
	if err != nil {
		return nil, fmt.Errorf("the credentials in %s cannot be changed: %w", s.Path, err)
	}
	return unlock, nil
}
