package snapshot

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/collet-dev/collet/host/internal/statedir"
)

// troubleBody is a file of trouble, behind a line like a snapshot's.
type troubleBody struct {
	Entry   string  `json:"entry"`
	Plugin  string  `json:"plugin"`
	Trouble Trouble `json:"trouble"`
}

// maxTrouble bounds a kept message, in bytes: it is for one line.
const maxTrouble = 8 << 10

// Fail keeps why k's server could not be started, beside its snapshot, until Keep
// says that it could. Without a snapshot there is nothing that could mislead
// anybody, and nothing is kept.
func (s *Store) Fail(k Key, why *Trouble) error {
	err := s.fail(k, why)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep in %s why %s did not start: %w", s.Dir, k.Server, err)
	}
	return nil
}

func (s *Store) fail(k Key, why *Trouble) error {
	root, err := statedir.Open(s.Dir, false)
	if err != nil {
		return err
	}
	defer root.Close()
	if _, err := root.Stat(k.file()); err != nil {
		return err
	}
	kept := *why
	kept.Message = kept.Message[:min(len(kept.Message), maxTrouble)]
	return replaceBeside(root, k.troubleFile(), troubleBody{k.Entry, k.Plugin, kept})
}

// trouble is what was kept of k's server since it was asked; nil when there is
// nothing that can be used.
func (s *Store) trouble(root *os.Root, k Key, asked time.Time) *Trouble {
	data, _, err := s.load(root, k.troubleFile())
	if err != nil {
		return nil
	}
	t := decodeTrouble(data)
	if t == nil || t.Entry != k.Entry || k.Plugin != "" && t.Plugin != k.Plugin || t.Trouble.At.Before(asked) {
		return nil
	}
	return &t.Trouble
}

func decodeTrouble(data []byte) *troubleBody { return decodeBeside[troubleBody](data) }

func (k Key) troubleFile() string { return k.file() + trouble }
