package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/collet-dev/collet/host/internal/sharedfile"
)

const (
	// maxFile bounds the file in bytes; a credential has a few thousand.
	maxFile = 8 << 20
	// lockWait bounds the wait for another process that writes the file, which takes
	// it milliseconds, but for the first time with a keyring, which may ask a person.
	lockWait = 4 * keyringWait
)

// Store is the file at Path, absolute. Its zero Keyring is none.
type Store struct {
	Path    string
	Keyring Keyring

	mu   sync.Mutex
	info fs.FileInfo // of what was read last
	last Contents    // never changed in place
	key  []byte      // of the keyring, once it was needed
	// unfit: the keyring was of no use when it was needed.
	unfit bool
}

// Read returns what the file holds, also when another process has changed it; no
// file is nothing. The contents are shared and must not be changed.
func (s *Store) Read() (Contents, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	if err != nil {
		return Contents{}, s.unusable(err)
	}
	return c, nil
}

func (s *Store) unusable(err error) error {
	return fmt.Errorf("the credentials in %s cannot be used: %w; the file stays as it is", s.Path, err)
}

func (s *Store) read() (Contents, error) {
	if !filepath.IsAbs(s.Path) {
		return Contents{}, errors.New("the path is not absolute; is there a home directory?")
	}
	info, err := os.Lstat(s.Path)
	if errors.Is(err, fs.ErrNotExist) {
		s.info, s.last = nil, Contents{}
		return Contents{}, nil
	}
	if err != nil {
		return Contents{}, err
	}
	if s.info != nil && os.SameFile(info, s.info) && info.ModTime().Equal(s.info.ModTime()) && info.Size() == s.info.Size() && info.Mode() == s.info.Mode() {
		return s.last, nil
	}
	if !info.Mode().IsRegular() {
		return Contents{}, errors.New("it is no regular file; a link could lead somewhere that others can read")
	}
	data, info, err := load(s.Path)
	if err != nil {
		return Contents{}, err
	}
	f, err := parse(data)
	if err != nil {
		return Contents{}, err
	}
	if f.Sealed != nil {
		plain, err := s.unseal(f.Sealed)
		if err != nil {
			return Contents{}, err
		}
		if err := json.Unmarshal(plain, f.Contents); err != nil {
			return Contents{}, fmt.Errorf("it is damaged: %w", redact(err))
		}
	}
	s.info, s.last = info, *f.Contents
	return s.last, nil
}

func load(path string) ([]byte, fs.FileInfo, error) {
	file, err := sharedfile.OpenFile(path, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if err := private(info); err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("it is larger than %d bytes", maxFile)
	}
	return data, info, err
}

// Change reads the file, has it changed and writes it, while no other process does.
// change gets a copy of the contents; what it returns is the error, and nothing is
// written with one.
func (s *Store) Change(ctx context.Context, change func(*Contents) error) error {
	return s.change(ctx, change, s.place)
}

// change is Change with a place of its own for what is written.
func (s *Store) change(ctx context.Context, change func(*Contents) error, place func([]byte) error) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.read()
	if err != nil {
		return s.unusable(err)
	}
	c = c.clone()
	if err := change(&c); err != nil {
		return err
	}
	data, err := s.encode(c)
	if err == nil {
		err = place(data)
	}
	if err != nil {
		return fmt.Errorf("write the credentials to %s: %w", s.Path, err)
	}
	s.info = nil // whoever reads next looks at the file
	return nil
}

func (c Contents) clone() Contents {
	return Contents{Registrations: append([]Registration(nil), c.Registrations...), Credentials: append([]Credential(nil), c.Credentials...)}
}

// encode is the contents as they stand in the file, sealed where there is a keyring.
func (s *Store) encode(c Contents) ([]byte, error) {
	f := file{Version: version, Contents: &c}
	if key := s.sealing(); key != nil {
		sealed, err := seal(key, c)
		if err != nil {
			return nil, err
		}
		f.Sealed, f.Contents = sealed, &Contents{}
	}
	return encode(f)
}

// place writes a new file and puts it in the place of the old one.
func (s *Store) place(data []byte) error {
	// Nobody else writes: what is there was left by a process that was killed.
	pattern := "." + filepath.Base(s.Path) + ".*"
	orphans, _ := filepath.Glob(filepath.Join(filepath.Dir(s.Path), pattern)) // fails for bad patterns alone
	for _, o := range orphans {
		os.Remove(o)
	}
	// CreateTemp makes it 0600, and new: at no time can anybody else read it.
	temp, err := os.CreateTemp(filepath.Dir(s.Path), pattern)
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // fails once it is renamed
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return sharedfile.Rename(os.Rename, temp.Name(), s.Path)
}

// Location says for a person where the credentials are.
func (s *Store) Location() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if info, err := os.Lstat(s.Path); err != nil || !info.Mode().IsRegular() {
		return s.Path // a pipe would be waited for
	}
	data, _, err := load(s.Path)
	if f, parsed := parse(data); err == nil && parsed == nil && f.Sealed != nil {
		return s.Path + ", sealed with a key in the keyring"
	}
	return s.Path
}
