package results

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/collet-dev/collet/host/internal/statedir"
)

const (
	// young is how long a result is spared as long as an older one can go: who got
	// its handle has not had time to read it.
	young = time.Minute
	// abandoned is the age at which a file that is still being written belongs to a
	// process that died; writing takes seconds.
	abandoned = 10 * time.Minute
	// maxListed bounds how many names of the directory one look reads. Far more than
	// MaxCount are not the store's doing.
	maxListed = 20_000
)

// entry is one file of the store.
type entry struct {
	fileName
	partial bool
	size    int64
	age     time.Duration
}

func (e entry) name() string {
	if e.partial {
		return e.part()
	}
	return e.whole()
}

// list returns the store's files. One that goes away meanwhile is left out.
func list(root *os.Root) ([]entry, error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	files, err := dir.ReadDir(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	entries := make([]entry, 0, len(files))
	for _, f := range files {
		name, partial, ok := parseName(f.Name())
		if !ok {
			continue
		}
		info, err := f.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry{name, partial, info.Size(), time.Since(info.ModTime())})
	}
	return entries, nil
}

// Sweep removes what has expired. No directory is nothing to do. Put does the
// same, so that it is only needed where nothing is put any more.
func (s *Store) Sweep() error {
	root, err := statedir.Open(s.Dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := list(root)
	if err != nil {
		return err
	}
	_, err = s.dropExpired(root, entries)
	return err
}

// Usage is how many bytes the kept results take, and how many there are, expired
// ones that nobody has removed yet among them.
func (s *Store) Usage() (bytes int64, count int, err error) {
	root, err := statedir.Open(s.Dir, false)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, nil
	}
	if err != nil {
		return 0, 0, err
	}
	defer root.Close()
	entries, err := list(root)
	bytes, count = total(entries)
	return bytes, count, err
}

// dropExpired removes what has expired and returns the rest.
func (s *Store) dropExpired(root *os.Root, entries []entry) ([]entry, error) {
	var failed error
	rest := slices.DeleteFunc(entries, func(e entry) bool {
		limit := cmp.Or(s.Expiry, Expiry)
		if e.partial {
			limit = abandoned
		}
		if e.age < limit {
			return false
		}
		err := remove(root, e)
		failed = errors.Join(failed, err)
		return err == nil
	})
	return rest, failed
}

// makeRoom removes results until the file of name, which has been written, fits
// in. The caller holds the lock.
func (s *Store) makeRoom(root *os.Root, name fileName) error {
	entries, err := list(root)
	if err != nil {
		return err
	}
	// What cannot be removed still counts; whether that matters is seen below.
	entries, _ = s.dropExpired(root, entries)
	q := quota{cmp.Or(s.MaxBytes, MaxBytes), cmp.Or(s.MaxCount, MaxCount)}
	bytes, count := total(entries)
	for _, e := range q.order(entries, name) {
		if bytes <= q.bytes && count <= q.count {
			return nil
		}
		if remove(root, e) == nil {
			bytes, count = bytes-e.size, count-1
		}
	}
	if bytes > q.bytes || count > q.count {
		return fmt.Errorf("there is no room: %d results have %d bytes, %d and %d are allowed, and none can be removed", count-1, bytes, q.count, q.bytes)
	}
	return nil
}

func remove(root *os.Root, e entry) error {
	if err := root.Remove(e.name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func total(entries []entry) (bytes int64, count int) {
	for _, e := range entries {
		bytes += e.size
	}
	return bytes, len(entries)
}

// quota is how much a store may hold.
type quota struct {
	bytes int64
	count int
}

// order is the order in which results make room for the one called mine: the
// young ones last; those of its own owner first, if that owner has more than half
// of the quota, so that nobody drives out everybody else's; then by age.
func (q quota) order(entries []entry, mine fileName) []entry {
	var own int64
	var ownCount int
	order := make([]entry, 0, len(entries))
	for _, e := range entries {
		if e.owner == mine.owner {
			own, ownCount = own+e.size, ownCount+1
		}
		if !e.partial {
			order = append(order, e)
		}
	}
	greedy := own > q.bytes/2 || ownCount > q.count/2
	rank := func(e entry) int {
		switch {
		case greedy && e.owner == mine.owner && e.age >= young:
			return 0
		case e.age >= young:
			return 1
		case greedy && e.owner == mine.owner:
			return 2
		}
		return 3
	}
	slices.SortFunc(order, func(a, b entry) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.age, a.age), cmp.Compare(a.handle, b.handle))
	})
	return order
}
