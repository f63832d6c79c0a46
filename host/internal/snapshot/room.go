package snapshot

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	// abandoned is the age at which a file that is still being written belongs to a
	// process that died; writing takes seconds.
	abandoned = 10 * time.Minute
	// maxListed bounds how many names of the directory one look reads.
	maxListed = 20_000
)

// makeRoom removes what has expired, and then the snapshots of the servers that
// were asked the longest ago, until there are no more than allowed. The one called
// mine stays. Others may do the same at this moment: a file that is gone is well.
func (s *Store) makeRoom(root *os.Root, mine string) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(maxListed)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var files []fs.FileInfo
	var size int64
	var failed error
	for _, e := range entries {
		info, err := e.Info()
		limit := cmp.Or(s.Expiry, Expiry)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case strings.HasSuffix(e.Name(), partSuffix):
			limit = abandoned
		case isBeside(e.Name()): // it expires as what it is beside
		case !strings.HasSuffix(e.Name(), suffix):
			continue
		}
		if time.Since(info.ModTime()) >= limit && e.Name() != mine {
			failed = errors.Join(failed, remove(root, e.Name()))
			continue
		}
		if !isBeside(e.Name()) { // it goes with what it is beside
			files, size = append(files, info), size+info.Size()
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	count := len(files)
	for _, f := range files {
		if size <= cmp.Or(s.MaxBytes, MaxBytes) && count <= cmp.Or(s.MaxCount, MaxCount) {
			break
		}
		if f.Name() != mine && strings.HasSuffix(f.Name(), suffix) {
			failed = errors.Join(failed, remove(root, f.Name()), remove(root, f.Name()+trouble), remove(root, f.Name()+verdicts))
			size, count = size-f.Size(), count-1
		}
	}
	return failed
}
